"""Parameters that a module does not know: ``param-not-registered``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import unheld
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.values import Instance, Mapping, Parameters, Seq, Tensor, is_module, plain
from gradwhy.static.program import Place, Program

CAUSE = "param-not-registered"
_MISSPELT = frozenset(
    {"_init_", "__init_", "_init__", "__int__", "__ini__", "__inti__", "__iniit__", "_int_", "__intit__"}
)


def check(program: Program) -> Iterable[Finding]:
    """What no optimizer holds, and constructors that Python never calls."""
    yield from unheld.findings(program, CAUSE)
    yield from _constructors(program)
    yield from _empty(program)


def _empty(program: Program) -> Iterator[Finding]:
    """An optimizer that is given no parameter, by a module that holds some where ``parameters()`` does not look."""
    for event in program.each("optimizer"):
        owner = event.value.owner if isinstance(event.value, Parameters) else None
        if (
            event.tensors
            or event.optimizer is None
            or not event.optimizer.f["complete"]
            or not isinstance(owner, Instance)
        ):
            continue
        hidden = next((found for e in program.events if e.value is owner and (found := _hides(e)) is not None), None)
        if hidden is None:
            continue
        key, node = hidden
        place = Place(node.at, node.frame)
        facts: dict[str, Argument] = {"name": Code(owner.cls.name), "class": Code(owner.cls.name)}
        yield program.finding(
            CAUSE,
            place,
            Message(f"{CAUSE}.headline-{key}", facts),
            symptom="empty-optimizer",
            surfaces=Place(event.at, event.frame),
            path=[
                program.step(place, Message(f"{CAUSE}.at-{key}")),
                program.step(Place(event.at, event.frame), Message(f"{CAUSE}.at-none")),
            ],
            fixes=[Fix(title=Message(f"{CAUSE}.advice-{key}"), applicability="display")],
        )


def _hides(event: Event) -> tuple[str, Event] | None:
    after = event.facts.get("after")
    if event.kind == "replaced" and isinstance(after, Tensor) and not after.parameter and after.flow.kind == "leaf":
        return "tensor", event
    if event.kind == "attribute" and isinstance(after, (Seq, Mapping)):
        parts = after.items.values() if isinstance(after, Mapping) else after.items
        if any(
            is_module(plain(part)) or (isinstance(part, Tensor) and part.parameter)
            for part in (*parts, after.rest)
            if part is not None
        ):
            return "list", event
    return None


def _constructors(program: Program) -> Iterator[Finding]:
    for function in program.run.functions.values():
        cls = function.cls
        name = function.name.rpartition(".")[2]
        if (
            cls is None
            or name not in _MISSPELT
            or not cls.base.startswith("torch.nn.")
            or cls.find("__init__") is not None
        ):
            continue
        place = Place(function.node, None)
        facts = {"name": Code(cls.name), "subject": Code(name)}
        yield program.finding(
            CAUSE,
            place,
            Message(f"{CAUSE}.headline-misspelt", facts),
            symptom="empty-optimizer",
            path=[program.step(place, Message(f"{CAUSE}.at-misspelt"))],
            fixes=[Fix(title=Message(f"{CAUSE}.advice-misspelt"), applicability="display")],
            subject=name,
        )
