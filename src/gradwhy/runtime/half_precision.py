"""Which parameter is in half precision, and by which line: the module was converted, or the parameter was made so."""

from __future__ import annotations

import ast
from typing import Any

import torch

from gradwhy.findings import Code, Message, Step
from gradwhy.runtime import account, module_source
from gradwhy.runtime.account import Place
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import located

_NAMES = ("float16", "half", "HalfTensor")


def explain(optimizer: Any, situation: Situation) -> tuple[Any, Place, str, list[Step], bool] | None:
    """(parameter, place, its name, stations, certain) for the first parameter with a half-precision gradient."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    found = next((p for p in parameters if p.grad is not None and p.grad.dtype is torch.float16), None)
    if found is None:
        return None
    root, path = _home(found, situation)
    name = situation.names.parameters.get(id(found)) or situation.names.variable(found) or "a parameter"
    made = module_source.made(root, path) if path else None
    casts = [each for each in situation.watch.switching.casts if each.holds(found)]
    if casts:
        # The last one that made it so: the outermost call of one conversion is noted alone.
        return found, Place.of(casts[-1].chain[0]), name, [], True
    by_default = _default(situation)
    if made is not None:
        place, whole = made
        if by_default is not None and not _mentions_half(place.text):
            return (
                found,
                by_default,
                name,
                [Step(at=place.at, note=Message("half-precision-parameter.made", {"name": Code(name)}))],
                False,
            )
        return found, place, name, [], whole == path or _mentions_half(place.text)
    if by_default is not None:
        return found, by_default, name, [], False
    top = name.partition(".")[0].partition("[")[0]
    bound = account.binding(top, situation)
    return (found, bound, name, [], False) if bound is not None else None


def _home(parameter: Any, situation: Situation) -> tuple[Any, str]:
    """(the outermost module in sight that has the parameter, the parameter's path in it)."""
    best: tuple[Any, str] = (None, "")
    for root in situation.names.modules.values():
        for path, module in module_source.walk(root):
            for key, held in module._parameters.items():
                inner = f"{path}.{key}" if path else key
                if held is parameter and len(inner) > len(best[1]):
                    best = (root, inner)
    return best


def _mentions_half(text: str) -> bool:
    return any(name in text for name in _NAMES) or "dtype" in text


def _default(situation: Situation) -> Place | None:
    """``torch.set_default_dtype(torch.float16)`` in the program's files."""
    sources = {id(s): s for live in situation.failure.user_frames if (s := live.site.source) is not None}
    for source in sources.values():
        for node in ast.walk(source.tree) if source.tree is not None else ():
            if isinstance(node, ast.Call) and account.called(node) in ("set_default_dtype", "set_default_tensor_type"):
                if any(name in source.segment(node) for name in _NAMES):
                    return Place(located(source, node), source.segment(node))
    return None
