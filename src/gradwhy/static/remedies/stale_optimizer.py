"""Makes the optimizer after the last change of the model, or keeps the parameters that it holds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradwhy.findings import Code, Edit, Fix, Message
from gradwhy.source.slicing import bound_names, called, dotted_name, names_read, targets
from gradwhy.source.text import Span
from gradwhy.static import lines
from gradwhy.static.remedy import Fault, replace
from gradwhy.static.rewrites import whole_lines_out

# What changes no parameter for another object, or only before training (torch.nn.Module).
_HARMLESS = frozenset({"train", "eval", "zero_grad", "state_dict", "load_state_dict", "parameters", "requires_grad_"})


def remedies(fault: Fault) -> Iterable[Fix]:
    """Values are copied into the old parameters; else the optimizer's lines move below what changes the model."""
    if fault.headline == "headline-replaced" and not _makes_optimizer(fault.node):
        yield from _copied(fault, [fault.node])
        return
    made = fault.source.statement(fault.node)
    if not isinstance(made, ast.Assign) or len(made.targets) != 1 or not dotted_name(made.targets[0]):
        return
    model = _model(made.value)
    if not model or fault.source.tree is None:
        return
    statements = [n for n in ast.walk(fault.source.tree) if isinstance(n, ast.stmt)]
    after = [n for n in statements if n.lineno > made.lineno and _beside(fault, n, made)]
    assigned = [n for n in statements if any(_assigning(n))] if "meta" not in fault.source.text else []
    found = list(_copied(fault, [n for n in after if _replaces(n, model)] or assigned))
    if not found:
        found = list(_moved(fault, made, model))
    yield from found
    if not found:
        yield from _made_again(fault, made, model, after)


def _makes_optimizer(node: ast.AST) -> bool:
    return any(called(call)[:1].isupper() for call in lines.calls(node)) and "parameters" in ast.dump(node)


def _model(value: ast.expr) -> str:
    """``model`` of ``SGD(model.parameters(), ...)``."""
    names = {
        dotted_name(call.func.value)
        for call in lines.calls(value, "parameters", "named_parameters")
        if isinstance(call.func, ast.Attribute)
    }
    return names.pop() if len(names) == 1 else ""


def _beside(fault: Fault, node: ast.stmt, made: ast.stmt) -> bool:
    return fault.source.function(node) is fault.source.function(made)


def _replaces(node: ast.stmt, model: str) -> bool:
    """``model = copy.deepcopy(best)``, ``model.load_state_dict(best, assign=True)``."""
    if isinstance(node, ast.Assign):
        return any(dotted_name(target) == model for target in node.targets) and called(node.value) == "deepcopy"
    return any(_assigning(node, model))


def _assigning(node: ast.AST, model: str = "") -> Iterator[ast.keyword]:
    if not isinstance(node, (ast.Expr, ast.Assign, ast.Call)):
        return
    for call in lines.calls(node, "load_state_dict"):
        if isinstance(call.func, ast.Attribute) and (not model or dotted_name(call.func.value) == model):
            yield from (k for k in call.keywords if k.arg == "assign" and getattr(k.value, "value", None) is True)


def _copied(fault: Fault, replacing: list[ast.AST] | list[ast.stmt]) -> Iterable[Fix]:
    """The one statement that puts a copy in the model's place copies the values instead."""
    nodes = [fault.source.statement(node) or node for node in replacing]
    if len(nodes) != 1:
        return
    node = nodes[0]
    keyword = next(_assigning(node), None)
    if keyword is not None:
        yield _fix("fix-copy", replace(fault, keyword.value, "False"), result=f"{keyword.arg}=False")
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and dotted_name(node.targets[0]):
        value = node.value
        if called(value) == "deepcopy" and isinstance(value, ast.Call) and len(value.args) == 1:
            if dotted_name(source := value.args[0]):
                name, best = dotted_name(node.targets[0]), dotted_name(source)
                text = f"{name}.load_state_dict({best}.state_dict())"
                yield _fix("fix-copy", replace(fault, node, text), result=text)


