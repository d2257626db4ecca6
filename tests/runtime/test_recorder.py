"""What the recorder remembers of torch calls, and what it leaves alone."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gradwhy.runtime.ancestry import behind, torch_name
from gradwhy.runtime.records import Record
from gradwhy.runtime.watch import Watch


@pytest.fixture
def watch() -> Iterator[Watch]:
    watch = Watch("always")
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def cuts_behind(watch: Watch, tensor: torch.Tensor) -> list[str]:
    record = watch.recorder.record_of(tensor)
    return [torch_name(r.record.func) for r in behind(record) if r.record.is_cut] if record is not None else []


def leaf() -> torch.Tensor:
    return torch.tensor([[1.0, 3.0, 2.0], [0.5, 0.1, 0.9]], requires_grad=True)


CUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "torch.Tensor.argmax": lambda x: (x * 2).argmax(1).float().sum(),
    "torch.max": lambda x: torch.max(x * 2, 1)[1].float().sum(),
    "torch.Tensor.detach": lambda x: (x * 2).detach().exp().sum(),
    "torch.Tensor.data.__get__": lambda x: (x * 2).data.sum(),
    "torch.Tensor.gt": lambda x: ((x * 2) > 1).float().mean(),
    "torch.Tensor.long": lambda x: (x * 2).long().sum(),
    "torch.Tensor.item": lambda x: torch.tensor((x / 7).sum().item()),
    "torch.Tensor.numpy": lambda x: torch.tensor((x / 3).detach().numpy()).sum(),
    "torch.tensor": lambda x: torch.tensor([x[0, 0] / 3, x[0, 1] / 3]).sum(),
    "torch.autograd.grad": lambda x: torch.autograd.grad((x**2).sum(), x)[0].sum(),
    "torch.autograd.variable.Variable": lambda x: torch.autograd.Variable(x * 2).sum(),
}


@pytest.mark.parametrize("name", CUTS)
def test_finds_the_cut_behind_a_value(watch: Watch, name: str) -> None:
    loss = CUTS[name](leaf())
    assert not loss.requires_grad
    record = watch.recorder.record_of(loss)
    assert record is not None
    names = [torch_name(reached.record.func) for reached in behind(record)]
    assert name in names
    assert cuts_behind(watch, loss), "some cut is behind it"


def test_a_cut_through_containers_and_in_place(watch: Watch) -> None:
    parts = torch.zeros(3)
    parts[0] = (leaf() * 2).sum().detach()
    total = torch.stack([parts, parts]).sum()
    total += 1
    assert cuts_behind(watch, total) == ["torch.Tensor.detach"]


def test_a_result_that_ignores_the_values_is_no_cut(watch: Watch) -> None:
    x = leaf()
    noise = torch.zeros_like(x) + torch.ones(x.shape)
    record = watch.recorder.record_of(noise.sum())
    assert record is not None
    from gradwhy.torchapi import table

    cuts = [r for r in behind(record) if r.record.is_cut]
    assert all(table.load().op(torch_name(r.record.func)).effect == "constant" for r in cuts)  # type: ignore[union-attr]


def test_keeps_no_tensor_alive(watch: Watch) -> None:
    x = leaf()
    y = x * 2
    made = [y, y.detach(), y.argmax(1), y.detach().exp()]
    kept = [weakref.ref(tensor) for tensor in made]
    values = [y.detach().sum().item(), y.tolist()]
    del y, made
    gc.collect()
    assert [reference() for reference in kept] == [None] * len(kept)
    assert watch.recorder.departures and values


def test_keeps_no_graph_alive(watch: Watch) -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.payload = payload
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * 2

    class Payload:
        pass

    payload: Payload | None = Payload()
    alive = weakref.ref(payload)
    out = Doubled.apply(leaf())
    cut = out.detach()
    del out
    payload = None
    gc.collect()
    assert alive() is None, "what the node held is gone with it"
    assert cuts_behind(watch, cut.sum())


def test_a_long_chain_of_untracked_values_stays_bounded(watch: Watch) -> None:
    average = torch.zeros(1)
    for _ in range(3_000):
        average = average * 0.9 + 0.1
    record = watch.recorder.record_of(average)
    assert record is not None
    assert len(behind(record)) <= 4_100


def test_a_long_run_stays_bounded(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradwhy.runtime import departed, node_lines, recorder

    monkeypatch.setattr(departed, "_NUMBERS_KEPT", 100)
    monkeypatch.setattr(node_lines, "_LINES_KEPT", 100)
    monkeypatch.setattr(recorder, "_PRUNE_AT", 100)
    watch.recorder._prune_at = 100
    for step in range(1_000):
        (leaf() * (step + 0.1)).sum().item()
        (leaf().detach() + step).sum()
    assert len(watch.recorder.nodes.lines) <= 100
    assert len(watch.recorder.departures.numbers) <= 110
    assert len(watch.recorder.records) <= 210


def test_torch_swap_tensors_still_swaps_parameters(watch: Watch) -> None:
    a, b = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.zeros(2))
    (a * 2).detach().sum().item()
    a.requires_grad_(False)
    torch.utils.swap_tensors(a, b)
    assert a.tolist() == [0.0, 0.0]


def test_a_fault_of_ours_never_reaches_the_program(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*arguments: object) -> Record:
        raise LookupError("on purpose")

    monkeypatch.setattr(watch.recorder, "_untracked", crash)
    assert [leaf().detach().sum().item() for _ in range(9)] == [7.5] * 9
    assert all(isinstance(fault, LookupError) for fault in watch.recorder.faults)
    assert not watch.recorder.active, "after a few it stays out of the way"


def test_a_view_whose_node_torch_refuses_to_make(watch: Watch) -> None:
    base = leaf() * 2
    with torch.no_grad():
        view = base[0]
    base.mul_(2)
    with pytest.raises(RuntimeError, match="view was created in no_grad"):
        view.grad_fn  # noqa: B018
    assert view.detach().sum().item() == 24.0
    assert not watch.recorder.faults


OPERATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "double": lambda x: x * 2,
    "exp": lambda x: x.float().clamp(max=3).exp(),
    "detach": lambda x: x.detach(),
    "compare": lambda x: (x > 0.5).float(),
    "argmax": lambda x: x.argmax(0).float() + x,
    "round": lambda x: x.round(),
    "data": lambda x: x.data,
    "integers": lambda x: x.long().float(),
    "view": lambda x: x.reshape(-1),
    "sorted": lambda x: x.sort().values,
    "ranked": lambda x: x.sort().indices.float(),
    "numpy": lambda x: torch.from_numpy(x.detach().numpy()),
}


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, max_size=6), st.sampled_from(["on", "off", "inference"])
)
def test_small_programs_agree_with_torch(names: list[str], mode: str) -> None:
    """torch is the oracle: where it says that a value has no path, a cut is behind it; where it has one, none is asked."""
    watch = Watch("always")
    watch.start()
    try:
        x = torch.tensor([0.3, 1.7, 0.9], requires_grad=True)
        context: Any = {"on": torch.enable_grad, "off": torch.no_grad, "inference": torch.inference_mode}[mode]
        with context():
            value = x * 3
            for name in names:
                value = OPERATIONS[name](value)
        found = cuts_behind(watch, value)
        assert bool(found) is not value.requires_grad
        assert not watch.recorder.faults
    finally:
        watch.stop()


def test_a_lazy_parameter_has_no_shape_and_is_no_trouble(watch: Watch) -> None:
    net = torch.nn.Sequential(torch.nn.LazyLinear(3), torch.nn.LazyBatchNorm1d())
    with torch.no_grad():
        net(torch.randn(4, 2))
    net(torch.randn(4, 2)).sum().backward()
    assert watch.recorder.faults == []
