"""``derivative ... is not implemented``: the operation, the argument, and the line that called it."""

from __future__ import annotations

import ast
import re
from typing import Any

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime import account, graph, written
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import located

SYMPTOM = "not-differentiable"
CAUSE = "not-differentiable"
_OPERATION = re.compile(r"derivative for (?:aten::|'(?=\w+_backward'))?(?P<op>\w+)'? is not implemented")
_ARGUMENT = re.compile(
    r"the derivative for '(?:(?P<of>[\w.]+): )?(?P<argument>\w+)' is not implemented"
    r"|The function '(?P<function>[\w.:]+)' is not differentiable with respect to argument '(?P<name>\w+)'"
)


def matches(failure: Failure) -> bool:
    kinds = (RuntimeError, NotImplementedError)
    found = _OPERATION.search(failure.text) or _ARGUMENT.search(failure.text)
    return isinstance(failure.error, kinds) and found is not None


def diagnose(situation: Situation) -> list[Finding]:
    surface = situation.failure.surface
    if surface is None:
        return []
    found = _OPERATION.search(situation.failure.text)
    in_argument = _ARGUMENT.search(situation.failure.text)
    if found is None and in_argument is not None:
        return [_of_argument(in_argument, situation)]
    op = found["op"] if found is not None else ""
    walk = graph.nodes(situation.failure.differentiated() or [])
    node, second = _node_of(op, walk)
    origin = made(node, situation.watch.recorder) if node is not None else None
    if origin is None and situation.watch.recorder.operations:
        return []
    place = Place.of(origin.site) if origin is not None else _called(op, situation) or Place.of(surface.site)
    facts: dict[str, Argument] = {"op": _readable(op)}
    steps = [Step(at=place.at, note=Message(f"{CAUSE}.called", facts))]
    key = "double" if second else "backward"
    evidence = (
        [Evidence(kind="graph", subject=node.name(), facts={"derivative": "none", "twice": second})]
        if node is not None
        else []
    )
    return [
        account.finding(
            situation,
            SYMPTOM,
            CAUSE,
            place.at,
            place.text,
            headline=f"headline-{key}",
            advice=f"advice-{key}",
            facts=facts,
            steps=steps,
            evidence=evidence,
            certain=origin is not None,
        )
    ]


def _of_argument(found: re.Match[str], situation: Situation) -> Finding:
    """The forward call itself is refused, or its backward: torch says for which argument."""
    surface = situation.failure.surface
    assert surface is not None
    facts: dict[str, Argument] = {"argument": Code(found["argument"] or found["name"])}
    site = surface.site
    if situation.failure.differentiated() is not None:
        walk = graph.nodes(situation.failure.differentiated() or [])
        node, _ = _node_of(found["of"] or "", walk)
        origin = made(node, situation.watch.recorder) if node is not None else None
        site = origin.site if origin is not None else site
    place = Place.of(site)
    return account.finding(
        situation,
        SYMPTOM,
        CAUSE,
        place.at,
        place.text,
        headline="headline-argument",
        advice="advice-argument",
        facts=facts,
        steps=[Step(at=place.at, note=Message(f"{CAUSE}.called", {"op": account.expression(site)}))],
    )


def _node_of(op: str, walk: dict[Any, list[Any]]) -> tuple[Any, bool]:
    """(the node that has no derivative, whether it is the second one that is missing).

    A function without one leaves a node called ``NotImplemented`` (torch/csrc/autograd/functions/basic_ops.h); one
    without a second derivative leaves the node of its first, ``XBackward``, below it.
    """
    plain = [node for node in walk if node.name().endswith("NotImplemented")]
    twice = op.endswith("_backward") or any(part in op for part in ("_double_backward", "backward_"))
    wanted = _squeezed(re.sub(r"_backward\w*$", "", op))
    named = [node for node in walk if wanted and _squeezed(re.sub(r"Backward\d*$", "", node.name())) == wanted]
    if twice and named:
        return max(named, key=graph.number_of), True
    chosen = [node for node in plain if graph.number_of(node) >= 0] or named
    return max(chosen, key=graph.number_of, default=None), twice


def _called(op: str, situation: Situation) -> Place | None:
    """The one call in the user's files whose name is the operation's, or begins as it does."""
    wanted = _squeezed(re.sub(r"_backward\w*$", "", op))
    found: list[Place] = []
    for source in written.sources(situation):
        for node in ast.walk(source.tree or ast.Module([], [])):
            name = _squeezed(account.called(node)) if isinstance(node, ast.Call) else ""
            if name and (name == wanted or _alike(name, wanted)):
                found.append(Place(located(source, node), source.segment(node)))
    return found[0] if len(found) == 1 else None


def _alike(name: str, wanted: str) -> bool:
    """torch names the kernel that it chose, as in ``scaled_dot_product_flash_attention_for_cpu``."""
    return len(name) >= _PREFIX and name[:_PREFIX] == wanted[:_PREFIX]


_PREFIX = 12


def _squeezed(name: str) -> str:
    return name.replace("_", "").rpartition("::")[2].lower()


def _readable(op: str) -> str:
    return re.sub(r"_backward\w*$", "", op).strip("_") or "this operation"
