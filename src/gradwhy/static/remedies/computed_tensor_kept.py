"""Keeps values without their graph in what is copied, copies weights alone, or uses the layer that can be copied."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import bound_names, called, definitions, dotted_name, targets
from gradwhy.source.text import SourceText, Span
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import indent_of

CAUSE = "computed-tensor-kept"
_NORMS = ("weight_norm", "spectral_norm")


def remedies(fault: Fault) -> Iterable[Fix]:
    yield from _parametrized(fault)
    yield from _kept_in_literal(fault)
    yield from _kept_in_attribute(fault)


def _fix(key: str, edits: Iterable[Edit], result: str) -> Fix:
    return Fix(title=Message(f"{CAUSE}.{key}", {"result": Code(result)}), applicability="unsafe", edits=tuple(edits))


def _parametrized(fault: Fault) -> Iterator[Fix]:
    """``nn.utils.weight_norm`` -> ``nn.utils.parametrizations.weight_norm``, wherever the file calls it."""
    source = fault.source
    if not any(isinstance(n, ast.Call) and called(n) in _NORMS for n in ast.walk(fault.node)):
        return
    tree = source.tree or ast.Module([], [])
    names = {n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in ast.walk(tree)}
    if names & {"remove_weight_norm", "remove_spectral_norm", "weight_g", "weight_v", "weight_orig"}:
        return
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and called(n) in _NORMS]
    edits = []
    for call in calls:
        name = dotted_name(call.func)
        owner, _, last = name.rpartition(".")
        if not owner or owner.endswith("parametrizations") or any(k.arg not in ("name", "dim") for k in call.keywords):
            return
        edits.append(replace(fault, call.func, f"{owner}.parametrizations.{last}"))
    if edits:
        yield _fix("fix-parametrization", edits, edits[0].new_text)


def _kept_in_literal(fault: Fault) -> Iterator[Fix]:
    """``{"power": power[0]}``: the value, and those that the same statement computed, go in detached."""
    source, node = fault.source, fault.node
    literal = source.parents.get(node)
    values = literal.values if isinstance(literal, ast.Dict) else getattr(literal, "elts", None)
    statement = source.parents.get(literal) if literal is not None else None
    if not isinstance(values, list) or not isinstance(statement, ast.Assign) or node not in values:
        return
    scope = source.function(node) or source.tree
    name = dotted_name(statement.targets[0])
    origin = _origin(scope, _root(node))
    if not name or scope is None or origin is None or _parts_used(scope, name, literal, node):
        return
    kept = [v for v in values if isinstance(v, (ast.Name, ast.Subscript)) and _origin(scope, _root(v)) is origin]
    edits = [_detached(fault, value) for value in kept]
    if node in kept:
        yield _fix("fix-detach", edits, f"{source.segment(node)}.detach()")


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _origin(scope: ast.AST | None, name: str) -> ast.AST | None:
    """The only statement that binds a name."""
    found = [node for bound, _, node in definitions(scope or ast.Module([], [])) if name in bound]
    return found[0] if len(found) == 1 and isinstance(found[0], ast.Assign) else None


def _parts_used(scope: ast.AST, name: str, literal: ast.AST | None, value: ast.AST) -> bool:
    """Whether the part in question is read out of the literal again, or one that can't be told."""
    key: object = None
    if isinstance(literal, ast.Dict) and isinstance(value, ast.expr):
        at = literal.keys[literal.values.index(value)]
        key = at.value if isinstance(at, ast.Constant) else None
    return any(
        isinstance(n, ast.Subscript) and dotted_name(n.value) == name
        and (key is None or not isinstance(n.slice, ast.Constant) or n.slice.value == key)
        for n in ast.walk(scope)
    )  # fmt: skip


def _detached(fault: Fault, node: ast.AST) -> Edit:
    span = fault.source.span(node)
    return replace(fault, Span(span.end_line, span.end_column, span.end_line, span.end_column), ".detach()")


def _kept_in_attribute(fault: Fault) -> Iterator[Fix]:
    """``self.features = ...`` that nothing reads is kept detached; where the loss needs it, the weights are copied instead."""
    source = fault.source
    statement = source.statement(fault.node)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Attribute):
        return
    attribute = statement.targets[0].attr
    if not _read(source, attribute):
        if isinstance(statement.value, (ast.Name, ast.Call, ast.Attribute, ast.Subscript)):
            yield _fix("fix-detach", [_detached(fault, statement.value)], f"self.{attribute}")
        return
    edits = _for_one_function(fault, statement, attribute)
    if edits:
        yield _fix("fix-detach", edits, f"self.{attribute} = {attribute}.detach()")
        return
    surface = fault.spot("surfaces")
    copy = (
        next((n for n in ast.walk(surface.node) if isinstance(n, ast.Call) and called(n) == "deepcopy"), None)
        if surface
        else None
    )
    holder = surface.source.statement(copy) if surface is not None and copy is not None else None
    if surface is None or copy is None or not isinstance(holder, ast.Assign) or len(copy.args) != 1:
        return
    names = {name.rpartition(".")[2] for t in targets(holder) for name in bound_names(t)}
    told = fault.args.get("name")
    owner = told.text.partition(".")[0] if isinstance(told, Code) else ""
    if owner != dotted_name(copy.args[0]).rpartition(".")[2]:
        return
    # Who reads the copy would get a dictionary where it expects a module.
    if isinstance(copy.args[0], (ast.Name, ast.Attribute)) and not any(_read(surface.source, name) for name in names):
        text = f"{surface.source.segment(copy.args[0])}.state_dict()"
        yield _fix("fix-weights", [replace(surface, copy.args[0], text)], f"copy.deepcopy({text})")


def _for_one_function(fault: Fault, statement: ast.Assign, attribute: str) -> list[Edit]:
    """``self.scores = ...`` that only the rest of the same block reads: it goes on under a local name, and what is kept has no
    graph."""
    source, target = fault.source, statement.targets[0]
    function, block = source.function(statement), source.block(statement)
    kept, span = dotted_name(target), source.span(statement)
    if (
        not isinstance(function, ast.FunctionDef)
        or len(statement.targets) != 1
        or kept != f"self.{attribute}"
        or not block
    ):
        return []
    below = {id(n) for part in block[block.index(statement) + 1 :] for n in ast.walk(part)}
    reads = []
    for node in ast.walk(source.tree or ast.Module([], [])):
        if isinstance(node, ast.Attribute) and node.attr == attribute and node is not target:
            if isinstance(node.ctx, ast.Load):
                reads.append(node)
            elif source.function(node) is function:
                return []
        if isinstance(node, (ast.Name, ast.arg)) and getattr(node, "id", getattr(node, "arg", "")) == attribute:
            return []
    if any(id(read) not in below or dotted_name(read) != kept for read in reads):
        return []
    alone = not source.line(span.end_line)[span.end_column - 1 :].strip()
    if not alone or source.line(span.line)[: span.column - 1].strip():
        return []
    line = f"\n{indent_of(source, span.line)}{kept} = {attribute}.detach()"
    edits = [replace(fault, target, attribute), *(replace(fault, read, attribute) for read in reads)]
    return [*edits, replace(fault, Span(span.end_line, span.end_column, span.end_line, span.end_column), line)]


def _read(source: SourceText, name: str) -> bool:
    return any(
        ((isinstance(n, ast.Attribute) and n.attr == name) or (isinstance(n, ast.Name) and n.id == name))
        and isinstance(n.ctx, ast.Load)
        for n in ast.walk(source.tree or ast.Module([], []))
    )  # fmt: skip
