"""A loss made by parameters that do not require grad: who froze them, and what was meant to release them."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from gradwhy.findings import Code, Evidence, Location, Message
from gradwhy.runtime.explanation import Explanation, Loss
from gradwhy.runtime.journal import FlagChange
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.sites import Site, located
from gradwhy.source import text
from gradwhy.source.slicing import dotted_name, names_read

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
        yield from _released_late(loss, situation, set(now_tracked))
        return
    if not loss.trained & used.keys():
        yield from _frozen_meanwhile(loss, situation)
    trains = bool(loss.trained & used.keys()) or not loss.trained
    distance = min(used.values())
    matter = (loss.trained & used.keys()) or used.keys()
    froze = [change for change in _changes(situation, False) if change.tensors.keys() & matter]
    decisive = _last_word(froze, set(matter))
    steps = tuple((_place(change)[0], _froze_note(change, situation)) for change in froze[:3])
    evidence = (_frozen_evidence(used, situation),)
    for place, name, count in _misspelt(used.keys(), situation):
        note = Message("frozen-all.misspelt", {"name": Code(name), "flag": Code(FLAG), "count": count})
        yield Explanation(
            cause="frozen-all",
            at=place,
            subject=name,
            certain=True,
            trains=trains,
            distance=distance,
            weight=-1,
            steps=(*steps, (place, note)),
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
            stacks=change.stacks(matter),
        )
    if froze:
        return
    made = loss.record.site.location() if loss.record is not None and loss.record.site is not None else None
    for weight, (place, subject) in enumerate(_freezing_lines(loss, situation)):
        yield Explanation(
            cause="frozen-all",
            at=place,
            subject=subject,
            certain=False,
            trains=trains,
            distance=distance,
            weight=weight,
            steps=((place, Message("frozen-all.freezes")),) if place != made else (),
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


def _released_late(loss: Loss, situation: Situation, late: set[int]) -> Iterator[Explanation]:
    """Frozen while the loss was computed, released since: the forward pass stands on the wrong side of a switch."""
    reached = next(r for r in loss.reached if late & set(r.record.frozen))
    site = reached.record.site
    if site is None:
        return
    froze = [c for c in _changes(situation, False) if c.tensors.keys() & late]
    # In a loop a line may have frozen them again since.
    froze = [c for c in froze if c.order < reached.record.order] or froze
    released = [c for c in _changes(situation, True) if c.tensors.keys() & late and c.order > reached.record.order]
    steps = [(_place(change)[0], _froze_note(change, situation)) for change in froze[:1]]
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


def _frozen_meanwhile(loss: Loss, situation: Situation) -> Iterator[Explanation]:
    """What is to be trained did not take part, and was frozen for just that while: an adapter that was switched off."""
    reached = next((r for r in loss.reached if r.record.frozen), None)
    if reached is None or not loss.trained:
        return
    order = reached.record.order
    froze = [c for c in _changes(situation, False) if c.order < order and loss.trained <= c.tensors.keys()]
    released = [c for c in _changes(situation, True) if c.tensors.keys() & loss.trained]
    if not froze or any(froze[0].order < c.order < order for c in released):
        return
    site = reached.record.site
    place, subject = _place(froze[0])
    used = [] if site is None else [(site.location(), Message("frozen-part.meanwhile"))]
    yield Explanation(
        cause="frozen-part",
        at=place,
        subject=subject,
        certain=False,
        trains=True,
        distance=reached.distance,
        weight=-1,
        site=site,
        steps=(
            (place, _froze_note(froze[0], situation)),
            *used,
            *((_place(c)[0], Message("frozen-part.released")) for c in released[:1] if c.order > order),
        ),
        stacks=froze[0].stacks(loss.trained),
    )


def _place(change: FlagChange) -> tuple[Location, str]:
    """Where a person would change a freeze: the condition that chose, the line itself, or the call of a helper that does
    nothing but freeze what it is given."""
    chain = change.chain
    source = chain[0].source
    statement = source.statement_at(chain[0].line) if source is not None else None
    if source is not None and statement is not None:
        guard = _guard(source, statement)
        if guard is not None:
            return located(source, guard, chain[0].function), source.segment(guard)
    depth = 0
    while depth + 1 < len(chain) and _only_freezes(chain[depth]) and _is_told(chain[depth]):
        depth += 1
    return chain[depth].location(), chain[depth].expression() or _line_text(chain[depth])


def _guard(source: text.SourceText, statement: ast.stmt) -> ast.expr | None:
    """The test of an ``if`` inside the loop that freezes: what it matches decides."""
    for outer in source.enclosing(statement):
        if isinstance(outer, ast.If) and isinstance(source.parents.get(outer), (ast.For, ast.AsyncFor)):
            return outer.test
        if isinstance(outer, (ast.For, ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
    return None


def _is_told(site: Site) -> bool:
    """Whether the flag is a plain ``False`` or is handed in, and not worked out on the line."""
    source = site.source
    statement = source.statement_at(site.line) if source is not None else None
    value: ast.expr | None = None
    if isinstance(statement, ast.Assign):
        value = statement.value
    elif isinstance(statement, (ast.Expr, ast.Return)) and statement.value is not None:
        calls = [n for n in ast.walk(statement.value) if isinstance(n, ast.Call) and n.args]
        value = calls[0].args[0] if calls else None
    return value is None or isinstance(value, (ast.Constant, ast.Name))


def _only_freezes(site: Site) -> bool:
    """Whether the function around a line only sets flags on what it is given, so that its call decides."""
    source, node = site.source, site.node()
    if source is None:
        return False
    node = node or source.statement_at(site.line)
    function = source.function(node) if node is not None else None
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    given = function.args
    names = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, [given.vararg]))}
    if not names - {"self", "cls"}:
        return False
    for inner in ast.walk(function):
        if isinstance(inner, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            written = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
            if not all(isinstance(target, ast.Attribute) and target.attr == FLAG for target in written):
                return False
        elif isinstance(inner, (ast.FunctionDef, ast.ClassDef, ast.With)) and inner is not function:
            return False
    return bool(names_read(function) & (names - {"self", "cls"}))


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


def _misspelt(used: Collection[int], situation: Situation) -> Iterator[tuple[Location, str, int]]:
    """Attributes on parameters or modules that look like ``requires_grad`` and do nothing, with the line that set them."""
    names: dict[str, int] = {}
    for parameter in situation.names.all_parameters():
        for name in vars(parameter) if id(parameter) in used else ():
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
    called = (
        {n.func.attr for n in ast.walk(loop.iter) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
        if loop
        else set()
    )
    return bool(called & {"modules", "children", "named_modules", "named_children"})


def _freezing_lines(loss: Loss, situation: Situation) -> Iterator[tuple[Location, str]]:
    """Lines that would freeze, from the source, where the run was not recorded when they ran or froze something else.

    What was frozen on other tensors may have been copied (``copy.deepcopy`` keeps the flag); some makers freeze by
    themselves (``nn.Embedding.from_pretrained``, torch/nn/modules/sparse.py). The last resort is the loss's own line.
    """
    for change in _changes(situation, False):
        yield _place(change)
    for source in _sources(situation):
        for node in ast.walk(source.tree) if source.tree is not None else ():
            if _would_freeze(node):
                yield located(source, node), source.segment(node)
    made = loss.record.site if loss.record is not None else None
    if made is not None:
        yield made.location(), made.expression()


def _would_freeze(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        return isinstance(target, ast.Attribute) and target.attr == FLAG and _is_false(node.value)
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name == f"{FLAG}_":
        return bool(node.args) and _is_false(node.args[0])
    if name == "Parameter":
        return any(k.arg == FLAG and _is_false(k.value) for k in node.keywords)
    return (
        name == "from_pretrained"
        and dotted_name(node.func).split(".")[-2:-1] in (["Embedding"], ["EmbeddingBag"])
        and not any(k.arg == "freeze" for k in node.keywords)
    )


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _sources(situation: Situation) -> Iterator[text.SourceText]:
    files = {live.site.file for live in situation.failure.user_frames}
    files |= {change.chain[0].file for change in situation.watch.journal.flags.values()}
    for file in text.together(sorted(files)):
        if (source := text.read(file)) is not None:
            yield source
