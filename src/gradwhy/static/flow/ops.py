"""What an operation of torch makes of the histories of its inputs, by the rows of torchapi's table."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gradwhy.static.flow.histories import MAYBE, NO, PLAIN, YES, Flow, Value, joined_grad
from gradwhy.static.flow.values import Array, Const, Library, Scalar, Seq, Tensor, Unknown, flows, plain

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run
    from gradwhy.torchapi.table import OpRow

_FLOATING = ("float", "double", "half", "bfloat", "complex", "cfloat", "cdouble", "chalf")
_INTEGER = ("int", "long", "short", "uint", "bool", "byte", "char")
_NAMED = ("values", "indices")


def computed(
    r: Run, node: ast.AST, inputs: Iterable[Flow], side: tuple[Flow, ...] = (), cause: str = "", name: str = ""
) -> Tensor:
    """A tensor computed from others. With recording off it has no path, whatever they have."""
    given = tuple(dict.fromkeys(inputs))
    return Tensor(computed_flow(r, node, given, side, cause, name), made=node)


def computed_flow(
    r: Run, node: ast.AST, given: tuple[Flow, ...], side: tuple[Flow, ...] = (), cause: str = "", name: str = ""
) -> Flow:
    grad = joined_grad(given)
    mode = r.mode
    if grad == NO or mode.on:
        flow = Flow("op", grad, node, r.frame, given, cause, side=side, name=name)
    elif mode.on is None or name in ("[:]", "[]") or r.table.is_view(name):
        # With recording off a view still requires grad, and leads nowhere; whether it is a view may depend on the data.
        flow = Flow("op", MAYBE, node, r.frame, given, cause, side=side, name=name)
    else:
        flow = Flow("off", NO, mode.at, mode.frame, given, mode.cause, op=node, side=side)
        flow.inside = r.frame
    return in_mode(r, flow)


def in_mode(r: Run, flow: Flow) -> Flow:
    """Notes that a history was made in inference mode: such a tensor, and any view of it, cannot be saved for backward."""
    mode = r.mode
    if mode.on is False:
        if mode.cause == "inference_mode-context":
            flow.inference = mode
        return flow
    for part in (*flow.inputs, *flow.side):
        if part.inference is not None:
            if flow.name == "[:]" or r.table.is_view(flow.name):
                flow.inference = part.inference
            elif flow.grad == YES and mode.on and flow.at is not None:
                r.tell("inference-used", flow.at, flow=flow, facts={"made": part, "aside": part in flow.side})
    return flow


def cut(r: Run, node: ast.AST, inputs: Iterable[Flow], cause: str) -> Flow:
    """The history of a result that never has a path."""
    given = tuple(dict.fromkeys(inputs))
    return in_mode(r, Flow("op" if joined_grad(given) == NO else "cut", NO, node, r.frame, given, cause))


def kept_or_cut(r: Run, effect: str, node: ast.AST, given: list[Flow], cause: str) -> Tensor:
    if effect == "cut":
        return Tensor(cut(r, node, given, cause), made=node)
    return computed(r, node, given, cause=cause if effect in ("zero", "raises") else "")


def by_row(
    r: Run, row: OpRow, name: str, args: list[Value], keywords: dict[str, Value], node: ast.AST, side: tuple[Flow, ...]
) -> Value | None:
    """The result of a call that a row describes; None where the row's condition does not hold or isn't known to."""
    holds = applies(row, args, keywords)
    given = [flow for value in (*args, *keywords.values()) for flow in flows(value)]
    if holds is None:
        return Unknown(node)
    if not holds:
        return None
    cause = row.cause or "not-differentiable"
    effect = row.effect
    if effect in ("cut", "detaches", "cast"):
        return Tensor(cut(r, node, given, cause), made=node)
    if effect in ("zero", "raises") and not row.outputs:
        return computed(r, node, given, side, cause, name)
    if effect in ("cut-outputs", "sampling", "raises"):
        outputs = tuple(kept_or_cut(r, part, node, given, cause) for part in row.outputs)
        if len(outputs) == 1:
            return outputs[0]
        return Seq(outputs, kind="tuple", fields=_NAMED if len(outputs) == 2 else ())
    if effect == "constant":
        if row.because == "metadata":
            return Scalar()
        return fresh(r, node, keywords)
    if effect == "builds":
        return built(r, node, given, cause, keywords)
    if effect == "leaves":
        flow = cut(r, node, given, cause)
        if row.value == "list":
            return Seq((), Scalar(flow))
        return Array(flow) if row.value == "array" else Scalar(flow if row.value == "number" else None)
    return None


def applies(row: OpRow, args: list[Value], keywords: dict[str, Value]) -> bool | None:
    """Whether the condition of a row holds; None where it isn't known."""
    when = row.when
    if when is None:
        return True
    if when == "dim":
        second = plain(args[1]) if len(args) > 1 else None
        if "dim" in keywords or "axis" in keywords or isinstance(second, (Const, Scalar)):
            return True
        return False if second is None or isinstance(second, Tensor) else None
    if when == "dtype":
        kinds = [kind for value in (*args[1:], *keywords.values()) if (kind := dtype_of(value)) is not None]
        return "integer" in kinds
    if when == "not a tensor":
        first = plain(args[0]) if args else None
        return None if isinstance(first, Unknown) else not isinstance(first, Tensor)
    if when == "one argument":
        return len(args) == 1 and not keywords
    if when in ("rounding_mode", "weights"):
        return when in keywords
    if when == "a number":
        return len(args) > 1 and isinstance(plain(args[1]), (Const, Scalar))
    if when == "first argument":
        return bool(args) and isinstance(value := plain(args[0]), Tensor) and value.flow.grad == YES
    return False


