"""Custom Functions whose backward gives another number of gradients than forward has inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.source.slicing import definitions
from gradwhy.static.flow.frames import Event
from gradwhy.static.flow.values import Class
from gradwhy.static.program import Place, Program

CAUSE = "custom-backward-wrong"
_ONE = frozenset({
    "abs", "add", "clamp", "clone", "contiguous", "cos", "div", "double", "exp", "expand", "expand_as", "float", "masked_fill",
    "mean", "mul", "neg", "new_zeros", "permute", "pow", "reshape", "reshape_as", "sign", "sin", "sqrt", "squeeze", "sub", "sum",
    "sum_to_size", "t", "to", "transpose", "type_as", "unsqueeze", "view", "view_as", "where", "zeros_like", "ones_like",
    "matmul",
})  # fmt: skip
"""Methods and functions of torch that give one tensor."""


def check(program: Program) -> Iterable[Finding]:
    """A backward pass goes through the call of a Function, and all that its ``backward`` returns is too little or too much."""
    passes = [event.facts["reach"].stations for event in program.each("backward", "grad")]
    told: set[int] = set()
    for event in program.each("applied"):
        call, kind = event.at, event.value
        if not isinstance(call, ast.Call) or not isinstance(kind, Class) or call.keywords or id(kind) in told:
            continue
        if any(isinstance(arg, ast.Starred) for arg in call.args) or not any(
            id(event.flow) in reach for reach in passes
        ):
            continue
        function = next((n for n in kind.node.body if isinstance(n, ast.FunctionDef) and n.name == "backward"), None)
        found = _wrong(function, len(call.args)) if function is not None else None
        if found is not None:
            told.add(id(kind))
            yield _tell(program, event, kind, *found)


def _wrong(function: ast.FunctionDef, want: int) -> tuple[ast.expr, int] | None:
    """What is returned and how many values that are, where no way out of the function gives as many as are wanted."""
    inner = {
        node for part in ast.walk(function) if part is not function and isinstance(part, (ast.FunctionDef, ast.Lambda))
        for node in ast.walk(part)
    }  # fmt: skip
    values = [
        n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None and n not in inner
    ]
    counts = [_count(function, value) for value in values]
    if not counts or any(got is None or got == want for got in counts):
        return None
    value, got = values[-1], counts[-1]
    assert got is not None
    # torch leaves out what is None beyond the inputs.
    surplus = value.elts[want:] if isinstance(value, ast.Tuple) else []
    return None if surplus and all(isinstance(p, ast.Constant) and p.value is None for p in surplus) else (value, got)


def _count(function: ast.FunctionDef, value: ast.expr) -> int | None:
    if isinstance(value, ast.Tuple):
        return None if any(isinstance(part, ast.Starred) for part in value.elts) else len(value.elts)
    return 1 if _is_one(function, value) else None


def _is_one(function: ast.FunctionDef, value: ast.expr, depth: int = 4) -> bool:
    """Whether an expression is surely a single tensor."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.attr in _ONE
    if isinstance(value, ast.BinOp):
        return _is_one(function, value.left, depth) or _is_one(function, value.right, depth)
    if isinstance(value, ast.UnaryOp):
        return _is_one(function, value.operand, depth)
    if not isinstance(value, ast.Name) or depth == 0:
        return False
    given = [arg.arg for arg in function.args.args]
    made = [(node, names) for names, node, _ in definitions(function) if value.id in names]
    if not made:
        return len(given) == 2 and value.id == given[1]
    return all(
        names == {value.id} and isinstance(node, ast.expr) and _is_one(function, node, depth - 1)
        for node, names in made
    )


def _tell(program: Program, event: Event, kind: Class, value: ast.expr, got: int) -> Finding:
    assert isinstance(event.at, ast.Call)
    needs = event.facts["needs"]
    plain = next((i for i, needed in enumerate(reversed(needs)) if needed), len(needs))
    facts: dict[str, Argument] = {
        "function": Code(kind.name), "want": len(event.at.args), "got": got, "plain": plain
    }  # fmt: skip
    place, applied = Place(value, None), Place(event.at, event.frame)
    return program.finding(
        CAUSE,
        place,
        Message(f"{CAUSE}.headline-count", facts),
        symptom="custom-function",
        surfaces=applied,
        path=[
            program.step(applied, Message(f"{CAUSE}.applied", facts)),
            program.step(place, Message(f"{CAUSE}.at-count", facts)),
        ],
        fixes=[Fix(title=Message(f"{CAUSE}.advice-count", facts), applicability="display")],
    )
