"""Names that no parameter has: a filter that leaves an optimizer nothing, a condition that freezes nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.source.slicing import definitions, names_read
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.values import Seq, plain
from gradwhy.static.program import Place, Program

CAUSE = "parameter-filter-empty"


def check(program: Program) -> Iterable[Finding]:
    """Where all names of a module are known, and the condition is one on the name alone."""
    if program.run.spent_all:
        return
    yield from _optimizers(program)
    yield from _loops(program)


def _optimizers(program: Program) -> Iterator[Finding]:
    for event in program.each("optimizer"):
        given = plain(event.value) if event.value is not None else None
        call = event.at
        if not isinstance(given, Seq) or given.items or given.rest is not None or not isinstance(call, ast.Call):
            continue
        picked = _comprehension(program, call.args[0] if call.args else None)
        if picked is not None:
            facts: dict[str, Argument] = {"given": Code(program.text(picked))}
            place, here = Place(picked, event.frame), Place(call, event.frame)
            yield program.finding(
                CAUSE,
                place,
                Message(f"{CAUSE}.headline", facts),
                symptom="empty-optimizer",
                surfaces=here,
                path=[program.step(place, Message(f"{CAUSE}.at"))],
                fixes=[Fix(title=Message(f"{CAUSE}.advice"), applicability="display")],
            )


def _comprehension(program: Program, given: ast.expr | None) -> ast.expr | None:
    """The comprehension over named parameters that an argument is, or that its name is bound to alone."""
    if isinstance(given, ast.Name):
        source = program.source_of(given)
        scope = source.function(given) or source.tree
        bound = [value for names, value, _ in definitions(scope) if given.id in names] if scope is not None else []
        given = bound[0] if len(bound) == 1 else None
    if not isinstance(given, (ast.ListComp, ast.GeneratorExp)) or len(given.generators) != 1:
        return None
    loop = given.generators[0]
    name = _name(loop.target, loop.iter)
    return given if name and loop.ifs and all(_is_about(test, name) for test in loop.ifs) else None


def _loops(program: Program) -> Iterator[Finding]:
    """``for name, p in model.named_parameters(): if <name>: p.requires_grad = False`` that never gets to the assignment."""
    flagged = {id(event.at) for event in program.each("flag", "misspelt")}
    runs: dict[int, list[Event]] = {}
    for event in program.each("named-parameters"):
        runs.setdefault(id(event.at), []).append(event)
    for events in runs.values():
        call = events[0].at
        loop = program.source_of(call).parents.get(call)
        if not isinstance(loop, ast.For) or loop.iter is not call or not all(e.facts["complete"] for e in events):
            continue
        name = _name(loop.target, loop.iter)
        only = loop.body[0] if len(loop.body) == 1 else None
        if not name or not isinstance(only, ast.If) or only.orelse or not _is_about(only.test, name):
            continue
        if _freezes(only.body) and not any(id(node) in flagged for node in ast.walk(only)):
            facts: dict[str, Argument] = {"given": Code(program.text(only.test))}
            place = Place(only.test, events[0].frame)
            message = Message(f"{CAUSE}.headline-freeze", facts)
            yield program.finding(
                CAUSE,
                place,
                message,
                symptom="silent-not-frozen",
                severity="warning",
                path=[program.step(place, message)],
                fixes=[Fix(title=Message(f"{CAUSE}.advice"), applicability="display")],
            )


def _name(target: ast.expr, source: ast.expr) -> str:
    """The variable that takes the names of a loop over ``named_parameters()``."""
    of_names = isinstance(source, ast.Call) and getattr(source.func, "attr", "") == "named_parameters"
    if of_names and isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
        return target.elts[0].id
    return ""


def _is_about(test: ast.expr, name: str) -> bool:
    """Whether a condition reads nothing but the name, and asks for something that it has."""
    read = {each for each in names_read(test) if "." not in each}
    return read == {name} and not any(
        isinstance(n, (ast.Not, ast.NotIn, ast.NotEq, ast.Lambda)) for n in ast.walk(test)
    )


def _freezes(body: list[ast.stmt]) -> bool:
    only = body[0] if len(body) == 1 else None
    if isinstance(only, ast.Assign) and isinstance(only.value, ast.Constant) and only.value.value is False:
        return isinstance(only.targets[0], ast.Attribute) and only.targets[0].attr == "requires_grad"
    call = only.value if isinstance(only, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call).endswith("requires_grad_(False)")
