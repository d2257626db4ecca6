"""Asks for the gradient of the whole tensor and takes the part from the result; or of all that is trained."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import bound_names, called, dotted_name, names_read, targets
from gradwhy.source.text import Span
from gradwhy.static import slices
from gradwhy.static.first_use import use_before
from gradwhy.static.leaf_writes import torch_name
from gradwhy.static.leaves import end_of, inserted, start_of
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import whole_lines_out, without_argument


def remedies(fault: Fault) -> Iterable[Fix]:
    if fault.headline == "headline-inputs":
        yield from _without_inputs(fault)
    elif fault.headline == "headline":
        yield from _whole(fault)
        yield from _parts(fault)
        yield from _sliced_first(fault)


def _whole(fault: Fault) -> Iterable[Fix]:
    """``grad(y, x[i])[0]`` -> ``grad(y, x)[0][i]``."""
    node, source = fault.node, fault.source
    call = source.parents.get(node)
    if isinstance(call, (ast.List, ast.Tuple)) and len(call.elts) == 1:
        call = source.parents.get(call)
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name) or called(call) != "grad":
        return
    taken = source.parents.get(call) if call is not None else None
    first = isinstance(taken, ast.Subscript) and isinstance(taken.slice, ast.Constant) and taken.slice.value == 0
    if not first or taken is None or not _is_used_whole(fault, node.value.id, node):
        return
    index = source.segment(node)[len(source.segment(node.value)) :]
    edits = (replace(fault, node, node.value.id), inserted(fault, end_of(source, taken), index))
    title = Message("wrong-list-entry.fix", {"name": Code(node.value.id)})
    yield Fix(title=title, applicability="unsafe", edits=edits)


def _is_used_whole(fault: Fault, name: str, node: ast.AST) -> bool:
    """Whether the function gives the whole tensor to something that it calls before."""
    scope = fault.source.function(node) or fault.source.tree
    line = getattr(node, "lineno", 0)
    return any(
        isinstance(n, ast.Call) and n.lineno < line and any(isinstance(a, ast.Name) and a.id == name for a in n.args)
        and called(n) not in ("len", "range", "print", "enumerate", "zip")
        for n in ast.walk(scope or ast.Module([], []))
    )  # fmt: skip


def _without_inputs(fault: Fault) -> Iterable[Fix]:
    """``loss.backward(inputs=...)`` -> ``loss.backward()``."""
    for call in ast.walk(fault.node):
        keyword = next((k for k in call.keywords if k.arg == "inputs"), None) if isinstance(call, ast.Call) else None
        if keyword is not None and isinstance(call, ast.Call):
            edit = without_argument(fault, call, keyword.value)
            title = Message("wrong-list-entry.fix-inputs", {"call": Code(fault.source.segment(call.func))})
            yield Fix(title=title, applicability="unsafe", edits=(edit,))
            return


def _parts(fault: Fault) -> Iterable[Fix]:
    """``p = torch.cat([x, t], dim=1); grad(u, p)[0]`` -> ``torch.cat(grad(u, [x, t]), dim=1)``: what was joined after the
    outputs were computed is asked for in its parts."""
    source = fault.source
    joined, entry = _joined(fault)
    call = source.parents.get(entry) if entry is not None else None
    if isinstance(call, (ast.List, ast.Tuple)):
        call = source.parents.get(call) if len(call.elts) == 1 else None
    taken = source.parents.get(call) if call is not None else None
    first = isinstance(taken, ast.Subscript) and isinstance(taken.slice, ast.Constant) and taken.slice.value == 0
    if joined is None or not isinstance(call, ast.Call) or called(call) != "grad" or taken is None or not first:
        return
    parts, rest = joined.args[0], _rest(fault, joined)
    if not isinstance(parts, (ast.List, ast.Tuple)) or not all(isinstance(e, ast.Name) for e in parts.elts) or not rest:
        return
    given = source.parents.get(entry) if entry is not None else None
    asked = given if isinstance(given, (ast.List, ast.Tuple)) else entry
    assert asked is not None
    edits = [
        inserted(fault, start_of(source, taken), f"{source.segment(joined.func)}("),
        replace(fault, asked, source.segment(parts)),
        replace(fault, Span(*end_of(source, call), *end_of(source, taken)), rest),
    ]
    title = Message("wrong-list-entry.fix-parts", {"names": Code(source.segment(parts))})
    yield Fix(title=title, applicability="unsafe", edits=tuple(edits))


def _sliced_first(fault: Fault) -> Iterable[Fix]:
    """``u = net(p); x, t = p[:, :1], p[:, 1:]`` -> the slices first, and ``net(torch.cat([x, t], dim=1))``: all parts of a tensor
    that were taken of it only after it had gone into the network."""
    source = fault.source
    statement, torch = source.statement(fault.node), torch_name(source)
    block = source.block(statement) if statement is not None else []
    if statement is None or not block or not torch or not slices.of(statement):
        return
    at = block.index(statement)
    whole = slices.of(statement)[0].whole
    uses = [(i, n) for i, part in enumerate(block[:at]) for n in _takes(part, whole)]
    if len(uses) != 1 or (source.line(statement.lineno).count(";")):
        return
    first, given = uses[0]
    taken = [part for part in block[first + 1 :] if slices.of(part) and slices.of(part)[0].whole == whole]
    parts = [each for part in taken for each in slices.of(part)]
    joined = slices.joined(parts)
    between = block[first + 1 : block.index(taken[-1]) + 1] if taken else []
    names = {each.name for each in parts}
    read = {name for part in [block[first], *(b for b in between if b not in taken)] for name in names_read(part)}
    if not joined or names & read or any(whole in bound_names(t) for part in between for t in targets(part)):
        return
    start = Span(block[first].lineno, 1, block[first].lineno, 1)
    lines = [source.line(n) for part in taken for n in range(part.lineno, (part.end_lineno or part.lineno) + 1)]
    edits = [
        replace(fault, start, "".join(f"{line}\n" for line in lines)),
        replace(fault, given, f"{torch}.{joined}"),
        *(whole_lines_out(fault, part.lineno, part.end_lineno or part.lineno) for part in taken),
    ]
    title = Message("wrong-list-entry.fix-first", {"names": Code(", ".join(each.name for each in parts))})
    yield Fix(title=title, applicability="unsafe", edits=tuple(edits))


def _takes(statement: ast.stmt, whole: str) -> list[ast.expr]:
    """Where a statement that binds something gives the whole tensor to a call."""
    if not isinstance(statement, ast.Assign):
        return []
    calls = [n for n in ast.walk(statement.value) if isinstance(n, ast.Call)]
    return [a for call in calls for a in call.args if isinstance(a, ast.Name) and a.id == whole]


def _joined(fault: Fault) -> tuple[ast.Call | None, ast.expr | None]:
    """(``torch.cat([x, t])``, the entry of ``grad`` that it is or that names it)."""
    source = fault.source
    asked = fault.spot("asked", "surfaces")
    if asked is None or asked.file != fault.file:
        return None, None
    statement = source.statement(asked.node)
    calls = (
        [n for n in ast.walk(statement) if isinstance(n, ast.Call) and called(n) == "grad"]
        if statement is not None
        else []
    )
    if statement is None or len(calls) != 1 or len(calls[0].args) < 2:
        return None, None
    entry: ast.expr = calls[0].args[1]
    if isinstance(entry, (ast.List, ast.Tuple)) and len(entry.elts) == 1:
        entry = entry.elts[0]
    value: ast.AST | None = entry
    if isinstance(entry, ast.Name):
        use = use_before(source, statement, entry.id)
        value = getattr(use.binding, "value", None) if use is not None and use.how == "assigned" else None
    known = isinstance(value, ast.Call) and dotted_name(value.func) == "torch.cat" and value.args
    return (value, entry) if known and isinstance(value, ast.Call) else (None, None)


def _rest(fault: Fault, joined: ast.Call) -> str:
    """``, dim=1)`` of ``torch.cat([x, t], dim=1)``."""
    given = [*joined.args[1:], *(k.value for k in joined.keywords)]
    if len(given) != 1 or any(k.arg not in ("dim", "axis") for k in joined.keywords):
        return ""
    return f", dim={fault.source.segment(given[0])})"
