"""Whether what came of a cut went into a value: told from the lines that computed the value and the names that they read."""

from __future__ import annotations

import ast
from typing import Any

from gradwhy.findings import Argument, Code
from gradwhy.runtime import account, graph
from gradwhy.runtime.ancestry import torch_name
from gradwhy.runtime.lifetime import made
from gradwhy.runtime.patches import collectives
from gradwhy.runtime.recorder import Recorder
from gradwhy.runtime.records import Record
from gradwhy.runtime.sites import Site
from gradwhy.source.slicing import dotted_name, names_read


def lines_of(tensor: Any, recorder: Recorder) -> list[Site]:
    """The lines that made the graph behind a tensor."""
    return [found.site for node in graph.nodes([tensor]) if (found := made(node, recorder)) is not None]


def lines_between(first: int, last: int, recorder: Recorder) -> list[Site]:
    """The lines that made the graph nodes with the numbers from one to another: what was computed in that time, where the
    value itself is gone."""
    known = list(recorder.nodes.lines.items())
    return list(dict.fromkeys(Site(code, lasti) for number, (_, code, lasti) in known if first <= number <= last))


def facts_of(record: Record) -> dict[str, Argument]:
    """What the catalogue's advice on a cut names: its operation, and what it was applied to."""
    return {**facts_of_site(record.site), "op": torch_name(record.func).rpartition(".")[2]}


def facts_of_site(site: Site | None) -> dict[str, Argument]:
    """What the expression at a line is applied to, and its last name for what it does."""
    given = account.receiver(site) if site is not None else ""
    call = account.call_at(site) if site is not None else None
    return {"input": Code(given or "its input"), "op": account.called(call) if call is not None else "this"}


def leaves_of(record: Record) -> set[int]:
    """ids of the leaves behind what a cut took."""
    return {leaf for given in record.inputs for leaf in given.leaves}


def feeds(record: Record, lines: list[Site]) -> bool:
    """Whether an expression on one of the lines reads what came of the cut, there or in a caller."""
    chain = record.chain or ((record.site,) if record.site is not None else ())
    bound: set[str] | None = None
    for site, caller in zip(chain, (*chain[1:], None)):
        bound = account.derived_names(site, _results(site, record) if bound is None else bound)
        own = site.node()
        for line in (each for each in lines if each.code is site.code):
            node = line.node()
            if line == site or (node is not None and (bound & names_read(node) or _has(node, own))):
                return True
        if caller is not None and site.code.co_name in _COMPREHENSIONS:
            # Its value is a part of the expression around it.
            bound = set(account.names_bound(caller))
            continue
        if caller is None or not _returns(site, bound):
            return False
        bound = account.received(site, bound, caller)
    return False


_COMPREHENSIONS = ("<listcomp>", "<genexpr>", "<setcomp>", "<dictcomp>")


def _has(node: ast.AST, inner: ast.AST | None) -> bool:
    """Whether an expression has another inside: what the inner one gives goes into it."""
    return inner is not None and any(each is inner for each in ast.walk(node))


def _returns(site: Site, names: set[str]) -> bool:
    """Whether the function at a site gives back what came of the names, or of the site's own statement."""
    source, node = site.source, site.node()
    function = source.function(node) if source is not None and node is not None else None
    if isinstance(function, ast.Lambda):
        return True
    statement = account.statement_of(site)
    returns = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None] if function else []
    return any(each is statement or (each.value is not None and names_read(each.value) & names) for each in returns)


def _results(site: Site, record: Record) -> set[str]:
    """What the cut's line binds; a collective fills what it is given."""
    call = account.call_at(site)
    if not collectives.is_collective(record.func) or call is None:
        return set(account.names_bound(site))
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    parts = [part for argument in given for part in ast.walk(argument)]
    names = {dotted_name(part) for part in parts if isinstance(part, (ast.Name, ast.Attribute))}
    return {name for name in names if name} - names_of_input(call)


def names_of_input(call: ast.Call) -> set[str]:
    """What a collective sends rather than fills: the second argument, or the first of ``gather``."""
    place = 0 if account.called(call) == "gather" else 1
    sent = call.args[place] if len(call.args) > place else None
    sent = sent or next((k.value for k in call.keywords if k.arg in ("tensor", "input_tensor", "input")), None)
    return names_read(sent) if sent is not None else set()
