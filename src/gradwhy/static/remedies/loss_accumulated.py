"""Keeps values without their graphs, or begins the sum anew for each backward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import bound_names, definitions, dotted_name, names_read, targets
from gradwhy.source.text import SourceText, Span
from gradwhy.static.numbers import given_for, is_number
from gradwhy.static.rebinding import read_after
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import SIMPLE, detached, indent_of, whole_lines_out, without_argument

_ADDING = ("append", "extend", "add", "appendleft", "update", "insert", "push")


def remedies(fault: Fault) -> Iterable[Fix]:
    """What is kept is kept without its graph; a sum that goes backward itself is reset, or gives way to the new loss."""
    source = fault.source
    statement = source.statement(fault.node)
    if statement is None:
        return
    kept = _kept_by_call(source, fault.node)
    if kept is None and fault.headline == "headline":
        yield from _sum_that_goes_backward(fault, statement)
        return
    value = kept if kept is not None else getattr(statement, "value", None)
    if not isinstance(value, ast.expr) or not (kept is not None or isinstance(statement, (ast.Assign, ast.AugAssign))):
        return
    if kept is None and any(_goes_backward(source, dotted_name(t)) for t in targets(statement)):
        return
    if _is_tensor(source, value):
        edits = detached(fault, value)
        yield Fix(
            title=Message("loss-accumulated.fix", {"result": Code(_detached_text(source, value))}),
            applicability="safe",
            edits=tuple(edits),
        )
        return
    given = _given_by_callers(source, value)
    if given:
        edits = [edit for each in given for edit in detached(fault, each)]
        title = Message("loss-accumulated.fix", {"result": Code(_detached_text(source, given[0]))})
        yield Fix(title=title, applicability="safe", edits=tuple(edits))


def _given_by_callers(source: SourceText, value: ast.expr) -> list[ast.expr]:
    """Where some callers give numbers and some tensors: the tensors, one of each call."""
    function = source.function(value)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or is_number(source, value):
        return []
    parameters = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)} - {"self"}
    calls = [each for each in given_for(source, function, names_read(value) & parameters) if each]
    tensors = [[given for given in each if not is_number(source, given)] for each in calls]
    found = [each for each in tensors if each]
    if len(found) == len(calls) or any(len(each) != 1 or not isinstance(each[0], SIMPLE) for each in found):
        return []
    return [each[0] for each in found if not _ends_without_graph(each[0])]


def _detached_text(source: SourceText, value: ast.expr) -> str:
    text = " ".join(source.segment(value).split())
    return f"{text}.detach()" if isinstance(value, SIMPLE) else f"({text}).detach()"


def _kept_by_call(source: SourceText, node: ast.AST) -> ast.expr | None:
    """What ``x.append(value)`` takes, where the node is that call, its value or stands in either."""
    for outer in (node, *source.enclosing(node)):
        if isinstance(outer, ast.stmt) and not isinstance(outer, ast.Expr):
            return None
        call = outer.value if isinstance(outer, ast.Expr) else outer
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _ADDING:
            wanted = 2 if call.func.attr == "insert" else 1
            return call.args[-1] if len(call.args) == wanted and not call.keywords else None
    return None


def _is_tensor(source: SourceText, value: ast.expr) -> bool:
    """Whether a value may be called ``detach()`` on: it isn't a container or a number, whoever calls the function."""
    if isinstance(value, (ast.Tuple, ast.List, ast.Dict, ast.ListComp, ast.GeneratorExp, ast.Starred)):
        return False
    if _is_list(source, value) or is_number(source, value) or _ends_without_graph(value):
        return False
    function = source.function(value)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return True
    parameters = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)} - {"self"}
    names = names_read(value)
    for bound, made_of, _ in definitions(function):
        if bound & names:
            names |= names_read(made_of)
    wanted = names & parameters
    calls = list(given_for(source, function, wanted)) if wanted else []
    numbers = [all(is_number(source, given) for given in each) for each in calls if each]
    return not any(numbers) and not (bool(function.args.kwarg) and any(_some_number(source, each) for each in calls))


def _is_list(source: SourceText, value: ast.expr) -> bool:
    scope = source.function(value) or source.tree
    kinds = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp)
    return isinstance(value, ast.Name) and any(
        value.id in bound and isinstance(node, ast.Assign)
        and (isinstance(made, kinds) or (isinstance(made, ast.Call) and dotted_name(made.func) in ("list", "dict", "tuple")))
        for bound, made, node in definitions(scope or ast.Module([], []))
    )  # fmt: skip


def _some_number(source: SourceText, given: list[ast.expr]) -> bool:
    return any(is_number(source, each) for each in given)


def _ends_without_graph(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in ("detach", "numpy")
    )


def _goes_backward(source: SourceText, name: str) -> bool:
    return bool(name) and any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "backward"
        and dotted_name(n.func.value) == name
        for n in ast.walk(source.tree or ast.Module([], []))
    )  # fmt: skip


