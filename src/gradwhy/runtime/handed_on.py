"""Where the source takes a value: through names, returns and calls, up to the ``backward`` that it is meant for."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gradwhy.runtime import live as living
from gradwhy.runtime.failure import LiveFrame
from gradwhy.runtime.sites import Site
from gradwhy.runtime.state_source import Piece
from gradwhy.source.text import SourceText

Slot = int | str | None
"""Which element of a tuple, key of a dictionary or attribute holds the value; None for the value itself."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_STEPS_AT_MOST = 400


@dataclass(frozen=True, slots=True)
class Flow:
    """A value on its way: the node that it is at, what holds it, the conditions passed, and where calls return to."""

    source: SourceText
    node: ast.AST
    slot: Slot = None
    conditions: tuple[Piece, ...] = ()
    back: tuple[tuple[SourceText, ast.AST], ...] = ()


@dataclass(frozen=True, slots=True)
class Named:
    """A value under a name in one function."""

    flow: Flow
    scope: ast.AST
    name: str


def uses(site: Site, callers: tuple[Site, ...], frames: list[LiveFrame]) -> list[tuple[Piece, ...]]:
    """The ways by which the source takes what ran at a site to a ``backward``: for each, the conditions on it."""
    source, node = site.source, site.node()
    if source is None or node is None:
        return []
    return _Follower(callers, frames).follow(Flow(source, node))


