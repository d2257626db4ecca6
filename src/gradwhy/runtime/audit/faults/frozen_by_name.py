"""Parameters that a freeze by name was not meant for: the substring is part of another word in their names."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.findings import Argument, Code, Evidence, Finding
from gradwhy.runtime.audit.case import Case, place_of
from gradwhy.runtime.journal import FlagChange

RANK = 22
CAUSE = "frozen-part"


def find(case: Case) -> Iterable[Finding]:
    for change in case.watch.journal.flags.values():
        if change.value or not change.chain:
            continue
        members = [m for m in case.members(change.tensors) if not m.requires_grad and m.home == "registered"]
        for node, word in _substrings(change):
            own = [m for m in members if word in m.name.split(".")]
            strays = [m for m in members if word in m.name and not _is_component(word, m.name)]
            source = change.chain[0].source
            if not own or not strays or source is None:
                continue
            ids = {m.key for m in strays}
            name = case.owner(ids)
            facts: dict[str, Argument] = {"name": Code(name), "count": len(ids), "word": Code(repr(word))}
            yield case.finding(
                CAUSE, "silent-none-grad", place_of(source, node), facts=facts, key="matched", certain=False,
                severity="warning",
                evidence=[Evidence(kind="parameter", subject=name, facts={"requires_grad": False})],
            )  # fmt: skip
            return


def _is_component(word: str, name: str) -> bool:
    """Whether a word is a part of a dotted name, or several: "encoder" or "encoder.layer" of "model.encoder.layer.weight"."""
    return f".{word.strip('.')}." in f".{name}."


def _substrings(change: FlagChange) -> Iterator[tuple[ast.Compare, str]]:
    """``"word" in name`` in the conditions around the line that froze."""
    site = change.chain[0]
    source = site.source
    statement = source.statement_at(site.line) if source is not None else None
    for outer in source.enclosing(statement) if source is not None and statement is not None else ():
        if isinstance(outer, ast.If):
            for node in ast.walk(outer.test):
                if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.In):
                    if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
                        yield node, node.left.value
        elif isinstance(outer, (ast.FunctionDef, ast.ClassDef)):
            return
