"""Writes in place, put as computations of new tensors: ``y += x`` as ``y = y + x``, ``relu_`` as ``relu``."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from gradwhy.findings import Edit
from gradwhy.source.slicing import called, definitions, dotted_name
from gradwhy.source.text import SourceText, Span
from gradwhy.static.rebinding import may_bind, read_after
from gradwhy.static.remedy import Fault, Written, replace
from gradwhy.static.rewrites import indent_of, without_argument

_WITHOUT = frozenset({
    "abs", "acos", "add", "addcdiv", "addcmul", "addmm", "asin", "atan", "ceil", "clamp", "clamp_max",
    "clamp_min", "clip", "cos", "cumsum", "div", "divide", "erf", "exp", "expm1", "floor", "index_add",
    "index_copy", "index_fill", "index_put", "lerp", "log", "log1p", "log2", "logit", "masked_fill",
    "masked_scatter", "mul", "multiply", "nan_to_num", "neg", "pow", "reciprocal", "relu", "round", "rsqrt",
    "scatter", "scatter_add", "sigmoid", "sin", "sqrt", "square", "sub", "subtract", "tanh", "true_divide",
    "trunc", "elu", "leaky_relu", "selu", "celu", "threshold", "hardtanh", "dropout", "alpha_dropout", "softplus",
})  # fmt: skip
"""Functions whose name with a "_" writes in place, and without it gives a new tensor of the same values (torch.Tensor)."""

_SPACES = frozenset({"torch", "F", "functional", "nn.functional", "torch.nn.functional", "torch.functional"})
_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@", ast.FloorDiv: "//",
    ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_BINDS_TIGHTER = (ast.Mult, ast.Div, ast.MatMult, ast.FloorDiv, ast.Mod, ast.Pow)
_FLAG_AT = {
    "ReLU": 0, "ReLU6": 0, "SELU": 0, "SiLU": 0, "Mish": 0, "Hardswish": 0, "Hardsigmoid": 0, "LeakyReLU": 1, "ELU": 1,
    "CELU": 1, "Dropout": 1, "Dropout1d": 1, "Dropout2d": 1, "Dropout3d": 1, "AlphaDropout": 1, "Threshold": 2,
    "relu": 1, "relu6": 1, "selu": 1, "silu": 1, "mish": 1, "hardswish": 1, "hardsigmoid": 1, "leaky_relu": 2, "elu": 2,
    "celu": 2, "dropout": 3, "threshold": 3,
}  # fmt: skip
"""Which positional argument is ``inplace`` (torch.nn, torch.nn.functional)."""


_EMPTY = frozenset({
    "zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "new_zeros", "new_ones",
    "new_empty", "new_full", "clone", "rand", "randn",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Edits, the key of the text that says what they do ("fix-new"), and the new program text to name in it."""

    key: str
    result: str
    edits: tuple[Edit, ...]


def rewritten(fault: Fault) -> Rewrite | None:
    """The write at fault as a computation of a new tensor, or None where it isn't sure that the program goes on with that."""
    node, source = fault.node, fault.source
    statement = source.statement(node)
    if statement is None:
        return None
    if isinstance(statement, ast.AugAssign) and not isinstance(node, ast.Call):
        if isinstance(statement.target, ast.Subscript):
            return _parts(fault, statement, statement.target)
        return _augmented(fault, statement)
    if isinstance(node, ast.Subscript) and isinstance(statement, ast.Assign) and node in statement.targets:
        return _parts(fault, statement, node)
    if isinstance(node, ast.stmt):
        calls = [n for n in ast.walk(node) if isinstance(n, ast.Call) and _is_write(n)]
        if len(calls) != 1:
            return None
        node = calls[0]
    if not isinstance(node, ast.Call):
        return None
    return _flag(fault, node) or _out(fault, node) or _method(fault, node, statement)


