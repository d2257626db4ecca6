"""Computes a shared value anew in each turn, joins two passes over one graph, or stops one of them at the shared value."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import bound_names, called, definitions, dotted_name, names_read, targets
from gradwhy.source.text import SourceText, Span
from gradwhy.static import sharing
from gradwhy.static.remedy import Fault, Spot, replace
from gradwhy.static.rewrites import indent_of, whole_lines_out, with_keyword
from gradwhy.static.turns import moved_into, turn_of

_NOT_COMPUTED = frozenset(
    [
        "randn",
        "rand",
        "randint",
        "zeros",
        "ones",
        "tensor",
        "arange",
        "linspace",
        "eye",
        "empty",
        "full",
        "manual_seed",
        "load",
    ]
)
_BETWEEN = frozenset({"step", "zero_grad", "clip_grad_norm_", "clip_grad_value_", "unscale_", "update"})


def remedies(fault: Fault) -> Iterable[Fix]:
    source, surface = fault.source, fault.spot("surfaces")
    statement = source.statement(fault.node)
    if statement is None:
        return
    if isinstance(fault.node, ast.Call) and called(fault.node) == "grad":
        edit = with_keyword(fault, fault.node, "retain_graph", "True")
        yield _fix("fix-keep", fault, [edit])
        return
    if surface is None or surface.file != fault.file:
        yield from _anew_in_training(fault)
        return
    if isinstance(fault.node, ast.Call) and called(fault.node) == "backward":
        yield from _joined(fault, fault.node, surface)
        yield from sharing.detached_for_the_other(fault, surface)
        return
    yield from _cached_in_turn(fault, surface)
    yield from _moved(fault, statement, surface)
    yield from sharing.detached_for_the_other(fault, surface)
    yield from sharing.stored_without_graph(fault, statement, surface)
    yield from _anew_in_training(fault)


def _fix(key: str, fault: Fault, edits: list[Edit], **names: str) -> Fix:
    facts = {name: Code(text) for name, text in names.items()}
    return Fix(title=Message(f"freed-graph-reused.{key}", facts), applicability="unsafe", edits=tuple(edits))


def _moved(fault: Fault, statement: ast.stmt, surface: Spot) -> Iterable[Fix]:
    """What was computed before the loop moves into it."""
    source = fault.source
    turn = turn_of(source, surface.node)
    if turn is None:
        return
    scope = source.function(turn) or source.tree
    made = [statement]
    if statement in set(ast.walk(turn)):
        # The line that uses it: the names that it reads, as far as they are computed outside.
        made = [
            node for bound, value, node in definitions(scope or ast.Module([], []))
            if bound & names_read(fault.node) and isinstance(node, ast.Assign) and _computed(value)
            and node not in set(ast.walk(turn))
        ]  # fmt: skip
    if len(made) == 1:
        edits = moved_into(fault, made[0], turn)
        if edits:
            yield _fix("fix-move", fault, edits, name=", ".join(sorted(bound_names(targets(made[0])[0]))))


def _computed(value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp) or (isinstance(value, ast.Call) and called(value) not in _NOT_COMPUTED)


def _joined(fault: Fault, first: ast.Call, surface: Spot) -> Iterable[Fix]:
    """Two passes of one step become one over the sum of the losses."""
    source = fault.source
    second = next((n for n in ast.walk(surface.node) if isinstance(n, ast.Call) and called(n) == "backward"), None)
    one, other = source.statement(first), source.statement(second) if second is not None else None
    if second is None or one is None or other is None or source.function(one) is not source.function(other):
        return
    if one is other:
        yield from _summed_in_loop(fault, first, one)
        return
    block = source.block(one)
    if not block or other not in block or block.index(one) > block.index(other):
        return
    between = block[block.index(one) + 1 : block.index(other)]
    if any(called(n) in _BETWEEN - {"update"} for part in between for n in ast.walk(part) if isinstance(n, ast.Call)):
        return
    a, b = _loss(first), _loss(second)
    rebound = {n for part in between for t in targets(part) for n in bound_names(t)}
    plain = a and b and a != b and a not in rebound and not _grads_read(between)
    if plain and one.end_lineno is not None and source.line(one.lineno).strip() == source.segment(one):
        assert isinstance(second.func, ast.Attribute)
        edits = [
            whole_lines_out(fault, one.lineno, one.end_lineno),
            replace(fault, second.func.value, f"({a} + {b})"),
        ]
        yield _fix("fix-sum", fault, edits, result=f"({a} + {b}).backward()")
        return
    yield _fix("fix-keep", fault, [with_keyword(fault, first, "retain_graph", "True")])


def _loss(call: ast.Call) -> str:
    """The name that ``backward()`` is called on without any argument."""
    alone = isinstance(call.func, ast.Attribute) and not call.args and not call.keywords
    return dotted_name(call.func.value) if alone and isinstance(call.func, ast.Attribute) else ""


def _grads_read(statements: Iterable[ast.AST]) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr == "grad" for part in statements for n in ast.walk(part))


def _summed_in_loop(fault: Fault, call: ast.Call, statement: ast.stmt) -> Iterable[Fix]:
    """A loop over the losses of one step adds them up, and one pass follows it."""
    source, loss = fault.source, _loss(call)
    loop = source.parents.get(statement)
    if not loss or not isinstance(loop, ast.For) or loop.orelse or statement not in loop.body:
        return
    calls = {called(n) for n in ast.walk(loop) if isinstance(n, ast.Call)}
    leaves = any(isinstance(n, (ast.Break, ast.Continue, ast.Return)) for n in ast.walk(loop))
    used = {n.id for n in ast.walk(source.tree or ast.Module([], [])) if isinstance(n, ast.Name)}
    total = next((name for name in ("total", "total_loss", "loss_sum", "summed") if name not in used), "")
    if calls & _BETWEEN - {"update"} or leaves or _grads_read([loop]) or not total or isinstance(statement, ast.With):
        return
    end, indent = source.span(loop), indent_of(source, loop.lineno)
    if source.line(end.end_line)[end.end_column - 1 :].strip() and not _comment(source, end):
        return
    length = len(source.line(end.end_line)) + 1
    edits = [
        replace(fault, Span(loop.lineno, 1, loop.lineno, 1), f"{indent}{total} = 0\n"),
        replace(fault, statement, f"{total} = {total} + {loss}"),
    ]
    if statement is loop.body[-1]:
        edits[1] = replace(fault, statement, f"{total} = {total} + {loss}\n{indent}{total}.backward()")
        if _comment(source, source.span(statement)):
            return
    else:
        edits.append(replace(fault, Span(end.end_line, length, end.end_line, length), f"\n{indent}{total}.backward()"))
    yield _fix("fix-sum", fault, edits, result=f"{total}.backward()")


def _comment(source: SourceText, span: Span) -> bool:
    return source.line(span.end_line)[span.end_column - 1 :].lstrip().startswith("#")


def _cached_in_turn(fault: Fault, surface: Spot) -> Iterator[Fix]:
    """``with parametrize.cached():`` around the loop goes into it."""
    source = fault.source
    for outer in source.enclosing(surface.node):
        if not isinstance(outer, ast.With) or not _cached(outer) or len(outer.body) != 1:
            continue
        loop = outer.body[0]
        if isinstance(loop, ast.For) and not loop.orelse and loop.lineno == outer.lineno + 1:
            heads = [source.line(outer.lineno).strip(), source.line(loop.lineno).strip()]
            if all(head.endswith(":") for head in heads) and loop.body[0].lineno > loop.lineno:
                edits = [_head(fault, outer.lineno, heads[1]), _head(fault, loop.lineno, heads[0])]
                yield _fix("fix-cached", fault, edits, name=heads[0])
        return


def _cached(block: ast.With) -> bool:
    call = block.items[0].context_expr
    return len(block.items) == 1 and isinstance(call, ast.Call) and called(call) == "cached"


def _head(fault: Fault, line: int, text: str) -> Edit:
    """Another head on the line of a compound statement."""
    indent = indent_of(fault.source, line)
    return replace(fault, Span(line, len(indent) + 1, line, len(fault.source.line(line)) + 1), text)


def _anew_in_training(fault: Fault) -> Iterator[Fix]:
    """``if key not in self.cache:`` -> ``if self.training or key not in self.cache:`` in a module."""
    source = fault.source
    for outer in source.enclosing(fault.node):
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        if isinstance(outer, ast.If) and _asks_cache(outer.test) and _in_module(source, outer):
            test = source.segment(outer.test)
            yield _fix("fix-training", fault, [replace(fault, outer.test, f"self.training or {test}")])
            return


def _asks_cache(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    if isinstance(test.ops[0], ast.NotIn):
        return dotted_name(test.comparators[0]).startswith("self.")
    none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
    return isinstance(test.ops[0], ast.Is) and none and dotted_name(test.left).startswith("self.")


def _in_module(source: SourceText, node: ast.AST) -> bool:
    owner = next((o for o in source.enclosing(node) if isinstance(o, ast.ClassDef)), None)
    return owner is not None and any(dotted_name(b).rpartition(".")[2] == "Module" for b in owner.bases)
