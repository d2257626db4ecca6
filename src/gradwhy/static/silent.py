"""Programs that run and do not train: parameters cut off from every loss, losses that reach none, terms that add nothing."""

from __future__ import annotations

from collections.abc import Iterator

from gradwhy.findings import Argument, Code, Finding, Message
from gradwhy.static import lost
from gradwhy.static.ancestry import Station, stations
from gradwhy.static.blame import cuts, of_cut
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.histories import NO, YES, Flow
from gradwhy.static.flow.values import Tensor
from gradwhy.static.program import Place, Program

_LINEAR = frozenset({"add", "sub", "neg", "mul", "truediv", "torch.add", "torch.sub"})
_DEEP = 2


def findings(program: Program, cause: str) -> Iterator[Finding]:
    """The findings of one cause among the programs that train less than they seem to."""
    known = program.__dict__.get("_silent")
    if known is None:
        known = program.__dict__["_silent"] = list(_all(program))
    yield from (finding for finding in known if finding.cause == cause)


def _all(program: Program) -> Iterator[Finding]:
    if lost.explained(program) or not program.whole:
        # What raises comes first, and nothing after it is run.
        return
    places: set[tuple[str, int]] = set()
    for event, station, name, symptom in (*_leaf_losses(program), *_starved(program), *_constant_terms(program)):
        found = of_cut(program, station)
        if not found.certain or (line := program.line_of(found.place)) in places:
            continue
        places.add(line)
        here = Place(event.at, event.frame)
        facts: dict[str, Argument] = {"name": Code(name), "subject": Code(program.text(found.place.node))}
        yield program.finding(
            found.cause,
            found.place,
            Message(f"{found.cause}.headline-entry", facts),
            symptom=symptom,
            surfaces=here,
            path=[*found.steps, program.step(here, Message(f"words.{symptom}", facts))],
            fixes=lost.fixes(program, found),
        )


Found = tuple[Event, Station, str, str]


def _passes(program: Program) -> list[Event]:
    """The backward passes whose whole extent is known."""
    return [event for event in program.each("backward") if event.flow is not None and event.flow.grad == YES]


def _known(program: Program) -> bool:
    passes = program.each("backward")
    return bool(passes) and all(isinstance(e.facts["reach"], Reach) and e.facts["reach"].certain for e in passes)


def _behind(event: Event) -> list[Station]:
    starts: tuple[Flow, ...] = event.facts["flows"]
    return list(stations(starts, through=YES, leaves=True))


def _leaf_losses(program: Program) -> Iterator[Found]:
    """A backward that reaches nothing that is trained, though the loss was made of what is."""
    trained = program.trained
    if not trained or not all(optimizer.f["complete"] for optimizer in program.optimizers):
        return
    for event in _passes(program):
        reach: Reach = event.facts["reach"]
        if not reach.certain or reach.maybe or any(id(leaf) in trained for leaf in reach.leaves.values()):
            continue
        for station in _restoring(_behind(event), trained):
            yield event, station, program.text(lost.loss_node(event)), "silent-leaf-loss"
            break


def _restoring(behind: list[Station], wanted: dict[int, Tensor]) -> list[Station]:
    """The cuts without which something wanted would get a gradient, the nearest first."""
    return [s for s in cuts(behind) if not s.aside and Reach(list(s.flow.inputs)).leaves.keys() & wanted.keys()]


def _starved(program: Program) -> Iterator[Found]:
    """Parameters that an optimizer steps and that no backward reaches."""
    if not _known(program):
        return
    reached: set[int] = set()
    for event in program.each("backward"):
        reach: Reach = event.facts["reach"]
        reached |= reach.leaves.keys() | reach.maybe.keys()
    by_hand = {id(t) for event in program.each("written", "grad-set", "data-set") for t in event.tensors}
    by_hand |= {
        id(m) for event in program.each("written") for t in event.tensors if (m := t.f.get("#memory")) is not None
    }
    stepped = {id(t): t for event in program.each("step") for t in event.tensors}
    starved = {
        key: tensor
        for key, tensor in stepped.items()
        if key not in reached and key not in by_hand and tensor.flow.kind == "leaf"
    }
    if not starved:
        return
    for event in _passes(program):
        for station in _restoring(_behind(event), starved):
            leaves = Reach(list(station.flow.inputs)).leaves
            first = next(tensor for key, tensor in leaves.items() if key in starved)
            made = first.flow.at
            yield event, station, program.text(made) if made is not None else "…", "silent-none-grad"


def _constant_terms(program: Program) -> Iterator[Found]:
    """A term of the loss that was computed from what trains, and adds a constant: it has no effect on the training."""
    for event in _passes(program):
        starts: tuple[Flow, ...] = event.facts["flows"]
        for term in _terms(starts):
            behind = list(stations([term]))
            wanted = program.trained
            found = [s for s in _restoring(behind, wanted) if s.distance >= _DEEP]
            if found and not _restoring(behind, wanted)[0].distance < _DEEP:
                at = term.at
                yield event, found[0], program.text(at) if at is not None else "…", "silent-detached-branch"


def _terms(starts: tuple[Flow, ...]) -> Iterator[Flow]:
    """What is added up in a loss and has no path."""
    todo = list(starts)
    seen: set[int] = set()
    while todo:
        flow = todo.pop()
        if id(flow) in seen or flow.kind != "op":
            continue
        seen.add(id(flow))
        if flow.grad == NO:
            yield flow
        elif flow.name in ("add", "sub", "torch.add", "torch.sub") or (flow.name in _LINEAR and len(flow.inputs) == 1):
            todo += flow.inputs