def dtype_of(value: Value) -> str | None:
    """ "integer" or "floating" for a dtype, an old tensor type or the name of one."""
    name = ""
    if isinstance(value, Library):
        name = value.path.rpartition(".")[2]
    elif isinstance(value, Const) and isinstance(value.value, str):
        name = value.value.rpartition(".")[2]
    name = name.removesuffix("Tensor").lower()
    if name.startswith(_INTEGER):
        return "integer"
    return "floating" if name.startswith(_FLOATING) else None


def fresh(r: Run, node: ast.AST, keywords: dict[str, Value], parameter: bool = False) -> Tensor:
    """A new tensor made of nothing: a leaf where ``requires_grad=True`` says so."""
    return leaf_or_plain(r, node, (), keywords.get("requires_grad"), parameter)


def leaf_or_plain(
    r: Run, node: ast.AST, inputs: tuple[Flow, ...], flag: Value | None, parameter: bool = False, cause: str = ""
) -> Tensor:
    known = bool(flag.value) if isinstance(flag, Const) else None if flag is not None else parameter
    made = Tensor(PLAIN, parameter, made=node)
    made.f["#zero"] = False
    if known:
        made.f["flow"] = Flow("leaf", YES, node, r.frame, inputs, cause, owner=made)
    elif known is None:
        made.f["flow"] = Flow("unknown", MAYBE, node, r.frame, inputs, owner=made)
    elif parameter:
        made.f["flow"] = Flow("frozen", NO, node, r.frame, inputs, owner=made)
    else:
        made.f["flow"] = in_mode(r, Flow("plain" if not inputs else "op", NO, node, r.frame, inputs, cause, owner=made))
    return made


def built(r: Run, node: ast.AST, given: list[Flow], cause: str, keywords: dict[str, Value]) -> Tensor:
    """A tensor made of values: without their history, and a leaf of its own where it is flagged."""
    flow = cut(r, node, given, cause)
    flag = keywords.get("requires_grad")
    if flag is None or (isinstance(flag, Const) and not flag.value):
        return Tensor(flow, made=node)
    return leaf_or_plain(r, node, (flow,) if given else (), flag, cause="requires-grad-on-loss" if given else "")


def sides(r: Run, name: str, args: list[Value], keywords: dict[str, Value]) -> tuple[list[Flow], tuple[Flow, ...]]:
    """The histories of a call's inputs, and of those arguments that want no gradient: targets, indices, masks."""
    given: list[Flow] = []
    side: list[Flow] = []
    if not r.table.wants_no_gradient(name):
        return [flow for value in (*args, *keywords.values()) for flow in flows(value)], ()
    for place, value in enumerate(args):
        aside = r.table.argument(name, place, None) is not None
        _put(flows(value), aside, given, side)
    for keyword, value in keywords.items():
        aside = r.table.argument(name, None, keyword) is not None
        _put(flows(value), aside, given, side)
    return given, tuple(side)


def note_loss(r: Run, path: str, args: list[Value], keywords: dict[str, Value], result: Tensor, node: ast.AST) -> None:
    """Leaves an event for a loss: what it gives, and what it was given first."""
    if r.table.is_loss(path):
        given = plain(args[0] if args else keywords.get("input", Unknown()))
        first = given.flow if isinstance(given, Tensor) else None
        reduction = plain(keywords.get("reduction", Unknown()))
        kept = isinstance(reduction, Const) and reduction.value == "none"
        r.tell("loss", node, flow=result.flow, subject=path, facts={"given": first, "unreduced": kept})


def note_reduced(r: Run, name: str, given: int, result: Tensor, node: ast.AST) -> None:
    """Leaves an event where a tensor becomes one number, as losses that are written out do: ``.mean()`` of all."""
    if name in ("mean", "sum") and given == 1 and result.flow.grad == YES:
        r.tell("reduced", node, flow=result.flow)


def _put(found: Iterable[Flow], aside: bool, given: list[Flow], side: list[Flow]) -> None:
    """An argument that wants no gradient still passes one on where it has a path."""
    for flow in found:
        (side if aside and flow.grad == NO else given).append(flow)
