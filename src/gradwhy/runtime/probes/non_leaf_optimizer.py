"""What an optimizer refuses: computed tensors, the same parameter twice, what is no tensor, a missing closure."""

from __future__ import annotations

import re
from typing import Any

import torch

from gradwhy.findings import Argument, Code, Finding, Message, Step
from gradwhy.runtime import account
from gradwhy.runtime.account import Place
from gradwhy.runtime.ancestry import torch_name
from gradwhy.runtime.classes import code_of
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import node_of
from gradwhy.runtime.sites import is_user_file
from gradwhy.source import text

SYMPTOM = "non-leaf-optimizer"
_NON_LEAF = "can't optimize a non-leaf Tensor"
_AT_THE_CALL = {
    "twice": re.compile(r"some parameters appear in more than one parameter group"),
    "no-tensor": re.compile(
        r"optimizer can only optimize Tensors, but one of the params is"
        r"|params argument given to the optimizer should be an iterable"
    ),
    "closure": re.compile(r"step\(\) missing 1 required positional argument: 'closure'"),
}
# Python's own words: said by an optimizer where the innermost frame is in that file of torch.
_SAID_BY = {
    "module": (re.compile(r"'\w+' object is not iterable"), "torch/optim/optimizer.py"),
    "closure-result": (
        re.compile(r"float\(\) argument must be a string or a real number, not '\w+'"),
        "torch/optim/lbfgs.py",
    ),
}
_MOVES = frozenset({"to", "cuda", "cpu", "double", "float", "half", "bfloat16", "type", "type_as"})


def matches(failure: Failure) -> bool:
    said = failure.text
    return isinstance(failure.error, (ValueError, TypeError)) and (
        said.startswith(_NON_LEAF) or _refusal(failure) is not None
    )


def _refusal(failure: Failure) -> str | None:
    """Which of the refusals it is that concern the call itself."""
    file = failure.frames[-1].site.file.replace("\\", "/") if failure.frames else ""
    said_by = (key for key, (pattern, end) in _SAID_BY.items() if file.endswith(end) and pattern.search(failure.text))
    return next((key for key, pattern in _AT_THE_CALL.items() if pattern.search(failure.text)), next(said_by, None))


def diagnose(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    if surface is None:
        return []
    if not situation.failure.text.startswith(_NON_LEAF):
        key = _refusal(situation.failure)
        place = (_closure(situation.failure) if key == "closure-result" else None) or Place.of(surface.site)
        return [
            account.finding(
                situation,
                SYMPTOM,
                "optimizer-arguments",
                place.at,
                place.text,
                headline=f"headline-{key}",
                advice=f"advice-{key}",
                steps=[Step(at=place.at, note=Message(f"optimizer-arguments.at-{key}"))],
            )
        ]
    tensor = _refused(situation.failure)
    node = node_of(tensor) if tensor is not None else None
    if tensor is None:
        return []
    origin = made(node, situation.watch.recorder) if node is not None else None
    name = next((name for name, held in situation.names.tensors() if held is tensor), "")
    place = Place.of(origin.site) if origin is not None else _from_source(name, situation) or Place.of(surface.site)
    op = torch_name(origin.func).rpartition(".")[2] if origin is not None else ""
    facts: dict[str, Argument] = {"name": Code(name or "a tensor"), "op": op or "an operation"}
    cause = (
        "to-device-non-leaf"
        if op in _MOVES
        else "param-overwritten"
        if _is_in_module(tensor, situation)
        else "computed-tensor-trained"
    )
    return [
        account.finding(
            situation,
            SYMPTOM,
            cause,
            place.at,
            place.text,
            facts=facts,
            certain=origin is not None,
            steps=[Step(at=place.at, note=Message(f"{cause}.made", facts))],
            evidence=[account.seen(name, tensor, is_leaf=False)],
        )
    ]


def _closure(failure: Failure) -> Place | None:
    """The function that was to give the loss back (torch/optim/lbfgs.py, ``step``)."""
    code = code_of(failure.frames[-1].frame.f_locals.get("closure"))
    source = text.read(code.co_filename) if code is not None and is_user_file(code.co_filename) else None
    function = (
        source.function_at(code.co_firstlineno, code.co_name) if source is not None and code is not None else None
    )
    if source is None or function is None:
        return None
    return Place(account.head_of(source, function), source.line(function.lineno).strip())


def _refused(failure: Failure) -> Any:
    """torch/optim/optimizer.py, ``Optimizer.add_param_group``: the loop's ``param``."""
    for live in reversed(failure.frames):
        if not live.is_users and issubclass(type(held := live.frame.f_locals.get("param")), torch.Tensor):
            return held
    return None


def _from_source(name: str, situation: Situation) -> Place | None:
    surface = situation.failure.surface
    attribute = name.rpartition(".")[2]
    kept = account.assignment(f"self.{attribute}", surface.site) if surface is not None and "." in name else None
    return kept or account.binding(name, situation)


def _is_in_module(tensor: Any, situation: Situation) -> bool:
    """Whether a module has the computed tensor where a Parameter belongs."""
    return any(
        held is tensor
        for module in situation.names.modules.values()
        for part in module.modules()
        for held in part._parameters.values()
    )
