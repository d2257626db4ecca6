"""Hands a state on without its history, where one backward pass ends and the next begins."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import called, definitions, dotted_name, names_read, targets
from gradwhy.source.text import SourceText, Span
from gradwhy.static.fresh import base_of
from gradwhy.static.leaf_writes import torch_name
from gradwhy.static.rebinding import may_bind
from gradwhy.static.remedy import Fault, Spot, Written, replace
from gradwhy.static.rewrites import detached, indent_of

_TENSORS = frozenset({
    "zeros", "ones", "randn", "rand", "full", "empty", "zeros_like", "ones_like", "randn_like", "clone",
    "new_zeros", "detach", "stack",
})  # fmt: skip


def remedies(fault: Fault) -> Iterable[Fix]:
    """A state is detached where it is taken over; one that is zeroed in place is made anew."""
    source = fault.source
    statement = source.statement(fault.node)
    if statement is None:
        return
    zeroed = _zeroed(fault, statement)
    if zeroed is not None:
        yield _fix(zeroed.new_text, [zeroed])
        return
    surface = fault.spot("surfaces")
    if not isinstance(statement, ast.Assign) or surface is None:
        return
    if _stored_after_the_pass(source, statement, surface):
        edits = detached(fault, statement.value)
        yield _fix(f"{source.segment(statement.targets[0])} = ….detach()", edits)
        return
    states = [part for target in statement.targets for part in _flat(target) if dotted_name(part)]
    reads = {dotted_name(state): _reads(source, statement, dotted_name(state)) for state in states}
    reads = {name: found for name, found in reads.items() if found}
    if not reads:
        return
    half = _half_detached(fault, reads)
    if half:
        yield _fix(half[0].new_text, half)
        return
    kinds = {name: _kind(fault, name) for name in reads}
    if not all(kinds.values()):
        return
    once = _once_a_pass(fault, statement, surface)
    if once and not any(_begins_otherwise(source, statement, name, found) for name, found in reads.items()):
        edits = [
            replace(fault, read, _detached(source.segment(read), kinds[name]))
            for name, found in reads.items() for read in found
        ]  # fmt: skip
        yield _fix(edits[0].new_text, edits)
        return
    edit = _after_the_pass(fault, statement, surface, kinds)
    if edit is None and once and not any(_read_below(source, statement, name) for name in reads):
        edit = _appended(fault, statement, kinds)
    if edit is None and not once:
        edit = _from_outside(fault, statement, surface, kinds)
    if edit is not None:
        yield _fix(edit.new_text.strip().partition("\n")[0], [edit])


def _fix(result: str, edits: list[Edit]) -> Fix:
    title = Message("hidden-state-carried.fix", {"result": Code(result)})
    return Fix(title=title, applicability="unsafe", edits=tuple(edits))


def _zeroed(fault: Fault, statement: ast.stmt) -> Edit | None:
    """``h.zero_()`` -> ``h = torch.zeros_like(h)``: the history goes with the values."""
    source, torch = fault.source, torch_name(fault.source)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not torch:
        return None
    name = dotted_name(call.func.value)
    if call.func.attr != "zero_" or not name or not may_bind(source, statement, name):
        return None
    return replace(fault, call, f"{name} = {torch}.zeros_like({name})")


def _stored_after_the_pass(source: SourceText, statement: ast.Assign, surface: Spot) -> bool:
    """``bank[i] = 0.9 * bank[i] + 0.1 * z`` behind ``backward()``: no loss of this turn comes from it."""
    target = statement.targets[0]
    failing = source.statement(surface.node) if surface.source is source else None
    block = source.block(statement)
    if not isinstance(target, ast.Subscript) or failing is None or not block or failing not in block:
        return False
    return base_of(target) in names_read(statement.value) and block.index(failing) < block.index(statement)


def _flat(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _flat(part)
    else:
        yield target


def _reads(source: SourceText, statement: ast.stmt, name: str) -> list[ast.expr]:
    """Where the function reads the state before the statement gives it the next value: the state itself, not its shape."""
    scope = source.function(statement) or source.tree
    loops = _loops(source, statement)
    within = loops[0] if loops and "." not in name else scope
    found: list[ast.expr] = []
    for node in ast.walk(within) if within is not None else ():
        if dotted_name(node) != name or not isinstance(node, (ast.Name, ast.Attribute)):
            continue
        parent = source.parents.get(node)
        asks = isinstance(parent, (ast.Attribute, ast.Compare, ast.Subscript))
        if isinstance(node.ctx, ast.Load) and not asks and node.lineno <= (statement.end_lineno or statement.lineno):
            found.append(node)
    return sorted(found, key=lambda n: (n.lineno, n.col_offset))


def _loops(source: SourceText, node: ast.AST) -> list[ast.For | ast.While]:
    function = source.function(node)
    found = [o for o in source.enclosing(node) if isinstance(o, (ast.For, ast.While))]
    return [loop for loop in found if source.function(loop) is function]


def _values(source: SourceText, near: ast.AST, name: str) -> list[ast.expr]:
    """What the state is bound to elsewhere: in the function, or anywhere in the file where it is an attribute."""
    scope = source.function(near) or source.tree
    if "." not in name:
        found = definitions(scope) if scope is not None else iter(())
        return [
            value for bound, value, node in found
            if name in bound and isinstance(node, ast.Assign) and any(dotted_name(t) == name for t in node.targets)
        ]  # fmt: skip
    attribute = name.rpartition(".")[2]
    return [
        value for n in ast.walk(source.tree or ast.Module([], []))
        if isinstance(n, (ast.Assign, ast.AnnAssign)) and n.value is not None
        for target in targets(n) for part, value in _pairs(target, n.value)
        if isinstance(part, ast.Attribute) and part.attr == attribute
    ] + [
        n.args[1] for n in ast.walk(source.tree or ast.Module([], []))
        if isinstance(n, ast.Call) and called(n) == "register_buffer" and len(n.args) > 1
        and isinstance(n.args[0], ast.Constant) and n.args[0].value == attribute
    ]  # fmt: skip


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """``self.a, self.b = 0.9, 0.0``: each name with its own value."""
    both = (target, value)
    if all(isinstance(each, (ast.Tuple, ast.List)) for each in both):
        for part, given in zip(getattr(target, "elts", []), getattr(value, "elts", [])):
            yield from _pairs(part, given)
    else:
        yield target, value


def _kind(fault: Fault, name: str) -> str:
    """ "tensor" or "tuple", "" where it can't be told."""
    source = fault.source
    told = fault.args.get("name")
    said = told.text.rpartition(".")[2] if isinstance(told, Code) else ""
    last = name.rpartition(".")[2]
    if said.startswith(f"{last}["):
        return "tuple"
    found = {_kind_of(source, value) for value in _values(source, fault.node, name)} - {""}
    if len(found) == 1:
        return found.pop()
    if found:
        return ""
    layers = {
        called(n).removesuffix("Cell") for n in ast.walk(source.tree or ast.Module([], [])) if isinstance(n, ast.Call)
    }
    layers &= {"LSTM", "GRU", "RNN"}
    if layers:
        # An LSTM's state is a pair (torch.nn.LSTM).
        return "tuple" if layers == {"LSTM"} else "" if "LSTM" in layers else "tensor"
    return "tensor" if said == last and not _unpacked(source, name) else ""


