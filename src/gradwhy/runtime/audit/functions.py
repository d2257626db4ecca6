"""Compares the backward of custom functions with finite differences, on what the program itself gave them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from gradwhy.runtime.classes import function_of
from gradwhy.runtime.sites import Site, is_user_file, user_frame

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

_ELEMENTS_AT_MOST = 20_000
_CLASSES_AT_MOST = 32
_DRAWS = 4
_TOLERANCE = 0.05
_STEP, _SMALL_STEP = 1e-3, 1e-7
_PLAIN = (int, float, bool, str, type(None), torch.dtype, torch.Size)


@dataclass(slots=True)
class Call:
    """One call of a custom function: its class, copies of what it was given, and the line."""

    function: Any
    arguments: tuple[Any, ...]
    wanted: tuple[bool, ...]
    site: Site


@dataclass(frozen=True, slots=True)
class Wrong:
    """An input whose gradient is not the derivative: what backward gives along a direction, and what the values say."""

    function: Any
    index: int
    analytic: float
    numeric: float
    site: Site


class CustomFunctions:
    """The first call of each class of the program's own that is small enough to be tried again."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.calls: dict[Any, Call] = {}

    def applying(self, original: Any) -> Any:
        inner = function_of(original)

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if self._watch.recording and not kwargs and cls not in self.calls and len(self.calls) < _CLASSES_AT_MOST:
                self._watch._quietly(self._take, cls, args, sys._getframe(1))
            return inner(cls, *args, **kwargs)

        return classmethod(apply)

    def _take(self, cls: Any, args: tuple[Any, ...], frame: FrameType) -> None:
        user = user_frame(frame)
        code = getattr(cls.__dict__.get("backward"), "__func__", None)
        if user is None or code is None or not is_user_file(code.__code__.co_filename):
            return
        tensors = [each for each in args if isinstance(each, torch.Tensor)]
        small = sum(tensor.numel() for tensor in tensors) <= _ELEMENTS_AT_MOST
        if not small or not all(isinstance(each, (torch.Tensor, *_PLAIN)) for each in args):
            return
        with torch._C.DisableTorchFunction():
            copies = tuple(_copy(each) if isinstance(each, torch.Tensor) else each for each in args)
        wanted = tuple(isinstance(each, torch.Tensor) and each.requires_grad for each in args)
        self.calls[cls] = Call(cls, copies, wanted, Site(user.f_code, user.f_lasti))

    def wrong(self) -> Iterator[Wrong]:
        """Run each of them again, when the program is over. What raises or draws, or is plainly meant to be something else
        than the derivative, is left."""
        state = torch.get_rng_state()
        try:
            for call in self.calls.values():
                for index, wanted in enumerate(call.wanted):
                    if wanted:
                        try:
                            found = _compare(call, index)
                        except Exception:
                            found = None
                        if found is not None:
                            yield found
        finally:
            torch.set_rng_state(state)
            self.calls.clear()


def _copy(tensor: Any) -> Any:
    copy = tensor.detach().clone()
    return copy.double() if copy.is_floating_point() else copy


def _compare(call: Call, index: int) -> Wrong | None:
    base = call.arguments[index]
    if not base.is_floating_point():
        return None
    generator = torch.Generator().manual_seed(0)

    def value(shift: Any) -> Any:
        given = [a + shift if i == index else a for i, a in enumerate(call.arguments)]
        with torch.no_grad():
            result = call.function.apply(*given)
        return result if isinstance(result, torch.Tensor) else result[0]

    plain = value(torch.zeros_like(base))
    if not plain.is_floating_point() or not torch.equal(plain, value(torch.zeros_like(base))):
        return None
    if plain.shape == base.shape and torch.allclose(plain.double(), base, rtol=1e-4, atol=1e-6):
        # The identity: what its backward does is its whole purpose.
        return None
    differing: list[tuple[float, float]] = []
    moved = False
    for _ in range(_DRAWS):
        along = torch.randn(base.shape, generator=generator, dtype=base.dtype)
        weights = torch.randn(plain.shape, generator=generator, dtype=torch.float64)
        gradient = _gradient(call, index, weights)
        if gradient is None or _passed_on(gradient, weights):
            return None
        numeric = float(((value(_STEP * along) - value(-_STEP * along)).double() * weights).sum()) / (2 * _STEP)
        small = value(_SMALL_STEP * along) - value(-_SMALL_STEP * along)
        moved = moved or bool(small.any())
        analytic = float((gradient * along).sum())
        scale = float(gradient.norm() * along.norm()) + abs(numeric)
        if (
            abs(analytic - numeric)
            > _TOLERANCE * max(abs(analytic), abs(numeric)) + 1e-3 * scale / max(base.numel(), 1) ** 0.5
        ):
            differing.append((analytic, numeric))
    # A value that does not move at all is a step: there the gradient is somebody's choice.
    if len(differing) < _DRAWS - 1 or not moved:
        return None
    analytic, numeric = max(differing, key=lambda pair: abs(pair[1]))
    return Wrong(call.function, index, analytic, numeric, call.site)


def _gradient(call: Call, index: int, weights: Any) -> Any:
    given = [a.clone().requires_grad_(w) if w and isinstance(a, torch.Tensor) and a.is_floating_point() else a
             for a, w in zip(call.arguments, call.wanted)]  # fmt: skip
    with torch.enable_grad():
        result = call.function.apply(*given)
    result = result if isinstance(result, torch.Tensor) else result[0]
    (gradient,) = torch.autograd.grad(result, [given[index]], weights.to(result.dtype), allow_unused=True)
    return None if gradient is None else gradient.double()


def _passed_on(gradient: Any, weights: Any) -> bool:
    """Whether backward hands on what it is given, times a number: straight through."""
    if gradient.shape != weights.shape:
        return False
    square = float((weights * weights).sum())
    factor = float((gradient * weights).sum()) / square if square else 0.0
    return factor != 0.0 and torch.allclose(gradient, factor * weights, rtol=1e-4, atol=1e-6)
