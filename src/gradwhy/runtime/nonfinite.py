"""Why a node's backward gives a value that is not finite: what it saved, and what its result is chosen or repaired by."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from gradwhy.runtime import graph

# torch's own names of nodes (tools/autograd/derivatives.yaml), without "Backward0".
_CHOOSING = ("Where", "MaskedFill", "MaskedScatter")
_ROOTS = ("Sqrt", "Rsqrt", "Norm", "LinalgVectorNorm", "Std", "StdMean")
_LOGS = ("Log", "Log2", "Log10", "Log1p")
_EXPONENTIALS = ("Exp", "Exp2", "Expm1", "Sinh", "Cosh", "Square", "Mul", "Prod", "Cumprod")
_ROWS = ("Softmax", "LogSoftmax", "Logsumexp", "SafeSoftmax")
_SHAPING = (
    "View",
    "Expand",
    "Permute",
    "Unsqueeze",
    "Squeeze",
    "Neg",
    "T",
    "Transpose",
    "Clone",
    "ToCopy",
    "UnsafeView",
)

# Nodes whose backward makes of finite gradients and finite saved values nothing that is not finite, but for an overflow.
_PASSING_ON_NAMES = """Add Sub Neg Sum Mean Mm Addmm Bmm Baddbmm Addbmm Mv Dot Convolution ConvolutionOverrideable
MkldnnConvolution View UnsafeView ReshapeAlias T Transpose Permute Expand Squeeze Unsqueeze Select Slice Split
SplitWithSizes Unbind Cat Stack
Index IndexSelect Gather Scatter ScatterAdd Repeat Flip Roll Clone Copy CopySlices AsStrided ToCopy Alias Diagonal Narrow
Relu LeakyRelu Elu Gelu Silu Mish Sigmoid Tanh Softplus Hardtanh Hardswish Threshold Sin Cos Abs Clamp ClampMin ClampMax
Where MaskedFill MaskedScatter Max Min Amax Amin Maximum Minimum NativeBatchNorm NativeLayerNorm NativeGroupNorm
NativeDropout Embedding AvgPool2D MaxPool2DWithIndices AdaptiveAvgPool2D UpsampleNearest2D UpsampleBilinear2D
ConstantPadNd ReflectionPad2D NllLoss NllLoss2D MseLoss L1Loss SmoothL1Loss HuberLoss BinaryCrossEntropyWithLogits
LogSoftmax LogSigmoid Logaddexp Tril Triu Trace Cumsum"""
_PASSING_ON = frozenset(_PASSING_ON_NAMES.split())


@dataclass(frozen=True, slots=True)
class Reason:
    """``node`` is where the fault lies; ``count`` of ``of`` values there are to blame, 0 where that was not counted.

    ``product`` tells an infinite logarithm that is multiplied by 0.
    """

    cause: str
    node: Any
    count: int = 0
    of: int = 0
    product: bool = False


def reason(node: Any, walk: Mapping[Any, list[Any]], given: Any, made: Any) -> Reason:
    """Why ``node`` made of the gradients ``given`` the gradients ``made``, of which one is not finite. ``walk`` is the graph."""
    choosing = chosen(node, walk) if _was_zero(given, made) else None
    if choosing is not None:
        return Reason("where-nan", choosing)
    if (found := _singular(node)) is not None:
        return found
    if not any(_bad(value) for value in _saved(node).values()):
        return Reason("overflow" if _is_infinite(made) else "non-finite-gradient", node)
    below = graph.nodes_from([node])
    if name(node) == "Mul" and (log := _logarithm(node)) is not None:
        return log
    for earlier in sorted(below, key=graph.number_of):
        found = _singular(earlier) if earlier is not node and graph.number_of(earlier) >= 0 else None
        if found is not None and _gives_bad(earlier):
            return found
    first = next(
        (each for each in sorted(below, key=graph.number_of) if any(_bad(v) for v in _saved(each).values())), node
    )
    saved = _saved(first)
    given_bad = any(_bad(value) for kind, value in saved.items() if kind != "result")
    unknown = set(saved) <= {"result"}
    return Reason("non-finite-input" if given_bad or unknown else "non-finite-gradient", first)


def name(node: Any) -> str:
    """ "Sqrt" of ``SqrtBackward0``; a custom function's own name."""
    return str(node.name()).rpartition("::")[2].rstrip("0123456789").removesuffix("Backward")


def passes_on(node: Any) -> bool:
    """Whether the first value that is not finite can't well be of the node's own making."""
    return name(node) in _PASSING_ON


def shown(node: Any) -> str:
    """The operation as people write it: "sqrt", or the name of a custom function's class."""
    return name(node) if isinstance(node, torch.autograd.function.BackwardCFunction) else name(node).lower()


def is_finite(tensor: Any) -> bool:
    """Whether all entries are; a tensor of another kind than a plain, dense one counts as finite."""
    plain = plainly(tensor)
    if plain is None or bool(torch.isfinite(plain.sum())):
        return True
    # A sum may overflow where none of its parts does.
    return bool(torch.isfinite(plain).all())


def plainly(tensor: Any) -> Any:
    """A dense floating point tensor without history, out of the wrappers of ``torch.func``; None for what has no such values."""
    functorch = torch._C._functorch
    while isinstance(tensor, torch.Tensor) and functorch.is_functorch_wrapped_tensor(tensor):
        tensor = functorch.get_unwrapped(tensor)
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout != torch.strided or tensor.is_meta:
        return None
    return tensor.detach() if tensor.is_floating_point() or tensor.is_complex() else None


# -- a gradient of 0 that became NaN


