"""A layer that was released (``requires_grad = True``) and then replaced by a new one: the release went to waste."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Evidence, Finding, Location, Message, Step, fingerprint
from gradwhy.runtime.journal import FlagChange
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import located
from gradwhy.source.slicing import dotted_name

CAUSE = "head-replaced"
_ITERATORS = frozenset({"parameters", "named_parameters", "requires_grad_"})


def review(situation: Situation) -> Iterable[Finding]:
    """Where no parameter that a line released is in a module any more, and the source shows the replacement."""
    alive = set(situation.names.parameters)
    for change in situation.watch.journal.flags.values():
        if not change.value or not change.parameters or alive & change.tensors.keys() or not alive:
            continue
        found = _replacement(change)
        if found is None:
            continue
        name, replaced = found
        site = change.chain[0]
        at, source = site.location(), site.source
        owner = name.rpartition(".")[0] or name
        yield Finding(
            cause=CAUSE,
            symptom=None,
            engine="runtime",
            severity="note",
            certainty="proven",
            subject=site.expression() or name,
            at=at,
            path=(
                Step(at=at, before="frozen", after="leaf"),
                Step(
                    at=replaced,
                    before="leaf",
                    after="leaf",
                    note=Message(f"{CAUSE}.replaced", {"name": Code(name)}),
                ),
            ),
            message=Message(f"{CAUSE}.headline", {"owner": Code(owner), "name": Code(name), "line": replaced.line}),
            evidence=(
                Evidence(kind="parameter", subject=name, facts={"released": change.parameters, "in_modules": 0}),
            ),
            fingerprint=fingerprint(CAUSE, at, source.line(site.line) if source else ""),
        )


def _replacement(change: FlagChange) -> tuple[str, Location] | None:
    """(the module's name, where a later line of the same function assigns to it)."""
    site = change.chain[0]
    source = site.source
    statement = source.statement_at(site.line) if source is not None else None
    if source is None or statement is None:
        return None
    around = [statement, *(node for node in source.enclosing(statement) if isinstance(node, ast.For))]
    names = {
        dotted_name(call.func.value)
        for node in around
        for call in ast.walk(node.iter if isinstance(node, ast.For) else node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _ITERATORS
    }
    scope = source.function(statement) or source.tree
    for node in ast.walk(scope) if scope is not None else ():
        if isinstance(node, ast.Assign) and node.lineno > site.line:
            for target in node.targets:
                if "." in dotted_name(target) and dotted_name(target) in names:
                    return dotted_name(target), located(source, node, site.function)
    return None
