"""Where nothing was recorded: the lines of the source that write in place to a value of a given name or kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradwhy.runtime import account
from gradwhy.runtime.account import Place
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import located
from gradwhy.runtime.writes import memory_key
from gradwhy.source import text
from gradwhy.source.slicing import dotted_name
from gradwhy.source.text import SourceText

_HARMLESS = (
    "zero_grad",
    "requires_grad_",
    "detach_",
    "clip_grad_norm_",
    "clip_grad_value_",
    "backward",
    "step",
    "retain_grad_",
)


def steps(tensor: Any, situation: Situation) -> list[Place]:
    """``optimizer.step()`` lines of the optimizers in sight that hold a parameter, before the failing line first."""
    key = memory_key(tensor)
    held_by = {
        name.rpartition(".")[2]
        for name, optimizer in situation.names.optimizers.items()
        if any(memory_key(p) == key for group in optimizer.param_groups for p in group["params"])
    }
    found = [
        (source, node)
        for source in sources(situation)
        for node in ast.walk(source.tree or ast.Module([], []))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step"
        and dotted_name(node.func.value).rpartition(".")[2] in held_by
    ]  # fmt: skip
    return [Place(located(source, node), source.segment(node)) for source, node in found]


def writes(name: str, situation: Situation) -> list[Place]:
    """The in-place writes in the user's files: those to ``name`` where there are such, else all."""
    found = [(source, node, written) for source in sources(situation) for node, written in _writes(source)]
    last = name.partition("[")[0].rpartition(".")[2]
    named = [entry for entry in found if last and entry[2].partition("[")[0].rpartition(".")[2] == last]
    return [Place(located(source, node), source.segment(node)) for source, node, _ in named or found]


def sources(situation: Situation) -> list[SourceText]:
    """The user's files that are on the stack, the failing one first; of a notebook all cells."""
    files = [frame.site.file for frame in reversed(situation.failure.user_frames)]
    found = filter(None, map(text.read, text.together(files)))
    return list({source.path: source for source in found}.values())


def _writes(source: SourceText) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(source.tree or ast.Module([], [])):
        if isinstance(node, ast.AugAssign) and not isinstance(node.value, ast.Constant):
            yield node, dotted_name(node.target) or source.segment(node.target)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Constant):
                    yield node, source.segment(target.value)
        elif isinstance(node, ast.Call):
            called = account.called(node)
            inplace = any(
                k.arg == "inplace" and isinstance(k.value, ast.Constant) and k.value.value is True
                for k in node.keywords
            )
            init = dotted_name(node.func).startswith(("nn.init.", "torch.nn.init.", "init."))
            if inplace:
                yield node, ""
            elif called.endswith("_") and not called.endswith("__") and called not in _HARMLESS and not init:
                if isinstance(node.func, ast.Attribute):
                    yield node, source.segment(node.func.value)
            elif any(k.arg == "out" for k in node.keywords):
                yield node, next(source.segment(k.value) for k in node.keywords if k.arg == "out")
