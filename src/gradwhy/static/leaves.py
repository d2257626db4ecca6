"""Edits that make a tensor a leaf: the flag after the arithmetic, a Parameter around all of it, a copy without history."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradwhy.findings import Edit
from gradwhy.source.slicing import called, dotted_name
from gradwhy.source.text import SourceText, Span
from gradwhy.static.remedy import Written, replace
from gradwhy.static.rewrites import without_argument

FLAG = "requires_grad"
LEAF = ".detach().requires_grad_()"
_SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
MAKERS = frozenset({
    "arange", "as_tensor", "empty", "empty_like", "eye", "from_numpy", "full", "full_like", "linspace", "logspace", "normal",
    "ones", "ones_like", "rand", "rand_like", "randn", "randn_like", "tensor", "zeros", "zeros_like",
})  # fmt: skip
"""What makes a tensor without history."""


def last_name(node: ast.AST) -> str:
    """``c`` of ``a.b.c`` and of ``f(x).c``; "" where there is none."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_true(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def parameters_of(node: ast.AST) -> ast.expr | None:
    """``net`` of ``net.parameters()``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "parameters":
        return node.func.value if not node.args and not node.keywords else None
    return None


def end_of(source: SourceText, node: ast.AST) -> tuple[int, int]:
    span = source.span(node)
    return span.end_line, span.end_column


def start_of(source: SourceText, node: ast.AST) -> tuple[int, int]:
    span = source.span(node)
    return span.line, span.column


def inserted(where: Written, at: tuple[int, int], text: str) -> Edit:
    return replace(where, Span(*at, *at), text)


def with_suffix(where: Written, node: ast.expr, suffix: str) -> list[Edit]:
    """``node.suffix``, in parentheses where the suffix would bind to a part of it."""
    source = where.source
    if isinstance(node, _SIMPLE):
        return [inserted(where, end_of(source, node), suffix)]
    return [inserted(where, start_of(source, node), "("), inserted(where, end_of(source, node), f"){suffix}")]


def method_out(where: Written, call: ast.Call) -> Edit:
    """``x`` of ``x.method()``: from the dot on, so that parentheses around ``x`` stay."""
    source = where.source
    line, column = end_of(source, call.func)
    column -= len(last_name(call.func)) + 1
    span = Span(line, max(column, 1), *end_of(source, call))
    return replace(where, span, "")


def whole(source: SourceText, node: ast.AST) -> ast.expr | None:
    """The whole value that an expression is the core of: methods called on it, arithmetic around it."""
    found: ast.AST = node
    while True:
        parent = source.parents.get(found)
        around = isinstance(parent, (ast.Attribute, ast.BinOp, ast.UnaryOp))
        if not around and not (isinstance(parent, ast.Call) and parent.func is found):
            return found if isinstance(found, ast.expr) else None
        assert parent is not None
        found = parent


@dataclass(frozen=True, slots=True)
class _Flagged:
    """The call that makes a leaf within an expression, and what says that it requires grad."""

    call: ast.Call
    kind: str
    keyword: ast.keyword | None = None


def _flagged(source: SourceText, value: ast.expr) -> Iterator[_Flagged]:
    for node in _core(value):
        if not isinstance(node, ast.Call):
            continue
        name = called(node)
        keyword = next((k for k in node.keywords if k.arg == FLAG), None)
        if name == "Parameter":
            if len(node.args) == 1 and (keyword is None or is_true(keyword.value)):
                yield _Flagged(node, "parameter")
        elif name == "requires_grad_":
            if isinstance(node.func, ast.Attribute) and (not node.args or is_true(node.args[0])) and keyword is None:
                yield _Flagged(node, "method")
        elif keyword is not None and is_true(keyword.value) and name in MAKERS:
            yield _Flagged(node, "maker", keyword)


def _core(value: ast.expr) -> Iterator[ast.expr]:
    """The expressions that a chain of methods and arithmetic starts from, itself included; no arguments."""
    yield value
    if isinstance(value, ast.BinOp):
        yield from _core(value.left)
        yield from _core(value.right)
    elif isinstance(value, ast.UnaryOp):
        yield from _core(value.operand)
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if called(value) != "Parameter" and dotted_name(value.func.value) not in ("torch", "np", "numpy"):
            yield from _core(value.func.value)
    elif isinstance(value, (ast.Attribute, ast.Subscript)):
        yield from _core(value.value)


def flag_last(where: Written, value: ast.expr) -> list[Edit]:
    """``torch.randn(3, requires_grad=True) * 0.1`` -> ``(torch.randn(3) * 0.1).requires_grad_(True)``, and
    ``nn.Parameter(x).to(d)`` -> ``nn.Parameter(x.to(d))``; [] where no part of the value was made a leaf, or several."""
    source = where.source
    found = list(_flagged(source, value))
    if len(found) != 1 or found[0].call is value or not _rest_is_plain(value, found[0].call):
        return []
    call = found[0].call
    if found[0].kind == "parameter":
        return _parameter_last(where, value, call)
    if found[0].kind == "method":
        out = method_out(where, call)
    else:
        assert found[0].keyword is not None
        out = without_argument(where, call, found[0].keyword.value)
    return [*with_suffix(where, value, ".requires_grad_(True)"), out]


def _parameter_last(where: Written, value: ast.expr, call: ast.Call) -> list[Edit]:
    source = where.source
    inner = call.args[0]
    opening = source.segment(call.func)
    simple = isinstance(inner, _SIMPLE)
    tail = Span(*end_of(source, inner), *end_of(source, call))
    bracketed = not call.keywords and source.between(tail).count(")") > 1
    if bracketed:
        end_line, end_column = end_of(source, call)
        tail, simple = Span(end_line, end_column - 1, end_line, end_column), True
    edits = [replace(where, tail, "" if simple else ")")]
    if start_of(source, call) == start_of(source, value):
        edits += [] if simple else [inserted(where, start_of(source, inner), "(")]
    elif bracketed:
        out = Span(*start_of(source, call), *end_of(source, call.func))
        opened = Span(out.line, out.column, out.end_line, out.end_column + 1)
        edits += [inserted(where, start_of(source, value), f"{opening}("), replace(where, opened, "")]
    else:
        out = Span(*start_of(source, call), *start_of(source, inner))
        edits += [inserted(where, start_of(source, value), f"{opening}("), replace(where, out, "" if simple else "(")]
    return [*edits, inserted(where, end_of(source, value), ")")]


def _rest_is_plain(value: ast.expr, call: ast.Call) -> bool:
    """Whether arithmetic goes on with numbers and plain tensors alone: no call of what may be a module."""
    inside = set(map(id, ast.walk(call)))
    for node in ast.walk(value):
        if isinstance(node, ast.BinOp):
            for side in (node.left, node.right):
                if any(inner is call for inner in ast.walk(side)):
                    continue
                if any(
                    isinstance(n, ast.Call) and id(n) not in inside and not _is_plain_call(n) for n in ast.walk(side)
                ):
                    return False
    return True


def _is_plain_call(call: ast.Call) -> bool:
    root = dotted_name(call.func).partition(".")[0]
    return root in ("torch", "math", "np", "numpy", "float", "int", "len")


def own_name(source: SourceText, value: ast.expr) -> str:
    """``w`` where the statement is ``w = w.to(d)``: a name that goes on standing for what is made of it."""
    statement = source.statement(value)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or statement.value is not value:
        return ""
    core: ast.expr = value
    while isinstance(core, ast.Call) and isinstance(core.func, ast.Attribute):
        core = core.func.value
    target = statement.targets[0]
    return core.id if isinstance(core, ast.Name) and isinstance(target, ast.Name) and core.id == target.id else ""
