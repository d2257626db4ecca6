"""A loss made by parameters that do not require grad: who froze them, and what was meant to release them."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from gradwhy.findings import Code, Evidence, Location, Message
from gradwhy.runtime.explanation import Explanation, Loss
from gradwhy.runtime.journal import FlagChange
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import Site, located
from gradwhy.source import text
from gradwhy.source.slicing import definitions, names_read

FLAG = "requires_grad"


def explain(loss: Loss, situation: Situation) -> Iterable[Explanation]:
    """The lines that froze, best first; a misspelt flag before them, since it was meant to release."""
    used: dict[int, int] = {}
    for reached in loss.reached:
        for key in reached.record.frozen:
            used.setdefault(key, reached.distance)
    if not used and loss.record is None:
        used = {id(p): 0 for p in situation.names.all_parameters() if not p.requires_grad}
    if not used:
        return
    now_tracked = [key for key in used if key in _tracked_now(situation)]
    if now_tracked:
        yield from _released_late(loss, situation, used, set(now_tracked))
        return
    trains = bool(loss.trained & used.keys()) or not loss.trained
    distance = min(used.values())
    froze = [change for change in _changes(situation, False) if change.tensors.keys() & used.keys()]
    decisive = _last_word(froze, (loss.trained & used.keys()) or set(used))
    steps = tuple((_place(change)[0], _froze_note(change, situation)) for change in froze[:3])
    evidence = (_frozen_evidence(used, situation),)
    for place, name, count in _misspelt(situation):
        yield Explanation(
            cause="frozen-all",
            at=place,
            subject=name,
            certain=True,
            trains=trains,
            distance=distance,
            weight=-1,
            steps=(*steps, (place, Message("frozen-all.misspelt", {"name": Code(name), "flag": Code(FLAG), "count": count}))),
            evidence=evidence,
            facts={"misspelt": name},
        )
    for change in froze[:3]:
        place, subject = _place(change)
        yield Explanation(
            cause="frozen-all",
            at=place,
            subject=subject,
            certain=True,
            trains=trains,
            distance=distance,
            weight=0 if change is decisive else 1,
            steps=steps,
            evidence=evidence,
        )
    if not froze:
        for place, subject in _freezing_lines(situation):
            yield Explanation(
                cause="frozen-all",
                at=place,
                subject=subject,
                certain=False,
                trains=trains,
                distance=distance,
                steps=((place, Message("frozen-all.freezes")),),
                evidence=evidence,
            )


def _tracked_now(situation: Situation) -> set[int]:
    tracked = {id(p) for p in situation.names.all_parameters() if p.requires_grad}
    for made in situation.watch.journal.optimizers:
        tracked.update(id(p) for p in made.parameters() if p.requires_grad)
    return tracked


def _changes(situation: Situation, value: bool) -> list[FlagChange]:
    """Writes of one value, the latest first."""
    changes = [c for c in situation.watch.journal.flags.values() if c.value is value and c.parameters]
    return sorted(changes, key=lambda change: -change.order)


def _last_word(froze: list[FlagChange], wanted: set[int]) -> FlagChange | None:
    """The latest line that froze all that matters; where several share it, the latest of them."""
    whole = [change for change in froze if wanted <= change.tensors.keys()]
    return next(iter(whole or froze), None)


def _released_late(loss: Loss, situation: Situation, used: dict[int, int], late: set[int]) -> Iterator[Explanation]:
    """Frozen while the loss was computed, released since: the forward pass stands on the wrong side of a switch."""
    reached = next(r for r in loss.reached if late & set(r.record.frozen))
    site = reached.record.site
    if site is None:
        return
    steps = [(_place(c)[0], _froze_note(c, situation)) for c in _changes(situation, False) if c.tensors.keys() & late][:1]
    released = [c for c in _changes(situation, True) if c.tensors.keys() & late and c.order > reached.record.order]
    yield Explanation(
        cause="frozen-part" if steps else "requires-grad-late",
        at=site.location(),
        subject=site.expression(),
        certain=True,
        trains=not loss.trained or bool(loss.trained & late),
        distance=reached.distance,
        site=site,
        steps=(
            *steps,
            (site.location(), Message("frozen-part.used", {"count": len(late)})),
            *((_place(c)[0], Message("frozen-part.released")) for c in released[:1]),
        ),
    )


def _place(change: FlagChange) -> tuple[Location, str]:
    """Where a person would change a freeze: the line that says ``False``, or the call that passed the module or flag."""
    chain = change.chain
    for depth, site in enumerate(chain):
        if depth + 1 == len(chain) or not _is_told_from_outside(site):
            return site.location(), site.expression() or _line_text(site)
        chain_left = chain[depth + 1]
        if chain_left.source is None:
            return site.location(), site.expression()
    return chain[0].location(), chain[0].expression()


def _is_told_from_outside(site: Site) -> bool:
    """Whether what is frozen at a line, or the flag itself, came in as an argument other than ``self``."""
    source, node = site.source, site.node()
    if source is None or node is None:
        return False
    function = source.function(node)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    arguments = {a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    arguments -= {"self", "cls"}
    statement = source.statement(node)
    wanted = names_read(statement) if statement is not None else set()
    bindings = list(definitions(function))
    for _ in range(8):
        more = {n for bound, value, _ in bindings if bound & wanted for n in names_read(value)}
        if more <= wanted:
            break
        wanted |= more
    made_here = {name for bound, value, _ in bindings if isinstance(value, ast.Call) for name in bound if "." not in name}
    return bool((wanted - made_here) & arguments)


def _line_text(site: Site) -> str:
    return site.source.line(site.line).strip() if site.source is not None else ""


def _froze_note(change: FlagChange, situation: Situation) -> Message:
    owner = situation.names.owner_of(list(change.tensors))
    if owner:
        return Message("frozen-all.froze-of", {"count": change.parameters, "owner": Code(owner)})
    return Message("frozen-all.froze", {"count": change.parameters})


def _frozen_evidence(used: dict[int, int], situation: Situation) -> Evidence:
    owner = situation.names.owner_of(list(used))
    facts: dict[str, Any] = {"frozen": len(used), "requires_grad": False}
    return Evidence(kind="parameter", subject=owner or "parameters", facts=facts)


def _misspelt(situation: Situation) -> Iterator[tuple[Location, str, int]]:
    """Attributes on parameters or modules that look like ``requires_grad`` and do nothing, with the line that set them."""
    names: dict[str, int] = {}
    for parameter in situation.names.all_parameters():
        for name in vars(parameter):
            if name != FLAG and difflib.get_close_matches(name, [FLAG], cutoff=0.75):
                names[name] = names.get(name, 0) + 1
    for module in situation.names.modules.values():
        for inner in module.modules():
            for name in inner.__dict__:
                if difflib.get_close_matches(name, [FLAG], cutoff=0.75) and inner.__dict__[name] is True:
                    names[name] = names.get(name, 0) + 1
    for name, count in names.items():
        for source in _sources(situation):
            for node in ast.walk(source.tree) if source.tree is not None else ():
                if isinstance(node, ast.Assign) and any(
                    isinstance(target, ast.Attribute) and target.attr == name for target in node.targets
                ):
                    if name == FLAG and not _is_on_module(node, source, situation):
                        continue
                    if not (isinstance(node.value, ast.Constant) and node.value.value is False):
                        yield located(source, node.targets[0]), source.segment(node), count


def _is_on_module(node: ast.Assign, source: text.SourceText, situation: Situation) -> bool:
    """Whether ``x.requires_grad = True`` is written on a module: by the name of one that has such an attribute."""
    target = node.targets[0]
    if not isinstance(target, ast.Attribute):
        return False
    written = source.segment(target.value)
    for name, module in situation.names.modules.items():
        for inner_name, inner in module.named_modules():
            full = f"{name}.{inner_name}" if inner_name else name
            if FLAG in inner.__dict__ and (full == written or full.rpartition(".")[2] == written.rpartition(".")[2]):
                return True
    loop = next((n for n in source.enclosing(node) if isinstance(n, ast.For)), None)
    called = {n.func.attr for n in ast.walk(loop.iter) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)} if loop else set()
    return bool(called & {"modules", "children", "named_modules", "named_children"})


def _freezing_lines(situation: Situation) -> Iterator[tuple[Location, str]]:
    """Lines that would freeze, from the source alone, where the run was not recorded when they ran."""
    for source in _sources(situation):
        for node in ast.walk(source.tree) if source.tree is not None else ():
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is False:
                if isinstance(node.targets[0], ast.Attribute) and node.targets[0].attr == FLAG:
                    yield located(source, node), source.segment(node)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == f"{FLAG}_":
                if node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value is False:
                    yield located(source, node), source.segment(node)


def _sources(situation: Situation) -> Iterator[text.SourceText]:
    files = {live.site.file for live in situation.failure.user_frames}
    files |= {change.chain[0].file for change in situation.watch.journal.flags.values()}
    for file in sorted(files):
        if (source := text.read(file)) is not None:
            yield source
