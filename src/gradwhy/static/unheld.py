"""Parameters that get gradients and that no optimizer holds, though it was given the model that uses them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import lost
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.histories import Value
from gradwhy.static.flow.values import Instance, Layer, Mapping, Optimizer, Seq, Tensor, is_module, plain
from gradwhy.static.program import Place, Program


def findings(program: Program, cause: str) -> Iterator[Finding]:
    known = program.__dict__.get("_unheld")
    if known is None:
        known = program.__dict__["_unheld"] = list(_all(program))
    yield from (finding for finding in known if finding.cause == cause)


def _all(program: Program) -> Iterator[Finding]:
    optimizers = program.optimizers
    if not optimizers or not program.whole or lost.explained(program) or not all(o.f["complete"] for o in optimizers):
        return
    touched = {id(t) for event in program.each("written", "grad-set", "data-set", "grad-read") for t in event.tensors}
    stepped = {id(event.optimizer) for event in program.each("step")}
    unheld: dict[int, Tensor] = {}
    for event in program.each("backward"):
        reach: Reach = event.facts["reach"]
        loose = {k: t for k, t in reach.leaves.items() if t.parameter and k not in program.trained and k not in touched}
        released = {id(e.tensors[0]) for e in program.each("flag") if e.facts["value"]}
        loose |= {
            k: t for k, t in reach.maybe.items() if k in released and k not in program.trained and k not in touched
        }
        unheld.update(loose)
    seen: set[int] = set()
    for optimizer in optimizers:
        if id(optimizer) not in stepped:
            continue
        for owner in optimizer.f["of"]:
            for tensor in unheld.values():
                way = _way(owner, tensor, 6)
                found = _explain(program, optimizer, tensor, way) if way is not None else None
                if found is not None and id(found[1]) not in seen:
                    seen.add(id(found[1]))
                    yield found[0]


Way = list[tuple[Value, str]]


def _way(owner: Value, tensor: Tensor, depth: int) -> Way | None:
    """How a parameter is reached from a module: (holder, field) from the outside in."""
    owner = plain(owner)
    if depth == 0:
        return None
    if isinstance(owner, Seq):
        items: list[tuple[str, object]] = [("", part) for part in (*owner.items, owner.rest)]
    elif isinstance(owner, Mapping):
        items = [("", part) for part in (*owner.items.values(), owner.rest)]
    elif isinstance(owner, (Instance, Layer)):
        items = [(str(key), part) for key, part in owner.f.items()]
    else:
        return None
    for name, part in items:
        if not isinstance(part, Value):
            continue
        inner = plain(part)
        if inner is tensor:
            return [(owner, name)]
        if isinstance(inner, (Instance, Layer, Seq, Mapping)):
            way = _way(inner, tensor, depth - 1)
            if way is not None:
                return [(owner, name), *way]
    return None


def _explain(program: Program, optimizer: Optimizer, tensor: Tensor, way: Way) -> tuple[Finding, ast.AST] | None:
    outer = way[0][0]
    for holder, name in way:
        if isinstance(holder, (Seq, Mapping)):
            event = _assigned(program, outer, holder)
            if event is None:
                return None
            return _unregistered(
                program, Place(event.at, event.frame), "list", program.text(event.at), optimizer
            ), event.at
        if isinstance(holder, Instance) and not is_module(holder):
            node = holder.cls.node
            if holder.cls.base or not any(is_module(before) for before, _ in way[: way.index((holder, name))]):
                return None
            return _unregistered(program, Place(node, None), "none", holder.cls.name, optimizer), node
        outer = holder
    return _late(program, optimizer, tensor)


def _assigned(program: Program, owner: Value, held: Value) -> Event | None:
    return next((e for e in program.each("attribute") if e.value is owner and e.facts["after"] is held), None)


def _unregistered(program: Program, place: Place, key: str, name: str, optimizer: Optimizer) -> Finding:
    cause = "param-not-registered"
    facts: dict[str, Argument] = {"name": Code(name), "class": Code(name)}
    return program.finding(
        cause,
        place,
        Message(f"{cause}.headline-unheld", {**facts, "optimizer": Code(optimizer.path.rpartition(".")[2])}),
        symptom="silent-not-in-optimizer",
        path=[program.step(place, Message(f"{cause}.at{'-list' if key == 'list' else ''}"))],
        fixes=[Fix(title=Message(f"{cause}.advice{'-list' if key == 'list' else ''}"), applicability="display")],
        subject=name,
    )


def _late(program: Program, optimizer: Optimizer, tensor: Tensor) -> tuple[Finding, ast.AST] | None:
    """Released after an optimizer had been made of what trained by then."""
    made = next((i for i, e in enumerate(program.events) if e.optimizer is optimizer and e.kind == "optimizer"), None)
    if made is None:
        return None
    later = [e for e in program.events[made:] if e.kind == "flag" and e.facts["value"] and e.tensors[0] is tensor]
    if not later:
        return None
    place = _filter(program, optimizer)
    released = Place(later[0].at, later[0].frame)
    facts: dict[str, Argument] = {
        "name": Code(program.text(later[0].at)),
        "optimizer": Code(optimizer.path.rpartition(".")[2]),
    }
    finding = program.finding(
        "requires-grad-late",
        place,
        Message("requires-grad-late.headline-collected", facts),
        symptom="silent-not-in-optimizer",
        path=[
            program.step(place, Message("requires-grad-late.collected")),
            program.step(released, Message("requires-grad-late.released")),
        ],
        fixes=[Fix(title=Message("requires-grad-late.advice-collected", facts), applicability="display")],
    )
    return finding, place.node


def _filter(program: Program, optimizer: Optimizer) -> Place:
    """Where the optimizer's parameters were picked: the line that binds the name it was given."""
    call = optimizer.made
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if isinstance(given, ast.Name):
        source = program.source_of(call)
        scope = source.function(call) or source.tree
        for node in ast.walk(scope) if scope is not None else ():
            if isinstance(node, ast.Assign) and node.lineno < getattr(call, "lineno", 0):
                if any(isinstance(t, ast.Name) and t.id == given.id for t in node.targets):
                    return Place(node.value, optimizer.frame)
    return Place(call, optimizer.frame)
