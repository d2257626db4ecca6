"""Parameters that a module does not know: ``param-not-registered``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradwhy.findings import Code, Finding, Fix, Message
from gradwhy.static import unheld
from gradwhy.static.flow.values import Function
from gradwhy.static.program import Place, Program

CAUSE = "param-not-registered"
_MISSPELT = frozenset({"_init_", "__init_", "_init__", "__int__", "__ini__", "__inti__", "__iniit__", "_int_", "__intit__"})


def check(program: Program) -> Iterable[Finding]:
    """What no optimizer holds, and constructors that Python never calls."""
    yield from unheld.findings(program, CAUSE)
    yield from _constructors(program)


def _constructors(program: Program) -> Iterator[Finding]:
    for function in program.run.functions.values():
        cls = function.cls
        name = function.name.rpartition(".")[2]
        if cls is None or name not in _MISSPELT or not cls.base.startswith("torch.nn.") or cls.find("__init__") is not None:
            continue
        if not isinstance(function, Function):
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
