"""With ``--nan``: looks at each gradient that a backward pass makes, until the first that is not finite."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from gradwhy.runtime import graph, nonfinite
from gradwhy.runtime.node_lines import Made
from gradwhy.runtime.records import node_of

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch


@dataclass(frozen=True, slots=True)
class Trouble:
    """The first gradient of a pass that is not finite: which node made it, where that node and the reason were made.

    Lines and numbers only.
    """

    cause: str
    node: str
    kind: str
    made: Made | None
    reason: Made | None
    count: int
    of: int
    product: bool
    dtype: str


class Pass:
    """One backward pass: a hook on each node that is looked at, removed afterwards. The hooks look, and change nothing.

    Most nodes only pass on what they are given. They are looked at where the loss itself is not finite, or where an earlier pass
    has shown that nothing else is to blame.
    """

    def __init__(self, watch: Watch, outputs: Any, closely: bool) -> None:
        self._watch = watch
        starts = [getattr(output, "node", None) or node_of(output) for output in outputs]
        self._walk = graph.nodes_from([node for node in starts if node is not None])
        self.trouble: Trouble | None = None
        self.came_in = False
        self.missed = False
        closely = closely or not all(nonfinite.is_finite(output) for output in outputs)
        self._handles = [
            node.register_hook(self._hook(node))
            for node in self._walk
            if (closely or not nonfinite.passes_on(node)) and not node.name().endswith("AccumulateGrad")
        ]

    def _hook(self, node: Any) -> Callable[[Any, Any], None]:
        def look(results: Any, given: Any) -> None:
            if self.trouble is None and not self.came_in:
                self._watch._quietly(self._look, node, results, given)

        return look

    def _look(self, node: Any, results: Any, given: Any) -> None:
        bad = next((gradient for gradient in results if not nonfinite.is_finite(gradient)), None)
        if bad is None:
            return
        if not all(nonfinite.is_finite(gradient) for gradient in given):
            self.came_in = True
            return
        # Imported here: it leads back to the module that imports this one.
        from gradwhy.runtime.lifetime import made

        reason = nonfinite.reason(node, self._walk, given, results)
        plain = nonfinite.plainly(bad)
        recorder = self._watch.recorder
        self.trouble = Trouble(
            cause=reason.cause,
            node=nonfinite.shown(node),
            kind="nan" if bool(torch.isnan(plain).any()) else "inf",
            made=made(node, recorder),
            reason=made(reason.node, recorder),
            count=reason.count,
            of=reason.of,
            product=reason.product,
            dtype=str(plain.dtype).removeprefix("torch."),
        )

    def end(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def reached(self, results: Any) -> tuple[int, ...]:
        """The leaves, or the results of ``autograd.grad``, that are not finite now."""
        leaves = [leaf for node in self._walk if (leaf := graph.variable_of(node)) is not None]
        filled = [id(leaf) for leaf in leaves if leaf.grad is not None and not nonfinite.is_finite(leaf.grad)]
        given = results if isinstance(results, (tuple, list)) else ()
        return (*filled, *(id(each) for each in given if each is not None and not nonfinite.is_finite(each)))

    def forget(self) -> None:
        self._walk = {}


def install(watch: Watch) -> Callable[[], None]:
    """Look at each pass of the engine (torch/autograd/graph.py, ``_engine_run_backward``) until one is found."""
    undo: list[Callable[[], None]] = []
    if not watch.nan or not hasattr(torch.autograd, "_engine_run_backward"):
        return lambda: None

    closely = False

    def make(original: Any) -> Any:
        def _engine_run_backward(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal closely
            begun: list[Pass] = []
            if watch.trouble is None and torch._C._len_torch_dispatch_stack() == 0:
                watch._quietly(lambda: begun.append(Pass(watch, outputs, closely)))
            results, failed = None, True
            try:
                results = original(outputs, *args, **kwargs)
                failed = False
            finally:
                for each in begun:
                    watch._quietly(_ended, watch, each, results, failed, sys._getframe(1))
                    closely = closely or each.missed
            return results

        return _engine_run_backward

    watch._replace(torch.autograd, "_engine_run_backward", make, undo)
    return lambda: watch._unpatch(undo)


def _ended(watch: Watch, each: Pass, results: Any, failed: bool, frame: FrameType) -> None:
    """A gradient that is not finite on the way, and repaired before it arrived, is nobody's trouble."""
    each.end()
    reached = each.reached(results)
    if each.trouble is not None and watch.trouble is None:
        if failed:
            watch.trouble = each.trouble
        elif reached:
            from gradwhy.runtime.probes import nan_grad

            found = nan_grad.look(each.trouble, reached, frame, watch)
            if found:
                watch.trouble = each.trouble
                watch.silent = [*watch.silent, *found]
    each.missed = bool(reached) and each.trouble is None
    each.forget()