def _was_zero(given: Any, made: Any) -> bool:
    """Whether nothing was to flow where the result is not finite: 0 times an infinite slope."""
    results = [plain for each in made if (plain := plainly(each)) is not None and _bad(plain)]
    for gradient in given:
        plain = plainly(gradient)
        for result in results:
            if plain is not None and plain.shape == result.shape:
                return bool((plain[~torch.isfinite(result)] == 0).all())
    return False


def chosen(node: Any, walk: Mapping[Any, list[Any]]) -> Any:
    """The nearest ``where`` or ``masked_fill`` that the node's result goes into."""
    users: dict[Any, list[Any]] = {}
    for each, following in walk.items():
        for after in following:
            users.setdefault(after, []).append(each)
    queue, seen = deque([node]), {node}
    while queue:
        for user in users.get(queue.popleft(), ()):
            if user not in seen:
                if name(user) in _CHOOSING:
                    return user
                seen.add(user)
                queue.append(user)
    return None


# -- values for which an operation has no finite slope, or no finite result


def _singular(node: Any) -> Reason | None:
    kind, saved = name(node), _saved(node)
    result, own, other = saved.get("result"), saved.get("self"), saved.get("other")
    if kind in _ROOTS:
        if kind == "Rsqrt":
            return _counted("sqrt-of-zero", node, result, lambda value: torch.isinf(value))
        return _counted("sqrt-of-zero", node, result, lambda value: value == 0) or _counted(
            "out-of-domain", node, result if kind == "Sqrt" else None, torch.isnan
        )
    if kind in _LOGS:
        edge = -1 if kind == "Log1p" else 0
        return _counted("log-of-zero", node, own, lambda value: value == edge) or _counted(
            "out-of-domain", node, own, lambda value: value < edge
        )
    if kind == "Pow":
        return _power(node, saved)
    if kind == "Div":
        return _counted("division-by-zero", node, other, lambda value: value == 0)
    if kind == "Reciprocal":
        return _counted("division-by-zero", node, result, torch.isinf)
    if kind in ("Acos", "Asin", "Atanh"):
        return _counted("out-of-domain", node, own, lambda value: value.abs() >= 1)
    if kind == "Acosh":
        return _counted("out-of-domain", node, own, lambda value: value <= 1)
    if kind in _ROWS:
        return _counted("all-masked-row", node, result, _nothing if kind == "Logsumexp" else torch.isnan)
    if kind in _EXPONENTIALS:
        return _counted("overflow", node, result, torch.isinf)
    return None


def _nothing(value: Any) -> Any:
    return value == -math.inf


def _power(node: Any, saved: Mapping[str, Any]) -> Reason | None:
    base, exponent = saved.get("self"), saved.get("exponent")
    if base is None or not isinstance(exponent, (int, float, torch.Tensor)):
        return None
    if isinstance(exponent, (int, float)):
        cause = "division-by-zero" if exponent < 0 else "sqrt-of-zero"
        found = _counted(cause, node, base, lambda value: value == 0) if exponent < 1 else None
        whole = float(exponent).is_integer()
        return found or (None if whole else _counted("out-of-domain", node, base, lambda value: value < 0))
    if base.shape != exponent.shape:
        base, exponent = torch.broadcast_tensors(base, exponent)
    negative = _counted("division-by-zero", node, base, lambda value: (value == 0) & (exponent < 0))
    return (
        negative
        or _counted("sqrt-of-zero", node, base, lambda value: (value == 0) & (exponent < 1) & (exponent != 0))
        or _counted("out-of-domain", node, base, lambda value: (value < 0) & (exponent != exponent.round()))
    )


def _counted(cause: str, node: Any, value: Any, test: Callable[[Any], Any]) -> Reason | None:
    plain = plainly(value)
    if plain is None or plain.is_complex():
        return None
    count = int(test(plain).sum())
    return Reason(cause, node, count, plain.numel()) if count else None


def _logarithm(node: Any) -> Reason | None:
    """An infinite logarithm that is multiplied: the ``log`` of 0 that gave it, or this product where ``log_softmax`` did."""
    saved = _saved(node)
    producers = [producer for producer, _ in node.next_functions]
    for factor, producer in ((saved.get("self"), producers[0]), (saved.get("other"), producers[-1])):
        if factor is None or not _bad(factor):
            continue
        while producer is not None and name(producer) in _SHAPING:
            producer = producer.next_functions[0][0]
        if producer is None:
            continue
        if name(producer) in _LOGS and (found := _singular(producer)) is not None:
            return found
        if name(producer) in ("LogSoftmax", "LogSigmoid"):
            plain = plainly(factor)
            return Reason("log-of-zero", node, int(torch.isinf(plain).sum()), plain.numel(), product=True)
    return None


def _gives_bad(node: Any) -> bool:
    """Whether the result itself is not finite, not only its slope."""
    kind, saved = name(node), _saved(node)
    if kind in _LOGS or kind in ("Div", "Reciprocal"):
        return True
    if kind in ("Acos", "Asin"):
        return _counted("", node, saved.get("self"), lambda value: value.abs() > 1) is not None
    result = saved.get("result")
    return result is None or _bad(result)


def _saved(node: Any) -> dict[str, Any]:
    """What a node saved, by torch's name for it: tensors that are still held, and plain numbers."""
    found = {each.name.removeprefix("_saved_"): each.tensor for each in graph.saved(node) if each.state == "held"}
    exponent = getattr(node, "_saved_exponent", None)
    return {**found, "exponent": exponent} if isinstance(exponent, (int, float)) else found


def _bad(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not is_finite(value)


def _is_infinite(made: Any) -> bool:
    plain = [each for tensor in made if (each := plainly(tensor)) is not None and _bad(each)]
    return any(bool(torch.isinf(each).any()) for each in plain)
