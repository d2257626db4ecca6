"""What a function reads that outlives it, and which statements change such state: from the source alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradwhy.runtime.sites import Site
from gradwhy.source.slicing import backward_slice, dotted_name
from gradwhy.source.text import SourceText

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_MUTATORS = frozenset(
    {"append", "appendleft", "extend", "insert", "add", "update", "setdefault", "pop", "popleft", "popitem", "remove", "clear",
     "push", "put", "get_nowait", "__setitem__"}
)  # fmt: skip
_DRAWING = frozenset(
    {"random", "randint", "randrange", "uniform", "choice", "choices", "sample", "shuffle", "gauss", "normal", "rand", "randn",
     "permutation", "integers", "standard_normal", "binomial", "bernoulli", "multinomial", "randperm", "rand_like", "randn_like",
     "exponential", "poisson"}
)  # fmt: skip
_CLOCKS = frozenset({"time", "perf_counter", "monotonic", "time_ns", "now", "uuid4", "urandom", "token_hex"})


@dataclass(frozen=True, slots=True)
class Piece:
    """A node with the text that it stands in."""

    source: SourceText
    node: ast.AST

    @property
    def function(self) -> Function | None:
        return self.source.function(self.node)


def attributes_read(pieces: Iterable[Piece]) -> set[str]:
    """The names of attributes, of globals and of what is taken from around a function, that expressions depend on.

    Local names are followed to what the function computes them from.
    """
    found: set[str] = set()
    for piece in pieces:
        for part in backward_slice(piece.source, piece.node):
            for node in ast.walk(part):
                if (
                    isinstance(node, ast.Attribute)
                    and isinstance(node.ctx, ast.Load)
                    and not _is_method(piece.source, node)
                ):
                    found.add(node.attr)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and not _is_local(piece, node.id):
                    found.add(node.id)
    return found


def _is_method(source: SourceText, node: ast.Attribute) -> bool:
    outer = source.parents.get(node)
    return isinstance(outer, ast.Call) and outer.func is node and not isinstance(node.value, ast.Attribute)


def _is_local(piece: Piece, name: str) -> bool:
    function = piece.function
    if function is None:
        return False
    arguments = function.args
    given = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    kept = {n for each in ast.walk(function) if isinstance(each, (ast.Global, ast.Nonlocal)) for n in each.names}
    return name in (given | stored) - kept


def draws(piece: Piece) -> Iterator[ast.Call]:
    """The calls behind an expression, or in a function, that give another value each time: random draws and clocks."""
    whole = isinstance(piece.node, _FUNCTIONS)
    for part in [piece.node] if whole else backward_slice(piece.source, piece.node):
        for node in ast.walk(part):
            if isinstance(node, ast.Call) and _is_draw(node):
                yield node


def _is_draw(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in _CLOCKS:
        base, dot, _ = dotted_name(call.func).partition(".")
        return not dot or base in ("time", "datetime", "uuid", "os", "secrets")
    return name in _DRAWING


def is_torchs(call: ast.Call) -> bool:
    """Whether a draw is from torch's default generator, whose state a checkpoint puts back."""
    base = dotted_name(call.func).partition(".")[0]
    return base in ("torch", "F", "nn") and not any(keyword.arg == "generator" for keyword in call.keywords)


def changes(function: Function, names: set[str]) -> Iterator[ast.stmt]:
    """The statements of a function that change what one of these names holds beyond the call."""
    outer = {n for each in ast.walk(function) if isinstance(each, (ast.Global, ast.Nonlocal)) for n in each.names}
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            flat = [
                t
                for target in targets
                for t in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])
            ]
            if any(_holder(target, outer) in names for target in flat):
                yield node
        elif isinstance(node, ast.stmt) and not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            for call in _own_calls(node):
                if (
                    isinstance(call.func, ast.Attribute)
                    and _mutates(call.func.attr)
                    and _base(call.func.value) in names
                ):
                    yield node
                    break
                if getattr(call.func, "id", "") == "next" and call.args and _base(call.args[0]) in names:
                    yield node
                    break


def _own_calls(statement: ast.stmt) -> Iterator[ast.Call]:
    """The calls in a statement, those in the statements inside it left out."""
    stack: list[ast.AST] = list(ast.iter_child_nodes(statement))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.stmt):
            continue
        if isinstance(node, ast.Call):
            yield node
        stack.extend(ast.iter_child_nodes(node))


def _mutates(method: str) -> bool:
    return method in _MUTATORS or (method.endswith("_") and not method.endswith("__") and method != "requires_grad_")


def _holder(target: ast.AST, outer: set[str]) -> str:
    """What an assignment's target changes: "count" of ``self.count``, "keys" of ``self.keys[i]``; "" for a local name."""
    if isinstance(target, ast.Name):
        return target.id if target.id in outer else ""
    return _base(target)


def _base(node: ast.AST) -> str:
    while isinstance(node, (ast.Subscript, ast.Starred)):
        node = node.value
    if isinstance(node, ast.Attribute):
        return _base(node.value) if node.attr in ("data", "grad") else node.attr
    return node.id if isinstance(node, ast.Name) else ""


def function_of(site: Site) -> Piece | None:
    """The function that a site's code is of."""
    source = site.source
    if source is None or source.tree is None:
        return None
    node: ast.AST | None = source.function_at(site.code.co_firstlineno, site.code.co_name)
    if node is None and (inner := site.node()) is not None:
        node = source.function(inner)
    return Piece(source, node) if node is not None else None


def called_from(pieces: Iterable[Piece]) -> list[Piece]:
    """The functions given, and those of the same files that they call, by name alone."""
    found: list[Piece] = []
    todo = list(pieces)
    while todo and len(found) < 400:
        piece = todo.pop()
        if any(piece.node is each.node for each in found):
            continue
        found.append(piece)
        names = {
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for node in ast.walk(piece.node) if isinstance(node, ast.Call)
        }  # fmt: skip
        todo += [
            Piece(piece.source, node)
            for node in (ast.walk(piece.source.tree) if piece.source.tree is not None else ())
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            and node.name in names
            and node.name != "__init__"
        ]
    return found


def called_by(pieces: Iterable[Piece]) -> list[Piece]:
    """The functions of the same files that expressions, and what their functions compute them from, call by name."""
    parts = [Piece(piece.source, part) for piece in pieces for part in backward_slice(piece.source, piece.node)]
    given = {id(part.node) for part in parts}
    return [piece for piece in called_from(parts) if id(piece.node) not in given]
