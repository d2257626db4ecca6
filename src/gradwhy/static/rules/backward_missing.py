"""An optimizer that clears and steps in turn after turn, and no backward pass between."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.source.slicing import bound_names, called, dotted_name, names_read, targets
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.gradients import Reach
from gradwhy.static.flow.histories import YES
from gradwhy.static.order import is_conditional, is_within, loop_of
from gradwhy.static.program import Place, Program

CAUSE = "backward-missing"
_LIBRARIES = ("autograd", "func", "torch", "jax", "functorch")


_WAYS = frozenset({"backward", "manual_backward", "vjp", "jvp", "jacrev", "jacfwd", "grad_and_value", "value_and_grad"})
_READS = frozenset({
    "print", "float", "str", "append", "format", "add_scalar", "add_scalars", "log", "info", "debug", "update", "isnan",
    "isfinite", "set_postfix", "set_description",
})  # fmt: skip
"""Calls that may be given a loss and don't go backward from it."""
_NUMBERS = frozenset({"item", "detach", "tolist", "numpy"})


def check(program: Program) -> Iterable[Finding]:
    """In a file that never goes backward: a loop that computes a loss and steps; a ``.grad`` that is None where it is used."""
    if not program.whole or program.each("backward", "grad") or _goes_backward(program):
        return
    untouched = [event for event in program.each("step", "grad-read") if _is_untouched(program, event)]
    for event in untouched:
        if event.kind == "grad-read" and _is_used(program, event):
            yield _tell_read(program, event)
            return
    for event in untouched:
        loss = _loss_of(program, event) if event.kind == "step" else None
        if loss is not None:
            yield _tell(program, event, loss)
            return


def _goes_backward(program: Program) -> bool:
    """Whether the text speaks of backward passes anywhere: then one may come from out of sight."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr in _WAYS)
        or (isinstance(node, ast.Attribute) and node.attr == "grad" and dotted_name(node.value).endswith(_LIBRARIES))
        or (isinstance(node, ast.alias) and node.name.rpartition(".")[2] in (*_WAYS, "grad"))
        or (isinstance(node, ast.Constant) and node.value in (*_WAYS, "grad"))
        for node in program.all_nodes()
    )


def _is_untouched(program: Program, event: Event) -> bool:
    """Whether the tensors are leaves that nothing out of sight has got hold of, and nobody sets their gradients."""
    held = {id(tensor) for tensor in event.tensors}
    known = all(tensor.flow.kind == "leaf" for tensor in event.tensors)
    return bool(held) and known and not any(e.kind == "grad-set" and _touches(e, held) for e in program.events)


def _is_used(program: Program, event: Event) -> bool:
    """Whether None raises there: in arithmetic, or where one of its attributes is wanted."""
    return isinstance(
        program.source_of(event.at).parents.get(event.at), (ast.BinOp, ast.Attribute, ast.Subscript)
    ) and not is_conditional(program, event)


def _loss_of(program: Program, step: Event) -> Event | None:
    """The loss that the loop around a step computes of what the optimizer holds, and clears the gradients for."""
    optimizer, loop = step.optimizer, loop_of(program, step)
    held = {id(tensor) for tensor in step.tensors}
    if optimizer is None or loop is None or not optimizer.f["complete"] or "#escaped" in optimizer.f:
        return None
    reads = any(e.kind == "grad-read" and _touches(e, held) for e in program.events)
    cleared = any(_touches(e, held) and is_within(program, e, loop) for e in program.each("zero_grad"))
    losses = [e for e in program.each("loss", "reduced") if is_within(program, e, loop) and _is_of(e, held)]
    if reads or not cleared or not losses or any(_is_given_away(program, e) for e in losses):
        return None
    return losses[-1]


def _is_given_away(program: Program, loss: Event) -> bool:
    """Whether the loss, or something that it is bound to, is handed to a call that may go backward."""
    node = _returned(program, loss)
    source = program.source_of(node)
    statement = source.statement(node)
    names = {name for target in targets(statement) for name in bound_names(target)} if statement is not None else set()
    scope = source.function(node) or source.tree
    if statement is None or scope is None or not (names or isinstance(statement, ast.Expr)):
        return True
    around = [outer for outer in source.enclosing(node) if isinstance(outer, ast.Call)]
    calls = [n for n in ast.walk(scope) if isinstance(n, ast.Call) and names & _given(n)]
    if any(called(call) not in _READS for call in (*around, *calls)):
        return True
    returned = [n.value for n in ast.walk(scope) if isinstance(n, (ast.Return, ast.Yield)) and n.value]
    return any(names & _read(value) for value in returned)


def _returned(program: Program, loss: Event) -> ast.AST:
    """The expression that has the loss in the function that does not give it back: ``self.loss(batch)``."""
    node, frame = loss.at, loss.frame
    while frame.call is not None and frame.parent is not None:
        source = program.source_of(node)
        statement, function = source.statement(node), source.function(node)
        if not isinstance(statement, ast.Return) or function is not frame.node:
            break
        if any(isinstance(outer, ast.Call) for outer in source.enclosing(node) if outer is not function):
            break
        node, frame = frame.call, frame.parent
    return node


def _given(call: ast.Call) -> set[str]:
    return {name for arg in (*call.args, *(k.value for k in call.keywords)) for name in _read(arg)}


def _read(value: ast.AST) -> set[str]:
    """The names that an expression reads, without those that it takes numbers of: ``loss.item()``."""
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr in _NUMBERS and not value.args:
            return set()
        if isinstance(value.func, ast.Name) and value.func.id == "float":
            return set()
    return (
        names_read(value)
        if not list(ast.iter_child_nodes(value)) or isinstance(value, (ast.Name, ast.Attribute))
        else {name for part in ast.iter_child_nodes(value) for name in _read(part)}
    )


def _touches(event: Event, held: set[int]) -> bool:
    return any(id(tensor) in held for tensor in event.tensors)


def _is_of(event: Event, held: set[int]) -> bool:
    flow = event.flow
    return flow is not None and flow.grad == YES and bool(Reach([flow]).leaves.keys() & held)


def _tell(program: Program, step: Event, loss: Event) -> Finding:
    place, made = Place(step.at, step.frame), Place(loss.at, loss.frame)
    facts: dict[str, Argument] = {"subject": Code(program.text(step.at)), "name": Code(program.text(loss.at))}
    message = Message(f"{CAUSE}.headline-source", facts)
    return program.finding(
        CAUSE,
        place,
        message,
        symptom="silent-none-grad",
        path=[program.step(made, Message(f"{CAUSE}.made"), after="tracked"), program.step(place, message)],
        fixes=[Fix(title=Message(f"{CAUSE}.advice-source", facts), applicability="display")],
    )


def _tell_read(program: Program, event: Event) -> Finding:
    place = Place(event.at, event.frame)
    facts: dict[str, Argument] = {"name": Code(program.text(getattr(event.at, "value", event.at)))}
    message = Message(f"{CAUSE}.headline", facts)
    return program.finding(
        CAUSE,
        place,
        message,
        symptom="none-grad",
        surfaces=place,
        path=[program.step(place, message)],
        fixes=[Fix(title=Message(f"{CAUSE}.advice"), applicability="display")],
    )
