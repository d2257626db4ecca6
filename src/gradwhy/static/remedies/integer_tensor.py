"""Makes a floating-point tensor of what is to require grad."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import called, dotted_name
from gradwhy.static.leaves import FLAG
from gradwhy.static.remedy import Fault, Spot, replace
from gradwhy.static.rewrites import with_keyword

_TYPED = frozenset({"arange", "full", "tensor", "zeros", "ones", "empty", "zeros_like", "ones_like"})


def remedies(fault: Fault) -> Iterable[Fix]:
    """``dtype=torch.float32`` where the tensor is made for the flag; ``x = x.float().requires_grad_()`` for an image of bytes."""
    node, source = fault.node, fault.source
    if isinstance(node, ast.Call) and called(node) in _TYPED and dotted_name(node.func).partition(".")[0] == "torch":
        parent = source.parents.get(node)
        flagged = any(k.arg == FLAG for k in node.keywords) or (
            isinstance(parent, ast.Attribute) and parent.attr == "requires_grad_"
        )
        if flagged or called(parent) == "Parameter":
            edit = with_keyword(fault, node, "dtype", "torch.float32")
            title = Message("integer-tensor.fix", {"result": Code("dtype=torch.float32")})
            yield Fix(title=title, applicability="unsafe", edits=(edit,))
            return
    at = fault.spot("surfaces")
    if at is not None and fault.args.get("dtype") == "uint8":
        yield from _converted(at)


def _converted(at: Spot) -> Iterable[Fix]:
    statement = at.source.statement(at.node)
    name = ""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        name = dotted_name(target.value) if isinstance(target, ast.Attribute) and target.attr == FLAG else ""
    elif isinstance(statement, ast.Expr) and called(statement.value) == "requires_grad_":
        name = dotted_name(statement.value.func.value)  # type: ignore[attr-defined]
    if statement is not None and name.isidentifier():
        edit = replace(at, statement, f"{name} = {name}.float().requires_grad_()")
        title = Message("integer-tensor.fix-convert", {"result": Code(edit.new_text)})
        yield Fix(title=title, applicability="unsafe", edits=(edit,))
