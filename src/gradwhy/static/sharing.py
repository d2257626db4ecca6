"""A value that two backward passes go through, where only one of them should: which one, and the value without its graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import bound_names, called, dotted_name, names_read, targets
from gradwhy.source.text import SourceText
from gradwhy.static.remedy import Fault, Spot
from gradwhy.static.rewrites import detached

CAUSE = "freed-graph-reused"


def detached_for_the_other(fault: Fault, surface: Spot) -> Iterator[Fix]:
    """Two optimizers step in turn, each after a loss through a value that one of them alone makes better: the generator's
    fakes. The loss of the other one takes the value detached."""
    source = fault.source
    told = fault.args.get("name")
    failing = source.statement(surface.node)
    block = source.block(failing) if failing is not None else []
    if failing is None or not block or failing not in block:
        return
    last = block.index(failing)
    bound = {name for part in block[:last] if isinstance(part, ast.Assign) for name in _bound(part)}
    named = {told.text} & bound if isinstance(told, Code) else set()
    found = [fix for name in sorted(named or bound) for fix in _detached(fault, block, last, name)]
    if len(found) == 1:
        yield found[0]


def _detached(fault: Fault, block: list[ast.stmt], last: int, name: str) -> Iterator[Fix]:
    source = fault.source
    made = [i for i, part in enumerate(block[:last]) if isinstance(part, ast.Assign) and name in _bound(part)]
    if len(made) != 1:
        return
    maker = block[made[0]]
    assert isinstance(maker, ast.Assign)
    passes = [i for i in range(made[0] + 1, last) if _calls(block[i], "backward")]
    if len(passes) != 1:
        return
    steps = [_receiver(part) for part in block[passes[0] + 1 : last] if _calls(part, "step")]
    later = [_receiver(part) for part in block[last + 1 :] if _calls(part, "step")]
    if len(steps) != 1 or not later or steps[0] == later[0]:
        return
    parts = _modules(maker.value)
    first, second = parts & _trained(source, steps[0]), parts & _trained(source, later[0])
    if bool(first) == bool(second):
        return
    area = block[made[0] + 1 : passes[0]] if second else block[passes[0] + 1 : last]
    edits = [edit for part in area for read in _given(source, part, name) for edit in detached(fault, read)]
    if edits and not any(name in _bound(part) for part in block[made[0] + 1 : last]):
        title = Message(f"{CAUSE}.fix-detach", {"name": Code(f"{name}.detach()")})
        yield Fix(title=title, applicability="safe" if second else "unsafe", edits=tuple(edits))


def stored_without_graph(fault: Fault, statement: ast.stmt, surface: Spot) -> Iterator[Fix]:
    """A running average that is updated after the loss was computed: it keeps values, no history."""
    source = fault.source
    function, failing = source.function(statement), source.statement(surface.node)
    if not isinstance(statement, ast.Assign) or not isinstance(function, ast.FunctionDef) or failing is None:
        return
    stored = statement.targets[0]
    while isinstance(stored, ast.Subscript):
        stored = stored.value
    kept = dotted_name(stored)
    if not kept.startswith("self.") or kept not in names_read(statement.value):
        return
    block = source.block(failing)
    loss = next((n.func.value for n in ast.walk(failing) if isinstance(n, ast.Call) and called(n) == "backward"
                 and isinstance(n.func, ast.Attribute)), None)  # fmt: skip
    if not block or loss is None or any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(function)):
        return
    before = block[: block.index(failing)]
    updates = [i for i, part in enumerate(before) if isinstance(part, ast.Expr) and _calls(part, function.name)]
    losses = [i for i, part in enumerate(before) if dotted_name(loss) in _bound(part)]
    if len(updates) == 1 and losses and losses[-1] < updates[0]:
        title = Message(f"{CAUSE}.fix-detach", {"name": Code(kept)})
        yield Fix(title=title, applicability="safe", edits=tuple(detached(fault, statement.value)))


def _bound(statement: ast.AST) -> set[str]:
    return {name for target in targets(statement) for name in bound_names(target)}


def _calls(statement: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Call) and called(n) == name for n in ast.walk(statement))


def _receiver(statement: ast.AST) -> str:
    """``opt`` of ``opt.step()``."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and called(node) == "step" and isinstance(node.func, ast.Attribute):
            return dotted_name(node.func.value)
    return ""


def _modules(value: ast.expr) -> set[str]:
    """The last names of what a value is computed with: ``generator`` of ``self.generator(z)``."""
    return {called(n) for n in ast.walk(value) if isinstance(n, ast.Call)} - {"randn", "rand", "len", "size"}


def _trained(source: SourceText, optimizer: str) -> set[str]:
    """The names in the call that made an optimizer: those of the modules that it trains."""
    last = optimizer.rpartition(".")[2]
    found: set[str] = set()
    for node in ast.walk(source.tree or ast.Module([], [])):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if any(dotted_name(t).rpartition(".")[2] == last for t in node.targets):
                found |= {part for name in names_read(node.value) for part in name.split(".")}
    return found - {"self", "parameters", "torch", "optim"}


def _given(source: SourceText, statement: ast.stmt, name: str) -> list[ast.expr]:
    """Where a statement reads the value itself: not its shape, and not a copy without history."""
    return [
        n for n in ast.walk(statement)
        if dotted_name(n) == name and isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load)
        and not isinstance(source.parents.get(n), ast.Attribute)
        and not (isinstance(parent := source.parents.get(n), ast.Call) and called(parent) == "len")
    ]  # fmt: skip
