"""Sets the flag before the value is used, or gives the optimizer what is released later too."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import called, dotted_name, names_read
from gradwhy.source.text import Span
from gradwhy.static.first_use import binds, flagged_before_use, on_line_before, use_before
from gradwhy.static.leaves import end_of, last_name, start_of
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import whole_lines_out

_COPIES = frozenset({"detach", "clone"})


def remedies(fault: Fault) -> Iterable[Fix]:
    """``x.requires_grad_()`` moves above the first statement that reads ``x`` and does not make it; where ``x`` came as an
    argument, its caller sets the flag."""
    if fault.headline in ("headline-optimizer", "headline-collected"):
        yield from _all_of_them(fault)
        return
    source = fault.source
    flag = source.statement(fault.node)
    name = _flagged(flag) if flag is not None else ""
    if flag is None or not name or flag.end_lineno is None or isinstance(source.parents.get(flag), ast.If):
        return
    use = use_before(source, flag, name)
    first = use.first if use is not None else _first_in_block(fault, flag, name)
    out = whole_lines_out(fault, flag.lineno, flag.end_lineno)
    if first is not None:
        edits: list[Edit] = on_line_before(fault, first, source.segment(flag))
        title = Message("requires-grad-late.fix", {"use": Code(_head(fault, first))})
    else:
        edits = flagged_before_use(fault, flag, name)
        title = Message("requires-grad-late.fix-caller", {"name": Code(name)})
    if edits and len(source.block(flag)) > 1:
        yield Fix(title=title, applicability="unsafe", edits=(*edits, out))


def _first_in_block(fault: Fault, flag: ast.stmt, name: str) -> ast.stmt | None:
    """For names that no function binds, such as ``self.x``: the first use in the flag's own block."""
    first: ast.stmt | None = None
    block = fault.source.block(flag)
    for statement in block[: block.index(flag)] if flag in block else []:
        if binds(statement, name):
            first = None
        elif first is None and name in names_read(statement):
            first = statement
    return first


def _head(fault: Fault, statement: ast.stmt) -> str:
    return fault.source.segment(statement).partition("\n")[0]


def _flagged(node: ast.AST) -> str:
    """The name whose flag is set; of ``x = x.detach().requires_grad_()`` too."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Attribute):
            return dotted_name(target.value)
        return name if (name := _flagged(node.value)) == dotted_name(target) else ""
    if isinstance(node, ast.Expr):
        return _flagged(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        value = node.func.value
        while called(value) in _COPIES and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            value = value.func.value
        return dotted_name(value)
    return dotted_name(node.value) if isinstance(node, ast.Attribute) else ""


# -- what the optimizer gets


def _all_of_them(fault: Fault) -> Iterable[Fix]:
    """Without the filter: step() passes over parameters whose gradient is None (torch/optim/optimizer.py)."""
    for node in ast.walk(fault.node):
        edit = _unfiltered(fault, node)
        if edit is not None:
            title = Message("requires-grad-late.fix-collected", {"result": Code(edit.new_text)})
            yield Fix(title=title, applicability="unsafe", edits=(edit,))
            return


def _unfiltered(fault: Fault, node: ast.AST) -> Edit | None:
    source = fault.source
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
        loop = node.generators[0]
        if len(loop.ifs) != 1 or not isinstance(loop.target, (ast.Name, ast.Tuple)) or not _is_flag(loop.ifs[0]):
            return None
        if isinstance(loop.target, ast.Name) and last_name(node.elt) == loop.target.id:
            return replace(fault, node, f"list({source.segment(loop.iter)})")
        opening, closing = ("[", "]") if isinstance(node, ast.ListComp) else ("(", ")")
        kept = Span(*start_of(source, node.elt), *end_of(source, loop.iter))
        return replace(fault, node, f"{opening}{source.between(kept)}{closing}")
    if called(node) == "filter" and isinstance(node, ast.Call) and len(node.args) == 2:
        test = node.args[0]
        if isinstance(test, ast.Lambda) and _is_flag(test.body):
            return replace(fault, node, source.segment(node.args[1]))
    return None


def _is_flag(test: ast.expr) -> bool:
    return isinstance(test, ast.Attribute) and test.attr == "requires_grad" and isinstance(test.value, ast.Name)