def _is_write(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return (name.endswith("_") and name[:-1] in _WITHOUT) or any(k.arg in ("inplace", "out") for k in call.keywords)


def _augmented(fault: Fault, statement: ast.AugAssign) -> Rewrite | None:
    """``y += x`` -> ``y = y + x``."""
    source, name = fault.source, dotted_name(statement.target)
    operator = operator_of(statement)
    if not name or not operator or not may_bind(source, statement, name):
        return None
    target, whole, value = source.span(statement.target), source.span(statement), source.span(statement.value)
    head = source.line(target.end_line)[target.end_column - 1 :]
    written = head.lstrip().removeprefix(f"{operator}=")
    if written == head.lstrip() or not written.strip() or written.lstrip().startswith(("\\", "#")):
        return None
    start = target.end_column + len(head) - len(written.lstrip())
    bare = (value.line, value.column) == (target.end_line, start)
    wrap = bare and _needs_brackets(statement)
    text = f"{name} = {name} {operator} {'(' if wrap else ''}"
    edits = [replace(fault, Span(whole.line, whole.column, target.end_line, start), text)]
    if wrap:
        edits.append(replace(fault, Span(whole.end_line, whole.end_column, whole.end_line, whole.end_column), ")"))
    result = f"{name} = {name} {operator} {'(' if wrap else ''}{source.segment(statement.value)}{')' if wrap else ''}"
    return Rewrite("fix-new", result, tuple(edits))


def operator_of(statement: ast.AugAssign) -> str:
    """ "+" of ``+=``, "" for one that tensors don't have."""
    return _OPERATORS.get(type(statement.op), "")


def _needs_brackets(statement: ast.AugAssign) -> bool:
    value = statement.value
    if isinstance(value, ast.BinOp):
        return not (isinstance(statement.op, (ast.Add, ast.Sub)) and isinstance(value.op, _BINDS_TIGHTER))
    return isinstance(value, (ast.IfExp, ast.BoolOp, ast.Compare, ast.Lambda, ast.UnaryOp, ast.NamedExpr))


def base_of(node: ast.AST) -> str:
    """``x`` of ``x[i][j]``, "" where it is no name."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return dotted_name(node)


def _parts(fault: Fault, statement: ast.stmt, target: ast.Subscript) -> Rewrite | None:
    """A write to a part: what was saved is a copy of the part that was read, or the write goes to a copy of the whole."""
    source, base = fault.source, base_of(target)
    if not base or base.rpartition(".")[2] in ("data", "grad"):
        return None
    saved = fault.spot("saved")
    if saved is not None and saved.file == fault.file and source.function(saved.node) is source.function(statement):
        reads = _parts_read(saved.node, base)
        if reads and not _made_empty(source, statement, base):
            # What made it may have saved it as well.
            return None
        if reads:
            edits = [_after(fault, read, ".clone()") for read in reads]
            return Rewrite("fix-copy", f"{source.segment(reads[0])}.clone()", tuple(edits))
        if base in {dotted_name(n) for n in ast.walk(statement) if n is not target.value} and _in_loop(
            source, statement
        ):
            return None
    at = source.span(statement)
    if not may_bind(source, statement, base) or source.line(at.line)[: at.column - 1].strip():
        return None
    start = Span(at.line, at.column, at.line, at.column)
    text = f"{base} = {base}.clone()"
    return Rewrite("fix-copy", text, (replace(fault, start, f"{text}\n{indent_of(source, at.line)}"),))


def _made_empty(source: SourceText, statement: ast.stmt, base: str) -> bool:
    """Whether a tensor was made of nothing but a shape, or is a copy: no operation has saved it then."""
    scope = source.function(statement) or source.tree
    found = [
        value for bound, value, node in definitions(scope or ast.Module([], []))
        if base in bound and isinstance(node, ast.Assign) and any(dotted_name(t) == base for t in node.targets)
    ]  # fmt: skip
    return bool(found) and all(isinstance(value, ast.Call) and called(value) in _EMPTY for value in found)


def _in_loop(source: SourceText, node: ast.AST) -> bool:
    function = source.function(node)
    return any(isinstance(o, (ast.For, ast.While)) and source.function(o) is function for o in source.enclosing(node))


def _parts_read(node: ast.AST, base: str) -> list[ast.Subscript]:
    """The parts of ``base`` that an expression reads, the outermost of each."""
    found: list[ast.Subscript] = []
    todo: list[ast.AST] = [node]
    while todo:
        inner = todo.pop()
        if isinstance(inner, ast.Subscript) and isinstance(inner.ctx, ast.Load) and base_of(inner) == base:
            found.append(inner)
        else:
            todo += ast.iter_child_nodes(inner)
    return sorted(found, key=lambda n: (n.lineno, n.col_offset))


def _after(where: Written, node: ast.AST, text: str) -> Edit:
    span = where.source.span(node)
    return replace(where, Span(span.end_line, span.end_column, span.end_line, span.end_column), text)


def _flag(fault: Fault, call: ast.Call) -> Rewrite | None:
    """The call without ``inplace=True``."""
    flag = _flagged(call)
    if flag is None:
        own = _layer_called(fault.source, call)
        return _flag(fault, own) if own is not None else None
    source = fault.source
    edits = [without_argument(fault, call, flag)]
    parent = source.parents.get(call)
    name = dotted_name(call.args[0]) if call.args else ""
    if isinstance(parent, ast.Expr):
        if not name or call.args[0] is flag or not may_bind(source, parent, name):
            return None
        span = source.span(call)
        edits.append(replace(fault, Span(span.line, span.column, span.line, span.column), f"{name} = "))
    elif _result_unused(source, call):
        return None
    return Rewrite("fix-flag", source.segment(call), tuple(edits))


def _flagged(call: ast.Call) -> ast.expr | None:
    """The argument ``inplace=True``."""
    for keyword in call.keywords:
        if keyword.arg == "inplace":
            return keyword.value if _true(keyword.value) else None
    at = _FLAG_AT.get(call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", ""))
    if at is None or len(call.args) != at + 1 or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    return call.args[at] if _true(call.args[at]) else None


def _true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _layer_called(source: SourceText, call: ast.Call) -> ast.Call | None:
    """``self.act(x)``: what made ``self.act``, or its first layer where that is a sequence, if that writes to ``x``."""
    name = dotted_name(call.func)
    owner = next((o for o in source.enclosing(call) if isinstance(o, ast.ClassDef)), None)
    within = owner if owner is not None and name.startswith("self.") else source.tree
    made = [
        n.value
        for n in (ast.walk(within) if within is not None else ())
        if isinstance(n, ast.Assign) and any(name and dotted_name(t) == name for t in n.targets)
    ]
    first: ast.expr | None = made[0] if len(made) == 1 else None
    while isinstance(first, ast.Call) and dotted_name(first.func).endswith("Sequential"):
        first = first.args[0] if first.args else None
    return first if isinstance(first, ast.Call) and _flagged(first) is not None else None


def _result_unused(source: SourceText, call: ast.Call) -> bool:
    """Whether the layer that a call makes is somewhere called for what it writes alone: ``self.act(x)`` as a statement."""
    statement = source.statement(call)
    names = {dotted_name(t).rpartition(".")[2] for t in getattr(statement, "targets", ())} - {""}
    return any(
        isinstance(n, ast.Expr) and isinstance(n.value, ast.Call)
        and dotted_name(n.value.func).rpartition(".")[2] in names
        for n in ast.walk(source.tree or ast.Module([], []))
    )  # fmt: skip


def _out(fault: Fault, call: ast.Call) -> Rewrite | None:
    """``torch.stack(a, out=y)`` -> ``y = torch.stack(a)``."""
    source = fault.source
    given = next((k.value for k in call.keywords if k.arg == "out"), None)
    name = dotted_name(given) if given is not None else ""
    parent = source.parents.get(call)
    if given is None or not isinstance(parent, ast.Expr) or not name or not may_bind(source, parent, name):
        return None
    span = source.span(call)
    start = replace(fault, Span(span.line, span.column, span.line, span.column), f"{name} = ")
    return Rewrite("fix-new", f"{name} = …", (start, without_argument(fault, call, given)))


def _method(fault: Fault, call: ast.Call, statement: ast.stmt) -> Rewrite | None:
    """``x.clamp_(0)`` -> ``x.clamp(0)``; as a statement ``x = x.clamp(0)``."""
    source = fault.source
    chain, written, whole = chain_of(source, call)
    if not chain or written is None:
        return None
    edits = [renamed(fault, func) for func in chain]
    result = applied(source, whole, edits)
    name = dotted_name(written)
    parent = source.parents.get(whole)
    if isinstance(parent, ast.Expr):
        if isinstance(written, ast.Subscript):
            return _parts(fault, parent, written)
        if not name or not may_bind(source, parent, name):
            return None
        span = source.span(whole)
        edits.append(replace(fault, Span(span.line, span.column, span.line, span.column), f"{name} = "))
        return Rewrite("fix-new", f"{name} = {result}", tuple(edits))
    bound = [dotted_name(t) for t in statement.targets] if isinstance(statement, ast.Assign) else []
    if isinstance(written, ast.Call):
        return Rewrite("fix-new", result, tuple(edits))
    if not name or ("." in name and name not in bound):
        # What the object keeps would no longer be changed.
        return None
    if name not in bound and not isinstance(statement, ast.Return) and read_after(source, statement, name):
        return None
    return Rewrite("fix-new", result, tuple(edits))


def chain_of(source: SourceText, call: ast.Call) -> tuple[list[ast.Attribute], ast.expr | None, ast.Call]:
    """The names of the in-place calls in a row, what they write to, and the whole of them."""
    top = call
    while (
        isinstance(attribute := source.parents.get(top), ast.Attribute)
        and isinstance(outer := source.parents.get(attribute), ast.Call)
        and outer.func is attribute
        and attribute.attr.endswith("_")
    ):
        top = outer
    names: list[ast.Attribute] = []
    inner: ast.expr = top
    while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr.endswith("_"):
        if inner.func.attr[:-1] not in _WITHOUT:
            return [], None, top
        names.append(inner.func)
        if dotted_name(inner.func.value) in _SPACES:
            return names, inner.args[0] if inner.args else None, top
        inner = inner.func.value
    return names, inner, top


def renamed(where: Written, func: ast.Attribute) -> Edit:
    span = where.source.span(func)
    return replace(where, Span(span.end_line, span.end_column - 1, span.end_line, span.end_column), "")


def applied(source: SourceText, node: ast.AST, edits: Iterable[Edit]) -> str:
    """The text of a node on one line after edits that take single characters away."""
    span = source.span(node)
    if span.line != span.end_line:
        return "…"
    text = source.line(span.line)
    for edit in sorted(edits, key=lambda e: -e.column):
        text = text[: edit.column - 1] + edit.new_text + text[edit.end_column - 1 :]
    return text[span.column - 1 : span.end_column - 1 - sum(e.end_column - e.column for e in edits)]