def _sum_that_goes_backward(fault: Fault, statement: ast.stmt) -> Iterable[Fix]:
    """``total = total + loss`` and ``total.backward()`` in the same function."""
    source = fault.source
    found = _added(statement)
    surface = fault.spot("surfaces")
    if found is None or surface is None or surface.file != fault.file:
        return
    total, term = found
    call = _backward(surface.node, total)
    failing = source.statement(call) if call is not None else None
    if call is None or failing is None or source.function(failing) is not source.function(statement):
        return
    turn = _loops(source, failing)
    inner = _loops(source, statement)
    if not turn or not inner:
        return
    if inner[0] is turn[0] and source.block(failing) is source.block(statement):
        yield from _backward_of_the_term(fault, statement, call, total, term)
    elif inner[0] is turn[0]:
        yield from _reset_after(fault, failing, turn[0], total)
    elif turn[0] in inner:
        yield from _reset_before(fault, turn[0], total)


def _added(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """(``total``, ``loss``) of ``total += loss`` and ``total = total + loss``."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        name = dotted_name(statement.target)
        return (name, statement.value) if name else None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.value, ast.BinOp):
        name, value = dotted_name(statement.targets[0]), statement.value
        if name and isinstance(value.op, ast.Add):
            if dotted_name(value.left) == name:
                return name, value.right
            if dotted_name(value.right) == name:
                return name, value.left
    return None


def _backward(node: ast.AST, total: str) -> ast.Call | None:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "backward":
            return inner if dotted_name(inner.func.value) == total else None
    return None


def _loops(source: SourceText, statement: ast.stmt) -> list[ast.AST]:
    function = source.function(statement)
    found = [o for o in source.enclosing(statement) if isinstance(o, (ast.For, ast.While))]
    return [loop for loop in found if source.function(loop) is function]


def _backward_of_the_term(
    fault: Fault, statement: ast.stmt, call: ast.Call, total: str, term: ast.expr
) -> Iterable[Fix]:
    """The new loss goes backward alone, and its value is added."""
    source = fault.source
    block = source.block(statement)
    at = source.statement(call)
    if not isinstance(term, ast.Name) or not isinstance(call.func, ast.Attribute) or not block or at is None:
        return
    between = block[block.index(statement) + 1 : block.index(at)] if at in block else []
    if block.index(at) < block.index(statement) or term.id in {
        n for s in between for t in targets(s) for n in bound_names(t)
    }:
        return
    edits = [*detached(fault, term), replace(fault, call.func.value, term.id)]
    edits += [without_argument(fault, call, k.value) for k in call.keywords if k.arg == "retain_graph"][:1]
    title = Message("loss-accumulated.fix-loss", {"loss": Code(term.id), "name": Code(total)})
    yield Fix(title=title, applicability="unsafe", edits=tuple(edits))


def _start(source: SourceText, within: ast.AST, total: str) -> ast.stmt | None:
    """The only other binding of the sum in the function: ``total = 0`` or ``total = torch.zeros(1)``."""
    scope = source.function(within) or source.tree
    found = [
        node for bound, value, node in definitions(scope)
        if total in bound and isinstance(node, ast.Assign) and total not in names_read(value)
    ] if scope is not None else []  # fmt: skip
    if len(found) != 1 or len(found[0].targets) != 1 or not isinstance(found[0].targets[0], (ast.Name, ast.Attribute)):
        return None
    value = found[0].value
    zeros = isinstance(value, ast.Call) and dotted_name(value.func).rpartition(".")[2] in ("zeros", "tensor")
    return found[0] if zeros or isinstance(value, ast.Constant) else None


def _reset_after(fault: Fault, failing: ast.stmt, loop: ast.AST, total: str) -> Iterable[Fix]:
    """The sum begins anew behind the step, in the branch that has the backward pass."""
    source = fault.source
    start, block = _start(source, failing, total), source.block(failing)
    branch = source.parents.get(failing)
    if start is None or not block or not isinstance(branch, ast.If) or source.parents.get(branch) is not loop:
        return
    rest = getattr(loop, "body", [])[getattr(loop, "body", []).index(branch) + 1 :]
    if any(total in names_read(part) for part in rest):
        return
    last = block[-1]
    end = source.span(last)
    text = f"\n{indent_of(source, last.lineno)}{source.segment(start)}"
    if source.line(end.end_line)[end.end_column - 1 :].strip() or "\n" in source.segment(start):
        return
    edit = replace(fault, Span(end.end_line, end.end_column, end.end_line, end.end_column), text)
    title = Message("loss-accumulated.fix-reset", {"name": Code(source.segment(start))})
    yield Fix(title=title, applicability="unsafe", edits=(edit,))


def _reset_before(fault: Fault, loop: ast.AST, total: str) -> Iterable[Fix]:
    """``total = 0`` moves from before the loop to its beginning."""
    source = fault.source
    start = _start(source, loop, total)
    if start is None or not isinstance(loop, (ast.For, ast.While)) or read_after(source, loop, total):
        return
    block = source.block(loop)
    if not block or start not in block or block.index(start) > block.index(loop) or start.lineno != start.end_lineno:
        return
    first = loop.body[0]
    if first.lineno == loop.lineno or source.line(start.lineno).strip() != source.segment(start):
        return
    at = Span(first.lineno, 1, first.lineno, 1)
    text = f"{indent_of(source, first.lineno)}{source.segment(start)}\n"
    title = Message("loss-accumulated.fix-reset", {"name": Code(source.segment(start))})
    edits = (whole_lines_out(fault, start.lineno, start.lineno), replace(fault, at, text))
    yield Fix(title=title, applicability="unsafe", edits=edits)
