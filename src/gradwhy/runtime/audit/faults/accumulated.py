"""Gradients that were used already and are added to again: nothing clears them between two steps."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.findings import Argument, Code, Finding, Message, Step
from gradwhy.runtime.account import Place, called, head_of
from gradwhy.runtime.audit.case import Case, Held, at, place_of
from gradwhy.runtime.audit.ledger import Pass
from gradwhy.source.slicing import dotted_name

RANK = 15
CAUSE = "missing-zero_grad"


def find(case: Case) -> Iterable[Finding]:
    for held in case.optimizers:
        closure = _in_closure(held, case)
        if closure is not None:
            yield case.finding(
                CAUSE, "silent-accumulate", at(closure.chain[0]), key="closure",
                steps=[Step(at=closure.chain[0].location(), note=Message(f"{CAUSE}.added"))],
            )  # fmt: skip
            continue
        stray = _stray(held, case)
        if stray is not None:
            other, own = stray
            shown = [
                Step(at=other.chain[0].location(), note=Message(f"{CAUSE}.stray")),
                Step(at=own.chain[0].location(), note=Message(f"{CAUSE}.added")),
            ]
            yield case.finding(
                CAUSE, "silent-accumulate", at(own.chain[0]), key="stray", steps=shown, severity="warning"
            )
            continue
        steps = [s for s in case.ledger.steps if s.optimizer == held.number]
        later = steps[1:]
        if len(later) < 2 or not all(step.carried for step in later[-8:]):
            continue
        last = later[-1]
        passes = [p for p in case.ledger.passes if p.accumulates and p.order < last.order and p.held & held.ids]
        if not passes or not passes[-1].chain or passes[-1].inside_step:
            continue
        facts: dict[str, Argument] = {"count": len(later)}
        never = not any(e.ids & held.ids for e in case.ledger.events_between("clear", -1, last.order))
        stepped = [Step(at=last.chain[0].location(), note=Message(f"{CAUSE}.stepped"))] if last.chain else []
        added = Step(at=passes[-1].chain[0].location(), note=Message(f"{CAUSE}.added"))
        named = case.named_only("zero_grad") if never else None
        hidden = next(_replaced(case), None) if never and named is None else None
        if named is not None:
            shown = [Step(at=named.at, note=Message("words.here")), added, *stepped]
            yield case.finding(CAUSE, "silent-accumulate", named, facts=facts, key="uncalled", steps=shown)
        elif hidden is not None:
            place, base, cleared = hidden
            facts["base"] = Code(base)
            shown = [
                Step(at=cleared.at, note=Message(f"{CAUSE}.cleared")),
                Step(at=place.at, note=Message("words.here")),
                added,
                *stepped,
            ]
            yield case.finding(
                CAUSE, "silent-accumulate", place, facts=facts, key="replaced", steps=shown, certain=False
            )
        else:
            yield case.finding(
                CAUSE, "silent-accumulate", at(passes[-1].chain[0]), facts=facts, steps=[added, *stepped]
            )


def _replaced(case: Case) -> Iterator[tuple[Place, str, Place]]:
    """(head of a method, the call of the one that it takes the place of, the line there that clears the gradients): a class of
    the program overrides what clears, and does not call it."""
    for source, kind in case.nodes(ast.ClassDef):
        bases = {dotted_name(base).rpartition(".")[2] for base in kind.bases}
        for other, base in case.nodes(ast.ClassDef):
            if base.name not in bases:
                continue
            for cleared, method in ((c, m) for m in base.body if isinstance(m, ast.FunctionDef) for c in _clears(m)):
                own = next((m for m in kind.body if isinstance(m, ast.FunctionDef) and m.name == method.name), None)
                calls = {called(n) for n in ast.walk(own) if isinstance(n, ast.Call)} if own is not None else set()
                if own is not None and not calls & {"super", method.name}:
                    head = Place(head_of(source, own), f"{kind.name}.{own.name}()")
                    yield head, f"super().{own.name}()", place_of(other, cleared)


def _clears(method: ast.FunctionDef) -> list[ast.Call]:
    return [n for n in ast.walk(method) if isinstance(n, ast.Call) and called(n) == "zero_grad"]


def _in_closure(held: Held, case: Case) -> Pass | None:
    """A pass inside of ``step(closure)`` that adds to what an earlier call of the closure left."""
    inside = [p for p in case.ledger.passes if p.inside_step and p.chain and any(map(p.fills, held.ids))]
    adding = [
        later
        for earlier, later in zip(inside, inside[1:])
        if later.leaves == earlier.leaves and not later.empty & held.ids and not _cleared(earlier, later, held, case)
    ]
    return adding[-1] if len(adding) > 2 and len(adding) * 4 >= 3 * (len(inside) - 1) else None


def _cleared(earlier: Pass, later: Pass, held: Held, case: Case) -> bool:
    return any(e.ids & held.ids for e in case.ledger.events_between("clear", earlier.order, later.order))


def _stray(held: Held, case: Case) -> tuple[Pass, Pass] | None:
    """(a pass that another optimizer has stepped on, the pass of this one that adds to it): nothing clears between them."""
    found: list[tuple[Pass, Pass]] = []
    own_steps = [s for s in case.ledger.steps if s.optimizer == held.number]
    for before, step in zip(own_steps, own_steps[1:]):
        passes = [p for p in case.ledger.passes if before.order < p.order < step.order and any(map(p.fills, held.ids))]
        if len(passes) < 2:
            continue
        first, last = passes[0], passes[-1]
        stepped = [s for s in case.ledger.steps if first.order < s.order < last.order and s.optimizer != held.number]
        if stepped and first.chain and last.chain and first.chain != last.chain:
            if not last.empty & held.ids and not _cleared(first, last, held, case):
                found.append((first, last))
    return found[-1] if len(found) > 1 and len(found) >= len(own_steps[1:]) - 1 else None
