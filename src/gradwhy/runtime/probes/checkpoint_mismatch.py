"""``torch.utils.checkpoint: Recomputed values ... have different metadata``: what was not the same the second time, and why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from torch.utils import checkpoint

from gradwhy.findings import Argument, Code, Evidence, Finding, Fix, Message, Step
from gradwhy.runtime import account, module_source, recomputation, state_source
from gradwhy.runtime.account import Place
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.patches.checkpointing import Checkpointed, cell_of, function_of, modules_held
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.recomputation import Difference
from gradwhy.runtime.sites import Site, located
from gradwhy.runtime.state_source import Piece
from gradwhy.source.slicing import dotted_name
from gradwhy.source.text import SourceText
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import with_keyword

SYMPTOM = "checkpoint-mismatch"
_TEXTS = (
    "have different metadata than during the forward pass",
    "A different number of tensors was saved",
    "trying to save more tensors during recomputation",
    "Detected non-determinism while running activation checkpointing",
)
_KEEP = "preserve_rng_state"
_DRAWN = "random-in-checkpoint"
_FEWER = "A different number of tensors was saved"
# Contexts that a checkpoint puts back, or that change nothing of what is computed.
_HARMLESS = frozenset(
    {"no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "autocast", "record_function", "profile", "nullcontext",
     "device", "open", "tqdm", "suppress", "no_sync", "set_detect_anomaly", "detect_anomaly", "save_on_cpu",
     "saved_tensors_hooks", "catch_warnings", "Timer", "timer", "lock", "Lock", "sdpa_kernel", "fork_rng"}
)  # fmt: skip
_DATA_DEPENDENT = frozenset({"nonzero", "masked_select", "unique", "__getitem__", "argwhere", "where", "bincount"})


def matches(failure: Failure) -> bool:
    return type(failure.error).__name__ == "CheckpointError" and any(text in failure.text for text in _TEXTS)


def diagnose(situation: Situation) -> list[Finding]:
    frame = _frame(situation.failure)
    call = situation.watch.checkpointing.calls.get(frame) if frame is not None else None
    if call is None or not call.chain:
        return []
    differs = None
    if call.forward is not None and call.again is not None:
        differs = recomputation.difference(call.forward, call.again, complete=_FEWER in situation.failure.text)
    return [_Case(situation, frame, call, differs).answer()]


def _frame(failure: Failure) -> Any:
    """torch's own object for the failing checkpoint. (torch/utils/checkpoint.py, ``_CheckpointFrame``.)"""
    kind = getattr(checkpoint, "_CheckpointFrame", None)
    for live in reversed(failure.frames):
        for name in ("self", "frame", "target_frame"):
            held = live.frame.f_locals.get(name)
            if kind is not None and type(held) is kind:
                return held
    return None


@dataclass(frozen=True, slots=True)
class Reason:
    """``key`` chooses the sentences of the cause; a reason that was worked out from the source alone is not certain."""

    cause: str
    place: Place
    facts: dict[str, Argument]
    steps: tuple[Step, ...] = ()
    key: str = ""
    certain: bool = False
    fixes: tuple[Fix, ...] | None = None


