"""Rewrites a ``torch.autograd.Function`` of the old style, with state in ``self``, as one of static methods."""

from __future__ import annotations

import ast

from gradwhy.findings import Edit
from gradwhy.source.slicing import called, dotted_name
from gradwhy.source.text import Span
from gradwhy.static.leaves import end_of, inserted, start_of
from gradwhy.static.remedy import Written, replace
from gradwhy.static.rewrites import indent_of, whole_lines_out


def as_static(where: Written, kind: ast.ClassDef) -> list[Edit]:
    """``C(a)(x)`` -> ``C.apply(x, a)``, with ``forward(ctx, x, a)``; [] where the class does more than keep what it is given."""
    methods = {n.name: n for n in kind.body if isinstance(n, ast.FunctionDef)}
    forward, backward, constructor = methods.get("forward"), methods.get("backward"), methods.get("__init__")
    kept = _kept(constructor) if constructor is not None else []
    calls = _calls(where, kind)
    if forward is None or backward is None or kept is None or calls is None or set(methods) - _KNOWN:
        return []
    if any(m.decorator_list or not _is_plain(m) for m in (forward, backward)):
        return []
    edits: list[Edit] = []
    if constructor is not None:
        edits.append(_without(where, kind, constructor))
    first = forward.body[0]
    given = f", {', '.join(kept)}" if kept else ""
    edits.append(inserted(where, end_of(where.source, forward.args.args[-1]), given))
    indent = indent_of(where.source, first.lineno)
    if kept:
        edits.append(inserted(where, (first.lineno, 1), "".join(f"{indent}ctx.{name} = {name}\n" for name in kept)))
    for method in (forward, backward):
        start = (method.lineno, 1)
        edits.append(inserted(where, start, f"{indent_of(where.source, method.lineno)}@staticmethod\n"))
        edits += _with_ctx(where, method)
    edits += _returns(where, backward, len(kept))
    return [
        edit
        for edit in [*edits, *calls]
        if edit.new_text or (edit.line, edit.column) != (edit.end_line, edit.end_column)
    ]


_KNOWN = {"__init__", "forward", "backward"}


def _is_plain(method: ast.FunctionDef) -> bool:
    arguments = method.args
    more = (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs, *arguments.defaults)
    return not any(more) and len(arguments.args) > 1 and arguments.args[0].arg == "self"


def _kept(constructor: ast.FunctionDef) -> list[str] | None:
    """The parameters, where each is kept under its own name and nothing else is done."""
    arguments = constructor.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        return None
    names = [a.arg for a in arguments.args[1:]]
    kept: list[str] = []
    for statement in constructor.body:
        if isinstance(statement, ast.Expr) and "super" in {called(n) for n in ast.walk(statement)}:
            continue
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        value = statement.value if isinstance(statement, ast.Assign) else None
        if target is None or not isinstance(value, ast.Name) or dotted_name(target) != f"self.{value.id}":
            return None
        kept.append(value.id)
    return names if sorted(kept) == sorted(names) else None


def _without(where: Written, kind: ast.ClassDef, method: ast.FunctionDef) -> Edit:
    """The method's lines out, with the blank lines after it."""
    index = kind.body.index(method)
    last = kind.body[index + 1].lineno - 1 if index + 1 < len(kind.body) else method.end_lineno or method.lineno
    return whole_lines_out(where, method.lineno, last)


def _with_ctx(where: Written, method: ast.FunctionDef) -> list[Edit]:
    own: list[ast.AST] = [method.args.args[0]]
    own += [n for n in ast.walk(method) if isinstance(n, ast.Name) and n.id == "self"]
    edits = []
    for node in own:
        line, column = start_of(where.source, node)
        edits.append(replace(where, Span(line, column, line, column + len("self")), "ctx"))
    return edits


def _returns(where: Written, backward: ast.FunctionDef, more: int) -> list[Edit]:
    edits: list[Edit] = []
    for node in ast.walk(backward):
        if isinstance(node, ast.Return) and node.value is not None and more:
            line, column = end_of(where.source, node.value)
            bracketed = isinstance(node.value, ast.Tuple) and where.source.segment(node.value).startswith("(")
            edits.append(inserted(where, (line, column - bracketed), ", None" * more))
    return edits


def _calls(where: Written, kind: ast.ClassDef) -> list[Edit] | None:
    """The edits of all uses, None where the class is used in another way than ``C(a)(x)``."""
    source = where.source
    edits: list[Edit] = []
    for node in ast.walk(source.tree or ast.Module([], [])):
        if not isinstance(node, ast.Name) or node.id != kind.name or not isinstance(node.ctx, ast.Load):
            continue
        made = source.parents.get(node)
        call = source.parents.get(made) if made is not None else None
        if (
            not isinstance(made, ast.Call)
            or made.func is not node
            or not isinstance(call, ast.Call)
            or call.func is not made
        ):
            return None
        if made.keywords or call.keywords or any(isinstance(a, ast.Starred) for a in (*made.args, *call.args)):
            return None
        texts = [source.segment(a) for a in (*call.args, *made.args)]
        edits.append(replace(where, call, f"{kind.name}.apply({', '.join(texts)})"))
    return edits or None
