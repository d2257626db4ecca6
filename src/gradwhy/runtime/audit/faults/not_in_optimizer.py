"""Parameters that get a gradient in each pass and are in no optimizer: replaced, released late, hidden, or left out."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.findings import Argument, Code, Evidence, Finding, Message, Step
from gradwhy.runtime.account import Place, call_at, statement_of
from gradwhy.runtime.audit.case import Case, Held, at, place_of
from gradwhy.runtime.audit.roster import Member
from gradwhy.source.slicing import bound_names, called, definitions, dotted_name, targets

RANK = 10
_SYMPTOM = "silent-not-in-optimizer"
_STALE = "silent-stale-optimizer"
_HERE = Message("words.here")


def find(case: Case) -> Iterable[Finding]:
    trained = [held for held in case.optimizers if _trains_modules(held, case)]
    if not trained:
        return
    everywhere = frozenset(key for held in case.optimizers for key in held.ids)
    left = [
        member
        for member in case.roster.members.values()
        if member.key not in everywhere
        and member.key not in case.claimed
        and member.requires_grad
        and not member.by_hand
        and (member.home in ("registered", "hidden", "computed") or (member.home == "alone" and member.is_parameter))
        and _arrives(member.key, case)
    ]
    roots: dict[str, list[Member]] = {}
    for member in left:
        place = f"{member.place.at.file}:{member.place.at.line}" if member.place is not None else member.name
        roots.setdefault(member.root if member.home == "registered" else place, []).append(member)
    for members in roots.values():
        held = _nearest(members, trained, case)
        if held is not None:
            yield from _explain(members, held, case)


def _arrives(key: int, case: Case) -> bool:
    """Whether a gradient came at least twice, each time before a step."""
    last = max((s.order for s in case.ledger.steps), default=-1)
    return sum(p.fills(key) and p.order < last for p in case.ledger.passes) > 1


def _trains_modules(held: Held, case: Case) -> bool:
    """Whether an optimizer holds parameters of modules and not, say, an image."""
    return bool(held.chain) and any(m.is_parameter or m.home == "registered" for m in case.members(held.ids))


def _nearest(members: list[Member], optimizers: list[Held], case: Case) -> Held | None:
    """The optimizer that a person would have expected to hold them: the one with most of the same module, the latest."""
    root = members[0].root
    return max(optimizers, key=lambda h: (sum(m.root == root for m in case.members(h.ids)), h.order), default=None)


def _explain(members: list[Member], held: Held, case: Case) -> Iterator[Finding]:
    ids = {member.key for member in members}
    first = members[0]
    name = case.owner(ids) or first.name
    facts: dict[str, Argument] = {"name": Code(name), "count": len(ids)}
    evidence = [
        Evidence(
            kind="parameter", subject=name, facts={"requires_grad": True, "in_optimizers": 0, "parameters": len(ids)}
        )
    ]
    surfaces = next((s.chain[0] for s in reversed(case.ledger.steps) if s.optimizer == held.number and s.chain), None)
    built = Step(at=held.chain[0].location(), note=Message("words.optimizer-made"))
    if first.home in ("hidden", "computed") and first.place is not None:
        cause = "param-not-registered" if first.home == "hidden" else "to-device-non-leaf"
        case.claimed |= ids
        yield case.finding(
            cause, _SYMPTOM, first.place, facts=facts, key="hidden", steps=[], evidence=evidence, surfaces=surfaces
        )
        return
    orphans = [
        m
        for m in case.members(held.ids)
        if not m.alive and (not m.root or m.root == first.root or m.name == first.name)
    ]
    later = [key for key in ids if case.calls.registered.get(key, 0) > held.order]
    swapped = {key for member in members for key in case.roster.bearers.get(member.name, ()) if key in held.ids}
    if orphans or later or swapped:
        case.claimed |= ids | {orphan.key for orphan in orphans}
        facts["gone"] = len(orphans)
        replaced = (
            _replaced(first, held, case) if _had_trained({o.key for o in orphans} | swapped, held, case) else None
        )
        if replaced is not None:
            facts["optimizer"] = Code(_bound_to(held))
            yield case.finding(
                "stale-optimizer", _STALE, replaced, facts=facts, key="replaced", evidence=evidence, surfaces=surfaces,
                steps=[Step(at=built.at, note=Message("stale-optimizer.built")), Step(at=replaced.at, note=_HERE)],
                certain=False,
            )  # fmt: skip
            return
        key = "audit" if orphans else "before" if later else "swapped"
        yield case.finding(
            "stale-optimizer", _STALE, at(held.chain[0]), facts=facts, key=key, evidence=evidence, surfaces=surfaces
        )
        return
    released = [
        change
        for change in case.watch.journal.flags.values()
        if change.value and change.order > held.order and change.tensors.keys() & ids and change.chain
    ]
    if released:
        case.claimed |= ids
        released_at = max(released, key=lambda change: change.order).chain[0]
        chosen = _filter(held)
        place = chosen or at(held.chain[0])
        steps = [
            Step(at=place.at, note=Message("requires-grad-late.chosen" if chosen else "words.optimizer-made")),
            Step(at=released_at.location(), note=Message("words.released-here", facts)),
        ]
        yield case.finding(
            "requires-grad-late", _SYMPTOM, place, facts=facts, key="optimizer", steps=steps, evidence=evidence,
            surfaces=surfaces,
        )  # fmt: skip
        return
    same_root = any(member.root == first.root for member in case.members(held.ids))
    feeds = any(a.counts.get("finite") for a in case.accounts(held.number))
    if feeds and not same_root and (not first.training or first.loaded):
        # A finished network that only judges: a perceptual loss, a teacher.
        return
    case.claimed |= ids
    idle = {a.key for a in case.accounts(held.number) if a.steps > 1 and a.always("none")}
    if not same_root and held.ids <= idle:
        case.claimed |= held.ids
        facts = {"name": case.called(held.ids), "other": Code(name)}
        yield case.finding(
            "wrong-network",
            _SYMPTOM,
            at(held.chain[0]),
            facts=facts,
            steps=[built],
            evidence=evidence,
            surfaces=surfaces,
        )
        return
    yield case.finding(
        "parameter-left-out", _SYMPTOM, at(held.chain[0]), facts=facts, steps=[built], evidence=evidence,
        certain=same_root, severity="error" if same_root else "warning", surfaces=surfaces,
    )  # fmt: skip


def _had_trained(keys: set[int], held: Held, case: Case) -> bool:
    """Whether the optimizer had trained some of these before others took their place: else it was only made too early."""
    return any(account.key in keys and account.counts.get("finite") for account in case.accounts(held.number))


def _replaced(member: Member, held: Held, case: Case) -> Place | None:
    """The line that put another module or parameter in the place of one that trained, from the source: the only one that does,
    outside of constructors."""
    path = member.name.split(".")
    site = held.chain[0]
    made, source = site.node(), site.source
    scope = source.function(made) if source is not None and made is not None else None
    for depth in range(len(path) - 1, -1, -1):
        found: list[Place] = []
        for file, node in case.nodes(ast.Assign):
            if not any(_is_name_of(name, path[: depth + 1]) for t in targets(node) for name in _names(t)):
                continue
            function = file.function(node)
            if depth == 0:
                beside = source is not None and file.path == source.path and function is scope
                found += [place_of(file, node)] if beside and node.lineno > site.line else []
            elif getattr(function, "name", "__init__") != "__init__" or (function is None and node.lineno > site.line):
                helped = _is_of_argument(function, node)
                found += _calls(function, case) if helped else [place_of(file, node)]
        # Several lines of one helper that is called once are one place.
        places = {(each.at.file, each.at.line): each for each in found}
        if places:
            return next(iter(places.values())) if len(places) == 1 else None
    return None


def _is_of_argument(function: ast.AST | None, node: ast.Assign) -> bool:
    """``def prune(model): model.fc = ...``: a helper that is right, and whose caller has to make the optimizer anew."""
    if not isinstance(function, ast.FunctionDef):
        return False
    given = {a.arg for a in (*function.args.posonlyargs, *function.args.args)} - {"self"}
    return any(name.partition(".")[0] in given for target in targets(node) for name in _names(target))


def _calls(function: ast.AST | None, case: Case) -> list[Place]:
    name = getattr(function, "name", "")
    return [place_of(file, node) for file, node in case.nodes(ast.Call) if called(node) == name]


def _names(target: ast.AST) -> Iterator[str]:
    for part in ast.walk(target):
        if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Store):
            yield dotted_name(part)


def _is_name_of(name: str, path: list[str]) -> bool:
    """Whether a target names the part that a path ends with: "net.fc" and "self.fc" for ["model", "net", "fc"]."""
    return name == path[0] if len(path) == 1 else "." in name and name.rpartition(".")[2] == path[-1]


def _bound_to(held: Held) -> str:
    """The optimizer's name in the line that makes it, or its kind."""
    statement = statement_of(held.chain[0])
    names = [name for target in targets(statement) for name in bound_names(target)] if statement is not None else []
    return names[0] if len(names) == 1 else held.kind


def _filter(held: Held) -> Place | None:
    """The line of the same function that chose what the optimizer gets by its flag."""
    site = held.chain[0]
    call, source = call_at(site), site.source
    given = call.args[0] if call is not None and call.args else None
    if source is None or not isinstance(given, ast.Name):
        return None
    scope = source.function(given) or source.tree
    for names, value, _ in definitions(scope) if scope is not None else ():
        if given.id in names and any(
            isinstance(n, ast.Attribute) and n.attr == "requires_grad" for n in ast.walk(value)
        ):
            return place_of(source, value)
    return None
