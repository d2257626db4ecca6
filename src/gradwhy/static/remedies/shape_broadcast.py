"""Takes away the dimensions of length one, where the value is made that has them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called
from gradwhy.static import origins
from gradwhy.static.remedy import Fault, replace

# Calls that take the shape for what it is, and would not after the edit.
_SHAPED = frozenset(
    {"squeeze", "flatten", "view", "reshape", "gather", "argmax", "size", "shape", "topk", "permute", "max"}
)


def remedies(fault: Fault) -> Iterable[Fix]:
    """``pred - target`` of (N, 1) and (N,): ``pred = net(x).squeeze(-1)``, where ``pred`` is assigned."""
    node = fault.node
    if fault.headline != "headline-spread" or not isinstance(node, ast.BinOp):
        return
    left, right = (_shape(fault.args.get(side)) for side in ("left", "right"))
    if left is None or right is None or len(left) == len(right):
        return
    short, long, side = (left, right, node.right) if len(left) < len(right) else (right, left, node.left)
    ones = len(long) - len(short)
    if not short or long != (*short, *(1,) * ones):
        return
    found = origins.origin(fault.source, side)
    if found is None or not _sure(fault, node, side, found[1]):
        return
    made = found[0]
    text = fault.source.segment(made) + (".squeeze(-1)" if ones == 1 else f".flatten({len(short) - 1})")
    title = Message("shape-broadcast.fix-spread", {"result": Code(text)})
    yield Fix(title=title, applicability="unsafe", edits=(replace(fault, made, text),))


def _shape(given: object) -> tuple[int, ...] | None:
    """(64, 1) of "(64, 1)"."""
    try:
        value = ast.literal_eval(given) if isinstance(given, str) else None
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, tuple) and all(isinstance(size, int) for size in value) else None


def _sure(fault: Fault, node: ast.BinOp, long: ast.expr, uses: set[ast.Name]) -> bool:
    """Whether the difference stands alone, and nothing reads the value in its old shape."""
    source = fault.source
    statement = source.statement(node)
    name = origins.named(long)
    if statement is None or name is None:
        return False
    known = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {name.id}
    named = {n.func.id for n in ast.walk(statement) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    held = {n.value.id for n in ast.walk(statement) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}
    other = (
        {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} - known - named
    )
    if other - {one for one in held if one in ("torch", "F", "nn", "math", "self")}:
        return False
    return not any(_takes_shape(fault, use) for use in uses)


def _takes_shape(fault: Fault, use: ast.Name) -> bool:
    outer = fault.source.parents.get(use)
    if isinstance(outer, ast.Subscript) and outer.value is use:
        return True
    if isinstance(outer, ast.Attribute):
        call = fault.source.parents.get(outer)
        has_dim = isinstance(call, ast.Call) and call.func is outer and bool([*call.args, *call.keywords])
        return outer.attr in _SHAPED or (has_dim and outer.attr in ("sum", "mean", "softmax", "norm", "std"))
    return isinstance(outer, ast.Call) and called(outer) in ("cat", "stack", "cross_entropy", "gather")
