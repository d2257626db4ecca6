"""``backward`` and ``torch.autograd.grad``: which leaves a loss reaches, and which graphs have been used up."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from gradwhy.static.flow.frames import Stepped
from gradwhy.static.flow.histories import MAYBE, NO, YES, Flow, Value, now
from gradwhy.static.flow.ops import computed, cut
from gradwhy.static.flow.values import Const, Seq, Tensor, Unknown, flows, plain

if TYPE_CHECKING:
    from gradwhy.static.flow.frames import Frame
    from gradwhy.static.flow.run import Run


class Reach:
    """What a backward pass from some histories goes through."""

    __slots__ = ("certain", "leaves", "maybe", "stations")

    def __init__(self, starts: list[Flow]) -> None:
        self.leaves: dict[int, Tensor] = {}
        self.maybe: dict[int, Tensor] = {}
        self.stations: dict[int, Flow] = {}
        """Histories that the pass goes through for certain, by id."""
        self.certain = True
        todo = [(flow, True) for flow in starts]
        done: dict[int, bool] = {}
        while todo:
            flow, certain = todo.pop()
            if flow.grad == NO or done.get(id(flow), False) or (id(flow) in done and not certain):
                continue
            done[id(flow)] = certain
            if flow.kind == "unknown":
                self.certain = False
            if flow.owner is not None:
                (self.leaves if certain and flow.kind == "leaf" else self.maybe)[id(flow.owner)] = flow.owner
            if certain:
                self.stations[id(flow)] = flow
            sure = certain and flow.kind != "join"
            todo += [(part, sure) for part in flow.inputs if flow.kind != "leaf"]


class Freed(NamedTuple):
    """A history that a backward pass has used up: which pass, and what had been made by then."""

    flow: Flow
    node: ast.AST
    frame: Frame
    serial: int
    starts: tuple[Flow, ...]


_KEEPS_NOTHING = frozenset({"", "add", "sub", "neg", "[]", "[:]", "[i]"})
_QUIET_LAYERS = ("Identity", "Flatten", "Unflatten", "Dropout", "Upsample", "Pad1d", "Pad2d", "Pad3d", "PixelShuffle")


def saves(r: Run, flow: Flow) -> bool:
    """Whether an operation is known to save a tensor for backward."""
    name = flow.name
    if name in _KEEPS_NOTHING or flow.kind != "op":
        return False
    if name in ("mul", "truediv", "matmul", "pow"):
        return True
    if name.startswith("torch.nn.") and not name.startswith("torch.nn.functional."):
        return not name.endswith(_QUIET_LAYERS) and not any(part in name for part in _QUIET_LAYERS)
    return r.table.saves(name)


def _flag(value: Value | None) -> bool | None:
    if value is None:
        return False
    return bool(value.value) if isinstance(value, Const) else None


def backward(r: Run, loss: Tensor, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> None:
    """``loss.backward()``."""
    retain = _flag(args[1] if len(args) > 1 else keywords.get("retain_graph"))
    create = _flag(args[2] if len(args) > 2 else keywords.get("create_graph"))
    _pass(r, "backward", [loss.flow], node, retain, create, facts={"inputs": "inputs" in keywords})


def _pass(
    r: Run,
    kind: str,
    starts: list[Flow],
    node: ast.AST,
    retain: bool | None,
    create: bool | None,
    facts: dict[str, object],
) -> Reach:
    reach = Reach(starts)
    used: dict[int, Freed] = r.state["freed"]
    kept: dict[int, Freed] = r.state["kept"]
    again = [used[key] for key, flow in reach.stations.items() if key in used and saves(r, flow)]
    r.tell(kind, node, flow=starts[0] if starts else None, tensors=tuple(reach.leaves.values()),
           facts={**facts, "reach": reach, "again": again,
                  "kept": [kept[key] for key in reach.stations if key in kept], "retain": retain, "flows": tuple(starts),
                  "create": create, "mode": r.mode, "stepped": _stepped(r, reach),
                  "zero": frozenset(k for k, t in reach.leaves.items() if t.f.get("#zero") is True)})  # fmt: skip
    frees = retain is False and create is False
    keeps = retain is True and create is False
    if (frees or keeps) and not again:
        made = now()
        more = {
            key: Freed(flow, node, r.frame, made, tuple(starts))
            for key, flow in reach.stations.items()
            if flow.kind == "op" and flow.grad == YES
        }
        r.write(r.state, "freed" if frees else "kept", {**(used if frees else kept), **more})
    return reach


def _stepped(r: Run, reach: Reach) -> list[tuple[Tensor, Stepped]]:
    return [(t, step) for t in reach.leaves.values() if isinstance(step := t.f.get("#stepped"), Stepped)]


def autograd_backward(r: Run, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """``torch.autograd.backward(tensors)``."""
    given = list(flows(args[0])) if args else []
    retain = _flag(args[2] if len(args) > 2 else keywords.get("retain_graph"))
    create = _flag(args[3] if len(args) > 3 else keywords.get("create_graph"))
    _pass(r, "backward", given, node, retain, create, {})
    return Const(None)


def grad(r: Run, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """``torch.autograd.grad(outputs, inputs, ...)``: a tuple of gradients."""
    outputs = plain(args[0] if args else keywords.get("outputs", Unknown()))
    inputs = plain(args[1] if len(args) > 1 else keywords.get("inputs", Unknown()))
    retain_given = args[3] if len(args) > 3 else keywords.get("retain_graph")
    create = _flag(args[4] if len(args) > 4 else keywords.get("create_graph"))
    if "**" in keywords:
        create = None
    retain = _flag(retain_given) if retain_given is not None else create
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs.items) if isinstance(inputs, Seq) else []
    tensors = [value for part in wanted if isinstance(value := plain(part), Tensor)]
    given = list(flows(outputs))
    known = isinstance(inputs, (Tensor, Seq)) and len(tensors) == len(wanted)
    unused = keywords.get("allow_unused")
    reach = _pass(r, "grad", given, node, retain, create,
                  {"wanted": tuple((tensor, tensor.flow) for tensor in tensors) if known else (),
                   "allow_unused": unused is not None, "outputs": outputs})  # fmt: skip
    if create is None:
        one = Tensor(Flow("unknown", MAYBE, node, r.frame, tuple(given)), made=node)
    elif create:
        one = computed(r, node, [*given, *(tensor.flow for tensor in tensors)])
    else:
        one = Tensor(cut(r, node, given, "create_graph-missing"), made=node)
    del reach
    if tensors and known:
        return Seq([Tensor(one.flow, made=node) for _ in tensors], kind="tuple")
    return Seq((), one, "tuple")


def functional(r: Run, args: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """``torch.autograd.functional.jacobian`` and its kin: constants without ``create_graph``."""
    create = _flag(keywords.get("create_graph"))
    inputs = plain(args[1]) if len(args) > 1 else Unknown()
    called = (
        r.call(args[0], list(inputs.items) if isinstance(inputs, Seq) else [inputs], {}, node) if args else Unknown()
    )
    given = [flow for value in (called, *args[1:]) for flow in flows(value)]
    if create:
        return computed(r, node, given)
    if create is None:
        return Unknown(node)
    return Tensor(Flow("cut", NO, node, r.frame, tuple(given), "create_graph-missing"), made=node)
