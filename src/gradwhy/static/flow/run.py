"""One interpretation of a file: its state, its budget, and the events that it leaves for the rules."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gradwhy.source.text import SourceText
from gradwhy.static.flow import expressions, functions, statements
from gradwhy.static.flow.frames import Event, Frame
from gradwhy.static.flow.histories import DEFAULT_MODE, Fields, Flow, GradMode, Value
from gradwhy.static.flow.trail import MISSING, Trail
from gradwhy.static.flow.values import Const, Function, Scalar, Unknown
from gradwhy.static.settings import NOTHING, Knowledge
from gradwhy.torchapi import table

if TYPE_CHECKING:
    from gradwhy.static.flow.project import Loaded, Project

DEPTH = 24
SINKS = (".backward(", "autograd.grad(", "manual_backward(")


class OutOfBudget(Exception):
    """The file has more to interpret than it is worth."""


class Run:
    """Interprets a file: its module body first, then what nothing has called and that goes backward itself."""

    def __init__(
        self,
        source: SourceText,
        budget: int,
        project: Project | None = None,
        home: Loaded | None = None,
        knowledge: Knowledge = NOTHING,
    ) -> None:
        self.source = source
        self.project = project
        """The files that imports are followed into; None where each file is read by itself."""
        self.home = home
        self.knowledge = knowledge
        self.imports: dict[int, Loaded] = {}
        """The files that were imported, by id; ``entered`` those among them and behind them that are lent to this run."""
        self.entered: dict[int, Loaded] = {}
        self.borrowed: dict[int, Event] = {}
        self._put: list[tuple[Fields, Any, Any]] = []
        self.table = table.load()
        self.trail = Trail()
        self.budget = budget
        self.spent_all = False
        self.events: list[Event] = []
        self.sums: list[Flow] = []
        """Histories of additions, in the order in which they were made."""
        self.state: Fields = {"mode": DEFAULT_MODE, "freed": {}, "kept": {}}
        """``mode`` is the GradMode that is on; ``freed`` the histories that a backward used up, ``kept`` those
        that one went through and kept with ``retain_graph=True``."""
        self.module: Fields = home.value.f if home is not None else {}
        if not self.module:
            self.module.update({"__name__": Const("__main__"), "__file__": Scalar()})
        self.called: set[int] = set()
        self.unseen: set[int] = set()
        self.functions: dict[int, Function] = {}
        self.active: list[ast.AST] = []
        self.frame = Frame("", self.module, (self.module,), None, None, 0)
        self.current: ast.stmt | None = None
        self.standalone = False

    # -- running

    def whole_file(self) -> None:
        """The module as a script, then the functions and methods that it has not reached."""
        tree = self.source.tree
        if tree is None:
            return
        try:
            self.block(tree.body)
            self.standalone = True
            self.unreached()
        except (OutOfBudget, RecursionError):
            # What was found by then stands; claims about what never happens don't.
            self.spent_all = True

    def unreached(self) -> None:
        for function in list(self.functions.values()):
            node = function.node
            if id(node) in self.called or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            lines = self.source.lines[node.lineno - 1 : node.end_lineno]
            if any(sink in line for line in lines for sink in SINKS):
                mark = self.trail.mark
                self.frame = Frame("", self.module, (self.module,), None, None, mark)
                self.trail.write(self.state, "mode", DEFAULT_MODE)
                self.events.append(Event("entry", node, self.frame))
                functions.run_alone(self, function)
                self.trail.undo(mark)

    def block(self, body: list[ast.stmt]) -> bool:
        """Runs statements in order; True where control does not come out at the end."""
        return any(statements.run(self, statement) for statement in body)

    def evaluate(self, node: ast.expr) -> Value:
        self.budget -= 1
        if self.budget < 0:
            raise OutOfBudget
        return expressions.evaluate(self, node)

    def call(self, function: Value, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        return functions.call(self, function, args, keywords, node)

    # -- state

    def write(self, fields: Fields, key: object, value: object) -> None:
        self.trail.write(fields, key, value)

    def put(self, fields: Fields, key: Any, value: Any) -> None:
        """A write that stays where a branch is taken back, as what an import does to others; ``leave`` undoes it."""
        self._put.append((fields, key, fields.get(key, MISSING)))
        if value is MISSING:
            fields.pop(key, None)
        else:
            fields[key] = value

    def keep(self, own: Callable[[Fields], bool]) -> list[tuple[Fields, Any]]:
        """Lets what was written to ``own`` parts of the state stay for good; gives the other places that were written to, which
        are as they were before."""
        others = {(id(d), k): (d, k) for d, k, _ in self.trail.log if d is not self.state and not own(d)}
        stay = self.trail.changes(0)
        self.trail.undo(0)
        for place, (fields, key, value) in stay.items():
            if place not in others and fields is not self.state:
                fields.pop(key, None) if value is MISSING else fields.__setitem__(key, value)
        return list(others.values())

    def leave(self) -> None:
        """Leaves the files of the project as they were before, for the next run."""
        self.trail.undo(0)
        while self._put:
            fields, key, before = self._put.pop()
            if before is MISSING:
                fields.pop(key, None)
            else:
                fields[key] = before

    @property
    def here(self) -> Loaded | None:
        """The file whose code is being interpreted; None where each file is read by itself."""
        names = self.frame.scopes[-1]
        return self.project.by_names.get(id(names), self.home) if self.project is not None else None

    def look_up(self, name: str) -> Value | None:
        for scope in self.frame.scopes:
            value = scope.get(name, MISSING)
            if value is not MISSING:
                return value if isinstance(value, Value) else Unknown()
        return None

    @property
    def mode(self) -> GradMode:
        mode: GradMode = self.state["mode"]
        return mode

    @contextmanager
    def switched(self, mode: GradMode) -> Iterator[None]:
        """A grad mode for a while; whatever is set inside is put back."""
        before = self.mode
        self.write(self.state, "mode", mode)
        self.frame.withs.append(before)
        try:
            yield
        finally:
            self.frame.withs.pop()
            self.write(self.state, "mode", before)

    def tell(self, kind: str, at: ast.AST, **more: Any) -> None:
        """Leaves an event for the rules."""
        self.events.append(Event(kind, at, self.frame, **more))

    def flow(self, kind: str, grad: int, at: ast.AST, inputs: tuple[Flow, ...] = (), cause: str = "") -> Flow:
        return Flow(kind, grad, at, self.frame, inputs, cause)