def _kind_of(source: SourceText, value: ast.expr) -> str:
    if isinstance(value, (ast.Tuple, ast.List)):
        return "tuple"
    if isinstance(value, ast.IfExp):
        return _kind_of(source, value.body) or _kind_of(source, value.orelse)
    if not isinstance(value, ast.Call):
        return "tensor" if isinstance(value, ast.BinOp) else ""
    if called(value) in _TENSORS:
        return "tensor"
    made = [
        n
        for n in ast.walk(source.tree or ast.Module([], []))
        if isinstance(n, ast.FunctionDef) and n.name == called(value)
    ]
    kinds = {
        _kind_of(source, r.value) for f in made for r in ast.walk(f) if isinstance(r, ast.Return) and r.value is not None
    } - {""}  # fmt: skip
    return kinds.pop() if len(kinds) == 1 else ""


def _unpacked(source: SourceText, name: str) -> bool:
    """Whether a line takes the state apart: ``h, c = state``."""
    return any(
        isinstance(n, ast.Assign) and dotted_name(n.value) == name and isinstance(n.targets[0], (ast.Tuple, ast.List))
        for n in ast.walk(source.tree or ast.Module([], []))
    )


def _detached(text: str, kind: str) -> str:
    return f"{text}.detach()" if kind == "tensor" else f"tuple(part.detach() for part in {text})"


def _begins_otherwise(source: SourceText, statement: ast.stmt, name: str, reads: list[ast.expr]) -> bool:
    """Whether the state may be None, or a number, where it is read: at the start, or for a caller that gives none."""
    starts = [v.value for v in _values(source, statement, name) if isinstance(v, ast.Constant)]
    scope = source.function(statement) or source.tree
    if not starts:
        return isinstance(scope, ast.FunctionDef) and name in {
            a.arg for a in ast.walk(scope.args) if isinstance(a, ast.arg)
        }
    asked = any(
        isinstance(n, ast.Compare) and dotted_name(n.left) == name and n.lineno <= reads[0].lineno
        for n in ast.walk(scope or ast.Module([], []))
    )
    return not asked or any(start is not None for start in starts)