def _moved(fault: Fault, made: ast.Assign, model: str) -> Iterable[Fix]:
    """The lines that make the optimizer and what belongs to it, below the last change of the model before training."""
    source = fault.source
    block = source.block(made)
    shown = fault.spot("surfaces", "shows")
    used = lines.in_block(source, shown.node, block) if shown is not None and shown.file == fault.file else None
    start = block.index(made) if block else 0
    optimizer = dotted_name(made.targets[0])
    rest = (
        block[start + 1 : block.index(used)] if used is not None and used in block[start + 1 :] else block[start + 1 :]
    )
    owned: list[ast.stmt] = [made]
    names = {optimizer}
    for each in rest:
        if not names & names_read(each):
            break
        if not isinstance(each, ast.Assign):
            return
        owned.append(each)
        names |= {name for target in each.targets for name in bound_names(target)}
    rest = rest[len(owned) - 1 :]
    if used is None:
        # The training is elsewhere: only as far as nothing uses the optimizer.
        rest = rest[: next((i for i, each in enumerate(rest) if names & names_read(each)), len(rest))]
    changes = [each for each in rest if _changes(each, model)]
    if not changes or any(names & names_read(each) for each in rest[: rest.index(changes[-1]) + 1]):
        return
    root = model.partition(".")[0]
    if any(name.partition(".")[0] != root and lines.rebinds(rest, name) for name in names_read(made)):
        return
    edits = _carried(fault, owned, changes[-1])
    if edits:
        yield _fix("fix-move", *edits, result=optimizer)


def _changes(statement: ast.stmt, model: str) -> bool:
    """Whether a statement gives the model other parts: ``model.fc = ...``, ``model = f(model)``, ``f(model)``."""
    if isinstance(statement, ast.Assign):
        bound = {dotted_name(target) for target in targets(statement)}
        if any(name == model or name.startswith(f"{model}.") for name in bound):
            return isinstance(statement.value, ast.Call)
        return False
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or called(call) in _HARMLESS:
        return False
    if isinstance(call.func, ast.Attribute) and dotted_name(call.func.value).startswith(model):
        return True
    return any(dotted_name(given) == model for given in call.args) and called(call) != "print"


def _made_again(fault: Fault, made: ast.Assign, model: str, after: list[ast.stmt]) -> Iterable[Fix]:
    """A change in the middle of the training: the optimizer's line once more below it."""
    source = fault.source
    changes = [n for n in after if _changes(n, model) and _gives_parts(fault, n)]
    names = {name for target in made.targets for name in bound_names(target)}
    others = [n for n in after if isinstance(n, ast.Assign) and names & names_read(n)]
    if len(changes) != 1 or others or made.lineno != made.end_lineno:
        return
    outer = [n for n in source.enclosing(changes[0]) if isinstance(n, (ast.For, ast.While))]
    put = lines.put_after(fault, changes[0], source.segment(made))
    if outer and put is not None and not any(lines.rebinds(after, name) for name in names_read(made.value)):
        yield _fix("fix-again", put, result=dotted_name(made.targets[0]))


def _gives_parts(fault: Fault, change: ast.stmt) -> bool:
    """Whether a method or function of this file, called there, assigns parts of a module."""
    call = change.value if isinstance(change, (ast.Expr, ast.Assign)) else change
    assert fault.source.tree is not None
    return any(
        isinstance(n, ast.FunctionDef)
        and n.name == called(call)
        and any(
            isinstance(t, ast.Attribute)
            for inner in ast.walk(n)
            if isinstance(inner, ast.Assign)
            for t in inner.targets
        )
        for n in ast.walk(fault.source.tree)
    )


def _carried(fault: Fault, owned: list[ast.stmt], last: ast.stmt) -> tuple[Edit, ...]:
    source = fault.source
    if not all(lines.alone(source, each) for each in (*owned, last)):
        return ()
    first, end = owned[0].lineno, owned[-1].end_lineno or owned[-1].lineno
    text = "\n".join(source.line(number) for number in range(first, end + 1))
    below = (last.end_lineno or last.lineno) + 1
    if below > len(source.lines):
        return ()
    return (whole_lines_out(fault, first, end), replace(fault, Span(below, 1, below, 1), f"{text}\n"))


def _fix(key: str, *edits: Edit, result: str) -> Fix:
    title = Message(f"stale-optimizer.{key}", {"result": Code(result)})
    return Fix(title=title, applicability="unsafe", edits=edits)