class _Follower:
    def __init__(self, callers: tuple[Site, ...], frames: list[LiveFrame]) -> None:
        self.callers = callers
        self.frames = {live.site.code: live for live in frames}
        self.found: list[tuple[Piece, ...]] = []
        self.seen: set[tuple[int, str, Slot]] = set()

    def follow(self, start: Flow) -> list[tuple[Piece, ...]]:
        todo: list[Flow | Named] = [start]
        steps = 0
        while todo and steps < _STEPS_AT_MOST:
            steps += 1
            item = todo.pop()
            todo += self._climb(item) if isinstance(item, Flow) else self._loads(item)
        return self.found

    # -- upwards from an expression

    def _climb(self, flow: Flow) -> Iterable[Flow | Named]:
        source, node = flow.source, flow.node
        outer = source.parents.get(node)
        if outer is None:
            return []
        if isinstance(outer, ast.IfExp) and node is not outer.test:
            flow = replace(flow, conditions=(*flow.conditions, Piece(source, outer.test)))
        if isinstance(outer, ast.keyword):
            call = source.parents.get(outer)
            return self._into(replace(flow, node=outer), call, outer.arg) if isinstance(call, ast.Call) else []
        if isinstance(outer, ast.Call) and node is not outer.func:
            place = next((i for i, each in enumerate(outer.args) if each is node), None)
            return self._into(flow, outer, place)
        if isinstance(outer, ast.Call):
            if isinstance(node, ast.Attribute) and node.attr == "backward":
                self.found.append(flow.conditions)
                return []
            return [replace(flow, node=outer)]
        if isinstance(outer, (ast.Tuple, ast.List)) and flow.slot is None and isinstance(outer.ctx, ast.Load):
            return [replace(flow, node=outer, slot=next(i for i, each in enumerate(outer.elts) if each is node))]
        if isinstance(outer, ast.Dict) and flow.slot is None and node in outer.values:
            key = outer.keys[next(i for i, each in enumerate(outer.values) if each is node)]
            return [replace(flow, node=outer, slot=str(key.value) if isinstance(key, ast.Constant) else None)]
        if isinstance(outer, ast.expr):
            return [replace(flow, node=outer)]
        return self._statement(flow, outer)

    def _into(self, flow: Flow, call: ast.Call, place: int | str | None) -> Iterable[Flow | Named]:
        """Into a function of the user's that is called with the value, else on with the result of the call."""
        function = self._callee(flow, call)
        if function is None or place is None:
            slot = flow.slot
            if slot is None and isinstance(place, str) and _looks_like_a_class(call):
                slot = place
            return [replace(flow, node=call, slot=slot)]
        source, node, is_method = function
        arguments = [*node.args.posonlyargs, *node.args.args]
        names = [a.arg for a in (arguments[1:] if is_method else arguments)]
        name = place if isinstance(place, str) else names[place] if place < len(names) else ""
        inside = replace(flow, source=source, node=node, back=(*flow.back, (flow.source, call)))
        return [Named(inside, node, name)] if name else []

    def _callee(self, flow: Flow, call: ast.Call) -> tuple[SourceText, ast.FunctionDef, bool] | None:
        func, source = call.func, flow.source
        if isinstance(func, ast.Attribute) and getattr(func.value, "id", "") == "self":
            owner = next((n for n in source.enclosing(call) if isinstance(n, ast.ClassDef)), None)
            for each in owner.body if owner is not None else ():
                if isinstance(each, ast.FunctionDef) and each.name == func.attr:
                    return source, each, True
        if not isinstance(func, ast.Name):
            return None
        for each in source.tree.body if source.tree is not None else ():
            if isinstance(each, ast.FunctionDef) and each.name == func.id:
                return source, each, False
        held = next((v for live in self.frames.values() if (v := living.value(func, live)) is not None), None)
        for kind in type(held).__mro__ if held is not None else ():
            members = type.__getattribute__(kind, "__dict__")
            for name in ("forward", "__call__"):
                code = getattr(members.get(name), "__code__", None)
                inner = Site(code, 0).source if code is not None else None
                node = inner.function_at(code.co_firstlineno, name) if code is not None and inner is not None else None
                if inner is not None and isinstance(node, ast.FunctionDef) and inner is source:
                    return inner, node, True
        return None

    # -- statements and names

    def _statement(self, flow: Flow, statement: ast.AST) -> Iterable[Flow | Named]:
        scope = flow.source.function(statement) or flow.source.tree
        around = [n for n in flow.source.enclosing(statement) if isinstance(n, (ast.If, ast.While))]
        inside = [n for n in around if _is_within(n, scope, flow.source)]
        tests = tuple(Piece(flow.source, each.test) for each in inside if statement is not each.test)
        flow = replace(flow, conditions=(*flow.conditions, *tests))
        if isinstance(statement, ast.Return):
            return self._returned(flow)
        if scope is None or not isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            return []
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return [each for target in targets for each in self._bound(flow, scope, target)]

    def _bound(self, flow: Flow, scope: ast.AST, target: ast.AST) -> list[Flow | Named]:
        if isinstance(target, ast.Name):
            return [Named(flow, scope, target.id)]
        if isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(flow.slot, int) and flow.slot < len(target.elts):
                return self._bound(replace(flow, slot=None), scope, target.elts[flow.slot])
            return [n for each in target.elts for n in self._bound(flow, scope, each)]
        return []

    def _returned(self, flow: Flow) -> list[Flow | Named]:
        if flow.back:
            source, call = flow.back[-1]
            return [replace(flow, source=source, node=call, back=flow.back[:-1])]
        function = flow.source.function(flow.node)
        for index, site in enumerate(self.callers):
            outer, node = site.source, site.node()
            if outer is not None and node is not None and outer.function(node) is not function:
                self.callers = self.callers[index + 1 :]
                return [replace(flow, source=outer, node=node)]
        return []

    def _loads(self, named: Named) -> list[Flow | Named]:
        key = (id(named.scope), named.name, named.flow.slot)
        if key in self.seen:
            return []
        self.seen.add(key)
        source, slot = named.flow.source, named.flow.slot
        found: list[Flow | Named] = []
        for node in ast.walk(named.scope):
            if not (isinstance(node, ast.Name) and node.id == named.name and isinstance(node.ctx, ast.Load)):
                continue
            if source.function(node) is not named.scope and not isinstance(named.scope, ast.Module):
                continue
            flow = replace(named.flow, node=node)
            outer = source.parents.get(node)
            if slot is not None and isinstance(outer, ast.Subscript) and isinstance(outer.slice, ast.Constant):
                found += [replace(flow, node=outer, slot=None)] if outer.slice.value == slot else []
            elif isinstance(slot, str) and isinstance(outer, ast.Attribute):
                found += [replace(flow, node=outer, slot=None)] if outer.attr == slot else []
            else:
                found.append(flow)
        return found


def _is_within(node: ast.AST, scope: ast.AST | None, source: SourceText) -> bool:
    return source.function(node) is scope or (isinstance(scope, ast.Module) and source.function(node) is None)


def _looks_like_a_class(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name[:1].isupper()
