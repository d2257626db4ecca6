"""The contract on the torch that is installed: every row, and the order of the checks."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from gradwhy.contract import axes, checks, programs, results
from gradwhy.contract.axes import Combination
from gradwhy.runtime import contract

STORED = results.version_of(contract.version())
CALLS = list(axes.axes()["call"].values)

pytestmark = pytest.mark.skipif(STORED is None, reason="no results of this torch: make contract")


@pytest.mark.parametrize("call", CALLS)
def test_each_row_gives_what_is_stored(call: str) -> None:
    rows = results.load(str(STORED)).rows
    wanted = [each for each in axes.table() if each["call"] == call]
    other = [each for each, outcome in contract.run_all(wanted) if outcome != rows[each]]
    assert not other, f"{len(other)} of {len(wanted)} differ, such as {other[0]}"


def test_a_run_leaves_torch_as_it_was() -> None:
    always, threads = torch.is_warn_always_enabled(), torch.get_num_threads()
    for chosen in ({"graph": "inference"}, {"mode": "no-grad"}, {"call": "func.grad", "body": "backward"}):
        contract.run(axes.combination(chosen))
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
        assert (torch.is_warn_always_enabled(), torch.get_num_threads()) == (always, threads)


def test_a_run_is_not_changed_by_where_it_is_made() -> None:
    plain = axes.combination({})
    with torch.no_grad():
        assert contract.run(plain) == results.load(str(STORED)).rows[plain]


# -- the order of the checks


class Call:
    """What a call was given, in the place of the call."""

    def __init__(self, outputs: Any, inputs: Any, gradients: Any, arguments: dict[str, Any]) -> None:
        self.outputs = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
        self.inputs = [inputs] if isinstance(inputs, torch.Tensor) else list(inputs)
        given = [gradients] if isinstance(gradients, torch.Tensor) or gradients is None else list(gradients)
        self.gradients = (given + [None] * len(self.outputs))[: len(self.outputs)]
        self.arguments = arguments

    def first_failing(self) -> str | None:
        """The check that fails first, computed from the tensors alone."""
        pairs = list(zip(self.outputs, self.gradients))
        failing: list[tuple[str, Callable[[], bool]]] = [
            ("clash", lambda: self.arguments.get("materialize_grads") is True and self.arguments.get("allow_unused") is False),
            ("inputs-empty", lambda: not self.inputs),
            ("gradient", lambda: any(g is not None and g.shape != o.shape for o, g in pairs)),
            ("gradient", lambda: any(g is not None and g.is_complex() != o.is_complex() for o, g in pairs)),
            ("scalar", lambda: any(g is None and o.requires_grad and (o.numel() != 1 or o.is_complex()) for o, g in pairs)),
            ("has-graph", lambda: not all(o.requires_grad for o in self.outputs)),
            ("inputs-kind", lambda: not all(isinstance(i, torch.Tensor) for i in self.inputs)),
            ("requires-grad", lambda: not all(i.requires_grad for i in self.inputs)),
            ("reached", lambda: not self.lenient and not all(self.reached(i) for i in self.inputs)),
        ]  # fmt: skip
        return next((name for name, fails in failing if fails()), None)

    @property
    def lenient(self) -> bool:
        """Whether an input may stay unreached: ``allow_unused`` takes its default from ``materialize_grads``."""
        default = self.arguments.get("materialize_grads", False)
        return bool(self.arguments.get("allow_unused", default)) or "filling" in self.arguments

    def reached(self, tensor: torch.Tensor) -> bool:
        """Whether the graph behind the outputs comes to a tensor."""
        left, seen = [o.grad_fn for o in self.outputs if o.grad_fn is not None], set()
        if any(o is tensor for o in self.outputs):
            return True
        while left:
            node = left.pop()
            if node in seen:
                continue
            seen.add(node)
            if getattr(node, "variable", None) is tensor or (tensor.grad_fn is not None and node is tensor.grad_fn):
                return True
            left += [following for following, _ in node.next_functions if following is not None]
        return False


# Graphs that torch finds used up or changed only while it walks them have a test of their own; a second call as well.
PLAIN = [
    each
    for each in axes.table()
    if each["call"] in ("grad", "backward-inputs")
    and each["graph"] not in ("freed", "inplace")
    and each["again"] == "no"
    and each["is-grads-batched"] == "unset"
    and each["input"] not in ("edge", "number", "dict", "inference-saved")
    and each["output"] not in ("number", "edge", "edge+ones", "vector+number")
]


def seen(each: Combination, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run a program up to its call, and see what the call is given."""
    calls: list[Call] = []

    def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, **arguments: Any) -> None:
        calls.append(Call(outputs, inputs, grad_outputs, arguments))

    def backward(self: Any, gradient: Any = None, inputs: Any = None, **arguments: Any) -> None:
        calls.append(Call(self, inputs, gradient, {"filling": True, **arguments}))

    program = programs.program(each)
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec("\n".join(program.before), names)
    with monkeypatch.context() as patch:
        patch.setattr(torch.autograd, "grad", grad)
        patch.setattr(torch.Tensor, "backward", backward)
        exec("\n".join(program.call), names)
    (call,) = calls
    return call


def test_the_check_that_fails_first_is_the_one_that_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = results.load(str(STORED)).rows
    assert len(PLAIN) > 2500
    decided = []
    for each in PLAIN:
        verdict = checks.judge(each, rows[each], str(STORED))
        assert seen(each, monkeypatch).first_failing() == verdict.decided, each
        decided.append(verdict.decided)
    assert {"has-graph", "requires-grad", "reached", None} <= set(decided)


@pytest.mark.parametrize("graph", ["fresh", "no-grad"])
@pytest.mark.parametrize("input", ["before", "plain", "after"])
def test_the_three_checks_have_their_order(graph: str, input: str) -> None:
    """No graph is said before anything of the inputs, and that an input has no flag before that it was not reached."""
    outcome = contract.run(axes.combination({"input": input, "graph": graph}))
    first = {"before": None, "plain": "requires-grad", "after": "reached"}[input]
    wanted = "has-graph" if graph == "no-grad" else first
    assert checks.judge(axes.combination({"input": input, "graph": graph}), outcome, str(STORED)).decided == wanted


def test_what_was_saved_is_looked_at_between_the_flags_and_the_inputs_that_are_reached() -> None:
    for graph in ("freed", "inplace"):
        for input, wanted in (("before", "saved"), ("plain", "requires-grad"), ("list-good-unused", "saved")):
            each = axes.combination({"input": input, "graph": graph})
            assert checks.judge(each, contract.run(each), str(STORED)).decided == wanted


def test_after_the_third_check_the_graph_is_used_up() -> None:
    """The message advises allow_unused=True; the second call then says that the graph was freed."""
    outcome = contract.run(axes.combination({"input": "list-good-unused", "again": "with-allow-unused"}))
    texts = [str(step.raised) for step in outcome.steps]
    assert re.search("not have been used", texts[0]) and re.search("second time", texts[1])