def _once_a_pass(fault: Fault, statement: ast.stmt, surface: Spot) -> bool:
    """Whether the state is taken over once between two backward passes: gradients still reach over a whole sequence."""
    source = fault.source
    loops = _loops(source, statement)
    passes = _loops(surface.source, surface.node) if surface.file == fault.file else []
    if loops:
        if passes:
            return loops[0] is passes[0] and not _inner_loop(loops[0])
        helper = source.function(surface.node) if surface.file == fault.file else None
        calls = {called(n) for n in ast.walk(loops[0]) if isinstance(n, ast.Call)}
        return getattr(helper, "name", "") in calls and not _inner_loop(loops[0])
    function = source.function(statement)
    if surface.file == fault.file and source.function(surface.node) is function:
        return True
    if not passes:
        # The function that goes backward is called from a loop somewhere: it has none of its own.
        outer = surface.source.function(surface.node)
        return outer is not None and not any(isinstance(n, (ast.For, ast.While)) for n in ast.walk(outer))
    return not _inner_loop(passes[0])


def _inner_loop(loop: ast.AST) -> bool:
    kinds = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)
    return any(isinstance(n, kinds) and n is not loop for n in ast.walk(loop))


def _after_the_pass(fault: Fault, statement: ast.stmt, surface: Spot, kinds: dict[str, str]) -> Edit | None:
    """``h = h.detach()`` behind ``backward()``, where the same function has both."""
    source = fault.source
    failing = source.statement(surface.node) if surface.file == fault.file else None
    if failing is None or source.function(failing) is not source.function(statement) or not source.block(failing):
        return None
    outer = source.block(failing)
    holds = [part for part in outer if part is statement or statement in set(ast.walk(part))]
    if not holds or outer.index(holds[0]) >= outer.index(failing):
        return None
    return _appended(fault, failing, kinds)


def _appended(where: Written, statement: ast.stmt, kinds: dict[str, str]) -> Edit | None:
    """The lines that detach the states, behind a statement on lines of its own."""
    source, span = where.source, where.source.span(statement)
    if source.line(span.end_line)[span.end_column - 1 :].strip() or source.line(span.line)[: span.column - 1].strip():
        return None
    indent = indent_of(source, span.line)
    text = "".join(f"\n{indent}{name} = {_detached(name, kind)}" for name, kind in kinds.items())
    return replace(where, Span(span.end_line, span.end_column, span.end_line, span.end_column), text)


def _read_below(source: SourceText, statement: ast.stmt, name: str) -> bool:
    """Whether the rest of the function reads the state: the loss may come from it."""
    scope = source.function(statement) or source.tree
    last = statement.end_lineno or statement.lineno
    return any(
        dotted_name(n) == name and isinstance(getattr(n, "ctx", None), ast.Load) and getattr(n, "lineno", 0) > last
        for n in ast.walk(scope or ast.Module([], []))
    )


def _from_outside(fault: Fault, statement: ast.stmt, surface: Spot, kinds: dict[str, str]) -> Edit | None:
    """``net.mem = net.mem.detach()`` behind ``backward()``, where one name there holds the object that keeps the state."""
    source, failing = surface.source, surface.source.statement(surface.node)
    owner = next((o for o in fault.source.enclosing(statement) if isinstance(o, ast.ClassDef)), None)
    if failing is None or owner is None or len(kinds) != 1:
        return None
    state, kind = next(iter(kinds.items()))
    if not state.startswith("self.") or kind != "tensor":
        return None
    made = [
        n for n in ast.walk(source.tree or ast.Module([], [])) if isinstance(n, ast.Call) and called(n) == owner.name
    ]
    holder = source.parents.get(made[0]) if len(made) == 1 else None
    if not isinstance(holder, ast.Assign) or holder.value is not made[0] or not isinstance(holder.targets[0], ast.Name):
        return None
    if source.function(holder) not in (None, source.function(failing)):
        return None
    return _appended(surface, failing, {state.replace("self", holder.targets[0].id, 1): kind})


def _half_detached(fault: Fault, reads: dict[str, list[ast.expr]]) -> list[Edit]:
    """``cut(state)``, where ``cut`` gives back one part of the state detached and the other as it is."""
    source = fault.source
    for found in reads.values():
        for read in found:
            call = source.parents.get(read)
            if not isinstance(call, ast.Call) or read not in call.args:
                continue
            for function in ast.walk(source.tree or ast.Module([], [])):
                if isinstance(function, ast.FunctionDef) and function.name == called(call):
                    edits = list(_other_parts(fault, function))
                    if edits:
                        return edits
    return []


def _other_parts(fault: Fault, function: ast.FunctionDef) -> Iterator[Edit]:
    for back in ast.walk(function):
        if isinstance(back, ast.Return) and isinstance(back.value, (ast.Tuple, ast.List)):
            parts = back.value.elts
            done = [isinstance(p, ast.Call) and called(p) == "detach" for p in parts]
            if any(done) and all(d or isinstance(p, ast.Name) for d, p in zip(done, parts)):
                for part in parts:
                    if isinstance(part, ast.Name):
                        yield replace(fault, part, f"{part.id}.detach()")
