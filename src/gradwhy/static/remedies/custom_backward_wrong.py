"""Gives back as many gradients as forward has inputs, None for what is no tensor; takes off a mark that isn't true."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import dotted_name
from gradwhy.source.text import Span
from gradwhy.static.leaves import end_of, inserted
from gradwhy.static.legacy_function import as_static
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import whole_lines_out

_LEAVING = frozenset({"data", "detach", "item", "numpy", "no_grad", "tolist"})


def remedies(fault: Fault) -> Iterable[Fix]:
    if fault.headline == "headline-count":
        yield from _count(fault)
    elif fault.headline == "headline-not-none":
        if isinstance(fault.source.parents.get(fault.node), ast.Tuple):
            title = Message("custom-backward-wrong.fix-none")
            yield Fix(title=title, applicability="safe", edits=(replace(fault, fault.node, "None"),))
    elif fault.headline == "headline-once":
        yield from _twice(fault)
    elif fault.headline == "headline-legacy":
        yield from _static(fault)


def _count(fault: Fault) -> Iterable[Fix]:
    """``return g`` -> ``return g, None`` where the last inputs need no gradient; surplus Nones go."""
    node, source = fault.node, fault.source
    want, got, plain = (fault.args.get(key) for key in ("want", "got", "plain"))
    function = source.function(node)
    if not isinstance(want, int) or not isinstance(got, int) or not isinstance(plain, int):
        return
    returns = [n for n in ast.walk(function) if isinstance(n, ast.Return)] if function is not None else []
    if len(returns) != 1 or returns[0].value is not node:
        return
    edit: Edit | None = None
    if got < want <= got + plain:
        edit = inserted(fault, end_of(source, node), ", None" * (want - got))
    elif isinstance(node, ast.Tuple) and want > 0 and len(node.elts) == got > want:
        surplus = node.elts[want:]
        if all(isinstance(part, ast.Constant) and part.value is None for part in surplus):
            edit = replace(fault, Span(*end_of(source, node.elts[want - 1]), *end_of(source, surplus[-1])), "")
    if edit is not None:
        title = Message("custom-backward-wrong.fix-count", {"want": want})
        yield Fix(title=title, applicability="safe", edits=(edit,))


def _twice(fault: Fault) -> Iterable[Fix]:
    """Without ``@once_differentiable``, where the backward keeps to operations that autograd records."""
    node, source = fault.node, fault.source
    function = source.parents.get(node)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or node not in function.decorator_list:
        return
    if any(isinstance(n, ast.Attribute) and n.attr in _LEAVING for n in ast.walk(function)):
        return
    span = source.span(node)
    if not source.line(span.line).strip().startswith("@"):
        return
    edits = [whole_lines_out(fault, span.line, span.end_line)]
    name = dotted_name(node)
    imports = [n for n in ast.walk(source.tree or ast.Module([], [])) if isinstance(n, ast.ImportFrom)]
    own = [n for n in imports if [a.asname or a.name for a in n.names] == [name] and n.lineno == n.end_lineno]
    uses = [n for n in ast.walk(source.tree or ast.Module([], [])) if isinstance(n, ast.Name) and n.id == name]
    if len(own) == 1 and len(uses) == 1 and source.line(own[0].lineno).strip() == source.segment(own[0]):
        edits.append(whole_lines_out(fault, own[0].lineno, own[0].lineno))
    title = Message("custom-backward-wrong.fix-once")
    yield Fix(title=title, applicability="unsafe", edits=tuple(edits))


def _static(fault: Fault) -> Iterable[Fix]:
    """The class of ``C(a)(x)``, or the one that the old ``forward`` stands in."""
    node, source = fault.node, fault.source
    inner = node.func if isinstance(node, ast.Call) else None
    name = dotted_name(inner.func) if isinstance(inner, ast.Call) else ""
    kinds = [n for n in ast.walk(source.tree or ast.Module([], [])) if isinstance(n, ast.ClassDef)]
    kind = next((k for k in kinds if k.name == name or node in k.body), None)
    edits = as_static(fault, kind) if kind is not None else []
    if kind is not None and edits:
        title = Message("custom-backward-wrong.fix-static", {"call": Code(f"{kind.name}.apply")})
        yield Fix(title=title, applicability="unsafe", edits=tuple(edits))