class _Case:
    """One checkpoint, what it ran, and how the second run differed."""

    def __init__(self, situation: Situation, frame: Any, call: Checkpointed, differs: Difference | None) -> None:
        self.situation = situation
        self.frame = frame
        self.call = call
        self.differs = differs
        self.site = call.chain[0]
        self.function = function_of(frame)
        self.deciding = recomputation.deciding(differs) if differs is not None else []
        self.reads = state_source.attributes_read(self.deciding)
        self.code = state_source.called_from(self._executed())

    def answer(self) -> Finding:
        for reason in (
            self._mode, self._frozen, self._drawn, self._mutated_inside, self._context, self._stepped, self._changed_outside,
            self._mutated_somewhere,
        ):  # fmt: skip
            for found in self.situation.each(lambda reason=reason: reason()):  # type: ignore[misc]
                return self._finding(found)
        return self._finding(Reason("recomputation-differs", Place.of(self.site), {}))

    # -- what ran

    def _executed(self) -> list[Piece]:
        """The user's functions that the checkpoint ran: those that called torch, with their callers, and its own function."""
        found: list[Piece] = []
        seen: set[int] = set()
        for trail in (self.call.forward, self.call.again):
            for ran in trail.calls if trail is not None else ():
                for site in ran.chain:
                    if id(site.code) not in seen:
                        seen.add(id(site.code))
                        piece = state_source.function_of(site)
                        found += [piece] if piece is not None else []
        for module in modules_held(self.function):
            for each in module_source.classes_of(module):
                found += [Piece(each.source, f) for f in each.functions() if f.name == "forward" and not found]
        code = getattr(self.function, "__code__", None)
        if code is not None and id(code) not in seen and (own := state_source.function_of(Site(code, 0))) is not None:
            found.append(own)
        return found

    # -- reasons, each a finding or nothing

    def _mode(self) -> Iterator[Reason]:
        """A module was switched to training or evaluation since the forward pass."""
        changed = [m for reference, was in self.call.training if (m := reference()) is not None and m.training != was]
        ids = {id(module) for module in changed}
        for switch in reversed(self.situation.watch.switching.modes if changed else ()):
            module = switch.module()
            inside = {id(each) for _, each in module_source.walk(module)} if module is not None else set()
            if switch.order > self.call.order and ids & inside:
                facts: dict[str, Argument] = {"mode": switch.what, "count": len(changed)}
                yield Reason("state-changed", Place.of(switch.chain[0]), facts, key="mode", certain=True)

    def _frozen(self) -> Iterator[Reason]:
        """Parameters were frozen or released since: another set of tensors is saved."""
        if self.differs is not None:
            return
        inside = {
            id(parameter)
            for module in modules_held(self.function)
            for _, each in module_source.walk(module)
            for parameter in each._parameters.values() if parameter is not None
        }  # fmt: skip
        for change in sorted(self.situation.watch.journal.flags.values(), key=lambda each: -each.order):
            if change.order > self.call.order and change.chain and change.tensors.keys() & inside:
                facts: dict[str, Argument] = {"count": len(change.tensors.keys() & inside)}
                yield Reason("state-changed", Place.of(change.chain[0]), facts, key="flags", certain=True)

    def _drawn(self) -> Iterator[Reason]:
        """A random number that the checkpoint does not draw again."""
        kept = cell_of(getattr(self.frame, "recompute_fn", None), _KEEP)
        for piece in (*self.deciding, *state_source.called_by(self.deciding)):
            for call in state_source.draws(piece):
                at = located(piece.source, call)
                if not state_source.is_torchs(call):
                    yield Reason(_DRAWN, Place(at, piece.source.segment(call)), {}, certain=True)
                elif kept is False:
                    drawn = Step(at=at, note=Message("random-in-checkpoint.drawn"))
                    yield self._not_kept(drawn)

    def _not_kept(self, drawn: Step) -> Reason:
        """Where the program says ``preserve_rng_state=False``."""
        call, source = account.call_at(self.site), self.site.source
        if call is None or source is None or not _forgets(call):
            sources = {id(s): s for site in self.call.chain if (s := site.source) is not None}
            found = [
                (each, node)
                for each in sources.values()
                for node in (ast.walk(each.tree) if each.tree is not None else ())
                if isinstance(node, ast.Call) and _forgets(node)
            ]
            if len(found) != 1:
                return Reason(_DRAWN, Place.of(self.site), {}, (drawn,), key="not-kept", certain=True)
            source, call = found[0]
        at = located(source, call)
        fault = Fault(cause=_DRAWN, file=at.file, source=source, node=call)
        title = Message(f"{_DRAWN}.advice-not-kept")
        fix = Fix(title=title, applicability="unsafe", edits=(with_keyword(fault, call, _KEEP, "True"),))
        return Reason(_DRAWN, Place(at, source.segment(call)), {}, (drawn,), key="not-kept", certain=True, fixes=(fix,))

    def _mutated_inside(self) -> Iterator[Reason]:
        """The checkpointed code itself changes what its conditions, or the differing line, depend on."""
        found = list(self._mutations(self.reads, certain=True))
        one = len({(reason.place.at.file, reason.place.at.line) for reason in found}) == 1
        yield from (reason if one else replace(reason, certain=False) for reason in found)

    def _mutated_somewhere(self) -> Iterator[Reason]:
        """The same for anything that the checkpointed code reads and changes, where there is only one such thing."""
        reads = {
            n.attr
            for p in self.code
            for n in ast.walk(p.node)
            if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)
        }
        found = list(self._mutations(reads, certain=False))
        if len({(reason.place.at.file, reason.place.at.line) for reason in found}) == 1:
            yield found[0]

    def _mutations(self, names: set[str], certain: bool) -> Iterator[Reason]:
        for piece in self.code:
            function = piece.node
            if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                continue
            for statement in state_source.changes(function, names):
                at = located(piece.source, statement)
                place = Place(at, piece.source.segment(statement))
                owner = piece.source.parents.get(function)
                given = self._given(owner.name) if isinstance(owner, ast.ClassDef) else ""
                changed = Step(at=at, note=Message("state-changed.changed"))
                if given:
                    facts: dict[str, Argument] = {"name": Code(given)}
                    yield Reason("state-changed", Place.of(self.site), facts, (changed,), key="given", certain=certain)
                else:
                    yield Reason("state-changed", self._in_module(piece, place), {}, (changed,), certain=certain)

    def _given(self, kind: str) -> str:
        """What the call of the checkpoint names an argument of a class, "" where none is of it."""
        call = account.call_at(self.site)
        saved = [each for each in getattr(self.frame, "saved_args", ()) if type(each).__name__ == kind]
        kwargs = cell_of(getattr(self.frame, "recompute_fn", None), "kwargs") or {}
        saved += [each for each in kwargs.values() if type(each).__name__ == kind]
        if not saved or call is None:
            return ""
        arguments = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
        index = next((i for i, each in enumerate(getattr(self.frame, "saved_args", ())) if each is saved[0]), None)
        named = arguments[index] if index is not None and index < len(call.args) - 1 else None
        return (dotted_name(named) if named is not None else "") or kind

    def _in_module(self, piece: Piece, place: Place) -> Place:
        """The line of a module's own code that changes the state: of a helper's method, the line that calls it."""
        function = piece.node
        owner = piece.source.parents.get(function)
        if not isinstance(owner, ast.ClassDef) or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return place
        modules = {type(m).__name__ for m, _ in ((r(), w) for r, w in self.call.training) if m is not None}
        bases = {base for name in modules for base in (name,)}
        if owner.name in bases or function.name == "forward":
            return place
        for other in self.code:
            for node in ast.walk(other.node):
                if isinstance(node, ast.Call) and account.called(node) == function.name and other.node is not function:
                    statement = other.source.statement(node)
                    if statement is not None:
                        return Place(located(other.source, node), other.source.segment(node))
        return place

    def _context(self) -> Iterator[Reason]:
        """A block of the user's own around the call, which was left before backward ran the function again."""
        running = {
            (live.site.code, with_line)
            for live in self.situation.failure.user_frames
            for with_line in _open_blocks(live.site)
        }
        for site in self.call.chain:
            source, statement = site.source, _statement(site)
            for outer in source.enclosing(statement) if source is not None and statement is not None else ():
                if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                    break
                if not isinstance(outer, (ast.With, ast.AsyncWith)) or (site.code, outer.lineno) in running:
                    continue
                for item in outer.items:
                    name = _name_of(item.context_expr)
                    if source is not None and name and name not in _HARMLESS and self._is_read(name, source):
                        opened = Step(at=located(source, item.context_expr), note=Message("context-left.opened"))
                        facts: dict[str, Argument] = {"context": Code(source.segment(item.context_expr))}
                        certain = self._sets(name, source) and bool(self.reads)
                        yield Reason("context-left", Place.of(self.site), facts, (opened,), certain=certain)

    def _is_read(self, name: str, source: SourceText) -> bool:
        """Whether the block can matter: its class or function changes what the conditions read, or isn't to be seen."""
        return not self.reads or not _defined(name, source) or self._sets(name, source)

    def _sets(self, name: str, source: SourceText) -> bool:
        pieces = state_source.called_from(Piece(source, node) for node in _defined(name, source))
        return any(
            True
            for piece in pieces
            if isinstance(piece.node, (ast.FunctionDef, ast.AsyncFunctionDef))
            for _ in state_source.changes(piece.node, self.reads)
        )

    def _stepped(self) -> Iterator[Reason]:
        """Weights that changed since choose other elements."""
        first = self.differs.first if self.differs is not None and self.differs.same_line else None
        if first is None or getattr(first.func, "__name__", "") not in _DATA_DEPENDENT:
            return
        for step in self.situation.watch.journal.stepped:
            if step.order > self.call.order and step.chain:
                yield Reason("state-changed", Place.of(step.chain[0]), {}, key="stepped")

    def _changed_outside(self) -> Iterator[Reason]:
        """The one statement elsewhere in the program that changes what the conditions read."""
        inside = {piece.node for piece in self.code}
        found: list[Reason] = []
        files = {id(s): s for site in self.call.chain if (s := site.source) is not None}
        files |= {id(piece.source): piece.source for piece in self.code}
        names = self.reads - {"self", "torch", "training"}
        for source in files.values() if names else ():
            for node in ast.walk(source.tree) if source.tree is not None else ():
                if (
                    isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                    and node not in inside
                    and node.name != "__init__"
                ):
                    for statement in state_source.changes(node, names):
                        place = Place(located(source, statement), source.segment(statement))
                        found.append(Reason("state-changed", place, {}, key="outside"))
        if len({(reason.place.at.file, reason.place.at.line) for reason in found}) == 1:
            yield found[0]

    # -- telling

    def _finding(self, reason: Reason) -> Finding:
        what = self._what()
        facts: dict[str, Argument] = {"what": Code(what), **reason.facts}
        steps = [account.station(self.site, Message("checkpoint-mismatch.called", facts)), *reason.steps]
        for ran, key in (
            ((self.differs.first, "first"), (self.differs.second, "second")) if self.differs is not None else ()
        ):
            if ran is not None and ran.site is not None:
                shape = {"shape": "×".join(map(str, ran.shape)) or "()", "dtype": ran.dtype.removeprefix("torch.")}
                steps.append(account.station(ran.site, Message(f"checkpoint-mismatch.{key}", {**facts, **shape})))
        suffix = f"-{reason.key}" if reason.key else ""
        return account.finding(
            self.situation, SYMPTOM, reason.cause, reason.place.at, reason.place.text, headline=f"headline{suffix}",
            advice=f"advice{suffix}", facts=facts, steps=steps, evidence=self._evidence(), certain=reason.certain,
            fixes=reason.fixes,
        )  # fmt: skip

    def _what(self) -> str:
        """The user's name of what was checkpointed: a module by its path, a function by its name."""
        held = self.function
        for name, root in self.situation.names.modules.items():
            for path, module in module_source.walk(root, name):
                if module is held:
                    return path
        return getattr(held, "__qualname__", None) or type(held).__name__

    def _evidence(self) -> list[Evidence]:
        forward, again = self.call.forward, self.call.again
        if forward is None or again is None:
            return []
        facts = {"operations": len(forward.calls), "operations again": len(again.calls)}
        return [Evidence(kind="graph", subject=self._what(), facts=facts)]


def _forgets(call: ast.Call) -> bool:
    return any(keyword.arg == _KEEP for keyword in call.keywords)


def _statement(site: Site) -> ast.AST | None:
    source, node = site.source, site.node()
    return (node or source.statement_at(site.line)) if source is not None else None


def _open_blocks(site: Site) -> list[int]:
    """The lines of the ``with`` statements that a running frame stands in."""
    source, node = site.source, _statement(site)
    found: list[int] = []
    for outer in source.enclosing(node) if source is not None and node is not None else ():
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            break
        if isinstance(outer, (ast.With, ast.AsyncWith)):
            found.append(outer.lineno)
    return found


def _name_of(context: ast.expr) -> str:
    node = context.func if isinstance(context, ast.Call) else context
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _defined(name: str, source: SourceText) -> list[ast.AST]:
    """The functions of a context manager of the file: its own, or the methods of its class."""
    found: list[ast.AST] = []
    for node in ast.walk(source.tree) if source.tree is not None else ():
        if isinstance(node, ast.ClassDef) and node.name == name:
            found += [
                f for f in node.body if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)) and f.name != "__init__"
            ]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            found.append(node)
    return found
