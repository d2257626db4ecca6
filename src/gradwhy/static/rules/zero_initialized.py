"""Factors that all start at zero: each one's gradient is multiplied by another that is zero, and none ever leaves it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Argument, Code, Finding, Fix, Message
from gradwhy.static import vanishing
from gradwhy.static.flow.frames import Event, Frame
from gradwhy.static.flow.histories import Flow
from gradwhy.static.flow.values import Tensor
from gradwhy.static.program import Place, Program

CAUSE = "zero-initialized"
_PRODUCTS = frozenset(
    {"mul", "matmul"}
    | {
        f"torch.{owner}{name}"
        for owner in ("", "Tensor.")
        for name in ("mul", "multiply", "matmul", "mm", "bmm", "mv", "dot")
    }
)
_AFFINE = ("torch.nn.functional.linear", "torch.nn.Linear", "torch.nn.Conv1d", "torch.nn.Conv2d", "torch.nn.Conv3d",
           "torch.nn.functional.conv1d", "torch.nn.functional.conv2d", "torch.nn.functional.conv3d")  # fmt: skip
_THROUGH_ZERO = ("relu", "tanh", "gelu", "silu", "leaky_relu", "dropout", "neg", "mean", "sum", "ReLU", "Tanh", "GELU", "SiLU",
                 "LeakyReLU", "Dropout", "Flatten", "Identity")  # fmt: skip
"""Last parts of the names of what gives zeros for zeros."""


def check(program: Program) -> Iterable[Finding]:
    """What an optimizer steps is zero in every pass, and so is what each of its gradients is multiplied by."""
    passes = vanishing.passes_of(program)
    zeros = {key for event in passes for key in event.facts["zero"]}
    zeros = {key for key in zeros if all(key in e.facts["zero"] for e in passes if key in e.facts["reach"].leaves)}
    stepped = vanishing.stepped(program)
    lost: dict[int, Tensor] = {key: tensor for key, tensor in stepped.items() if key in zeros}
    while lost:
        # Those that get a gradient don't stay at zero, and open the way for others.
        known = _Zeros(program, lost.keys())
        fewer = vanishing.dead(passes, lost, known.lets)
        if fewer.keys() == lost.keys():
            break
        lost = fewer
    if len(lost) > 1:
        yield _tell(program, passes, list(lost.values()), known)


class _Zeros:
    """Which histories are all zeros as long as these leaves are."""

    def __init__(self, program: Program, leaves: Iterable[int]) -> None:
        self._program = program
        self._leaves = set(leaves)
        self._known: dict[int, bool] = {}

    def lets(self, flow: Flow, part: Flow) -> bool:
        """Whether a gradient passes: not to a factor whose other factor is zero."""
        if flow.name in _PRODUCTS:
            others = [other for other in flow.inputs if other is not part]
            return not any(self.zero(other) for other in others)
        if flow.name in _AFFINE and len(flow.inputs) > 1:
            x, weight = flow.inputs[:2]
            return not (self.zero(x) if part is weight else self.zero(weight) if part is x else False)
        return True

    def zero(self, flow: Flow, depth: int = 40) -> bool:
        if id(flow) not in self._known:
            self._known[id(flow)] = False
            self._known[id(flow)] = depth > 0 and self._computed(flow, depth - 1)
        return self._known[id(flow)]

    def _computed(self, flow: Flow, depth: int) -> bool:
        if flow.kind == "leaf":
            return flow.owner is not None and id(flow.owner) in self._leaves
        if flow.kind != "op" or not flow.inputs:
            return False
        zeros = [self.zero(part, depth) for part in flow.inputs]
        if flow.name in _PRODUCTS:
            return any(zeros)
        if flow.name in _AFFINE and len(zeros) > 1:
            return any(zeros[:2]) and all(zeros[2:])
        view = self._program.run.table.is_view(flow.name) or flow.name in ("[:]", "[]", "[i]")
        if len(zeros) == 1 and (view or flow.name.endswith(_THROUGH_ZERO)):
            return zeros[0]
        return flow.name in ("add", "sub") and len(zeros) > 1 and all(zeros)


def _tell(program: Program, passes: list[Event], lost: list[Tensor], known: _Zeros) -> Finding:
    first = min(lost, key=lambda tensor: tensor.flow.serial)
    made, frame = _made(first)
    place = Place(made, frame)
    product = next(
        (f for e in passes for f in vanishing.walk(e.facts["flows"], known.lets) for p in f.inputs if not known.lets(f, p)),
        None,
    )  # fmt: skip
    facts: dict[str, Argument] = {"name": Code(program.text(made)), "count": 1}
    steps = [program.step(place, Message(f"{CAUSE}.made"), after="leaf")]
    filled = first.f["#zero at"]
    if filled[0] is not made:
        steps.append(program.step(Place(*filled), Message(f"{CAUSE}.made"), after="leaf"))
    steps += [program.step(Place(*_made(t)), Message(f"{CAUSE}.made"), after="leaf") for t in lost if t is not first]
    if product is not None and product.at is not None:
        steps.append(program.step(Place(product.at, product.frame), Message(f"{CAUSE}.multiplied", facts)))
    return program.finding(
        CAUSE,
        place,
        Message(f"{CAUSE}.headline", facts),
        symptom="silent-zero-grad",
        surfaces=Place(passes[0].at, passes[0].frame),
        path=steps,
        fixes=[Fix(title=Message(f"{CAUSE}.advice"), applicability="display")],
    )


def _made(tensor: Tensor) -> tuple[ast.AST, Frame | None]:
    """Where it is made, or filled with zeros by the function that makes it: a helper that fills what it is given does its
    work."""
    flow = tensor.flow
    at: tuple[ast.AST, Frame] = tensor.f["#zero at"]
    return at if flow.at is None or at[1] is flow.frame else (flow.at, flow.frame)
