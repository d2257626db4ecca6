"""A normalization layer whose statistics a transformed function would update in place: where it was made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch

from gradwhy.findings import Code, Fix, Message
from gradwhy.runtime import account, editing, written
from gradwhy.runtime.account import Place
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import located
from gradwhy.source import text
from gradwhy.source.slicing import bound_names, targets
from gradwhy.source.text import SourceText


def normalization(situation: Situation) -> Place | None:
    """The call that made the layer which was running, the line that used it where that can't be told; None for none."""
    layer = _running(situation)
    surface = situation.failure.surface
    if layer is None or surface is None:
        return None
    kind = type(layer).__name__
    for source in _sources(situation):
        calls = [node for node in ast.walk(source.tree or ast.Module([], [])) if _makes(node, kind)]
        attribute = _attribute(layer, situation)
        chosen = [node for node in calls if attribute and attribute in _bound(node, source)]
        for node in chosen or calls[:1]:
            return Place(located(source, node), source.segment(node))
    return Place.of(surface.site)


def without_statistics(place: Place) -> tuple[Fix, ...] | None:
    """``GroupNorm(1, channels)`` for ``BatchNorm2d(channels)``: it keeps no statistics and does not mix examples."""
    source = text.read(place.at.file)
    for node in ast.walk(source.tree) if source is not None and source.tree is not None else ():
        if not isinstance(node, ast.Call) or source is None or located(source, node) != place.at:
            continue
        name, channels = account.called(node), node.args[0] if node.args else None
        if not name.startswith("BatchNorm") or channels is None or isinstance(channels, ast.Starred):
            return None
        owner = f"{source.segment(node.func.value)}." if isinstance(node.func, ast.Attribute) else ""
        if not owner:
            return None
        new = f"{owner}GroupNorm(1, {source.segment(channels)})"
        title = Message("batch-norm-statistics.fix", {"result": Code(new)})
        return (Fix(title=title, applicability="unsafe", edits=(editing.instead(source, node, new),)),)
    return None


def _running(situation: Situation) -> Any:
    for live in reversed(situation.failure.frames):
        if live.site.file.replace("\\", "/").endswith("torch/nn/modules/batchnorm.py"):
            layer = live.frame.f_locals.get("self")
            if isinstance(layer, torch.nn.Module):
                return layer
    return None


def _attribute(layer: Any, situation: Situation) -> str:
    for module in situation.names.modules.values():
        for name, inner in module.named_modules():
            if inner is layer:
                return str(name).rpartition(".")[2]
    return ""


def _sources(situation: Situation) -> Iterator[SourceText]:
    yield from written.sources(situation)


def _makes(node: ast.AST, kind: str) -> bool:
    return isinstance(node, ast.Call) and account.called(node) == kind


def _bound(node: ast.AST, source: SourceText) -> set[str]:
    statement = source.statement(node)
    names = {name for target in targets(statement) for name in bound_names(target)} if statement is not None else set()
    return {name.rpartition(".")[2] for name in names}
