"""An attribute that looks like ``requires_grad``, is not torch's, and so neither freezes nor releases anything."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.findings import Argument, Code, Evidence, Finding
from gradwhy.runtime.account import Place
from gradwhy.runtime.audit.case import Case, place_of
from gradwhy.runtime.audit.modules import OddFlag

RANK = 8


def find(case: Case) -> Iterable[Finding]:
    for flag in case.inspection.flags.values():
        members = case.members(flag.parameters)
        wrong = {member.key for member in members if member.requires_grad is not flag.value}
        if not wrong:
            continue
        places = list(_assignments(flag, case))
        if not places:
            continue
        facts: dict[str, Argument] = {
            "flag": Code(flag.name), "name": Code(case.owner(wrong) or flag.owner), "count": len(wrong)
        }  # fmt: skip
        seen = {"requires_grad": not flag.value, flag.name: flag.value, "parameters": len(wrong)}
        evidence = [Evidence(kind="parameter", subject=case.owner(wrong) or flag.owner, facts=seen)]
        held = any(wrong & h.ids for h in case.optimizers)
        case.claimed |= wrong if flag.value else set()
        yield case.finding(
            "frozen-part" if flag.value else "misspelt-flag",
            "silent-none-grad" if flag.value else "silent-not-frozen",
            places[0],
            facts=facts,
            certain=len(places) == 1,
            key=("module" if flag.on_module else "misspelt"),
            evidence=evidence,
            severity="error" if held or flag.value else "warning",
        )


def _assignments(flag: OddFlag, case: Case) -> Iterator[Place]:
    """The lines that set such an attribute, or may: by its name, from the source."""
    for source, node in case.nodes(ast.Assign):
        value = node.value.value if isinstance(node.value, ast.Constant) else None
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr == flag.name and value in (flag.value, None):
                if flag.name == "requires_grad" and not _may_be_module(target, flag):
                    continue
                yield place_of(source, node)


def _may_be_module(target: ast.Attribute, flag: OddFlag) -> bool:
    """Whether ``x.requires_grad = ...`` is written on the module: by its name, or a loop variable's kin."""
    last = flag.owner.rpartition(".")[2]
    value = target.value
    if isinstance(value, ast.Subscript):
        # ``model[0]``: an item of a container of layers.
        return last.isdecimal() or (isinstance(value.slice, ast.Constant) and str(value.slice.value) == last)
    name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return name == last or name in ("module", "layer", "child", "block", "m", "net", "model", "part")
