"""The audit in code: a ``with`` block, and one assertion for tests."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest
import torch
from torch import nn

import gradwhy


class Two(nn.Module):
    def __init__(self, cut: bool) -> None:
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)
        self.cut = cut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.norm(self.first(x))
        return self.second(hidden.detach() if self.cut else hidden)


def loss_of(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    return model(batch).pow(2).mean()


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 3) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(model, torch.randn(5, 3)).backward()
        optimizer.step()


@pytest.mark.parametrize("cut", [True, False])
def test_a_block_is_accounted_for(cut: bool) -> None:
    model = Two(cut)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradwhy.audit(model, optimizer) as audit:
        train(model, optimizer)
    assert [finding.cause for finding in audit.report.findings] == (["detach"] if cut else [])
    assert len(audit.report.parameters) == 6
    assert not audit.report.notes


def test_what_the_block_raises_comes_out_and_is_diagnosed() -> None:
    model = Two(False)
    with pytest.raises(RuntimeError, match="does not require grad"), gradwhy.audit() as audit:
        loss_of(model, torch.randn(5, 3)).detach().backward()
    assert [finding.cause for finding in audit.report.findings] == ["detach"]


def test_nothing_of_the_program_is_held_afterwards() -> None:
    model = Two(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradwhy.audit(model, optimizer) as audit:
        train(model, optimizer)
    kept = weakref.ref(model)
    del model, optimizer
    gc.collect()
    assert kept() is None
    assert audit.report.parameters


def test_gradients_that_flow_raise_nothing() -> None:
    gradwhy.assert_gradients_flow(Two(False), loss_of, torch.randn(5, 3), allow=["norm.*", "first.bias"])


def test_a_parameter_without_a_gradient_is_named_with_the_line() -> None:
    with pytest.raises(AssertionError) as caught:
        gradwhy.assert_gradients_flow(Two(True), loss_of, torch.randn(5, 3))
    said = str(caught.value)
    assert said.startswith("4 of 6 parameters")
    assert "first.weight" in said and "hidden.detach()" in said and "test_inline.py:" in said
    assert "second" not in said


def test_frozen_parameters_must_be_allowed() -> None:
    model = Two(False)
    model.first.requires_grad_(False)
    with pytest.raises(AssertionError, match=r"first\.weight\s+frozen"):
        gradwhy.assert_gradients_flow(model, loss_of, torch.randn(5, 3), allow=["norm.*"])
    gradwhy.assert_gradients_flow(model, loss_of, torch.randn(5, 3), allow=["norm.*", "first.*"])


def test_a_loss_without_a_path_is_an_assertion_with_the_reason() -> None:
    with pytest.raises(AssertionError, match=r"test_inline\.py:"):
        gradwhy.assert_gradients_flow(
            Two(False), lambda model, batch: loss_of(model, batch).detach(), torch.randn(5, 3)
        )


def test_the_model_is_left_as_it_was() -> None:
    model = Two(False)
    loss_of(model, torch.randn(5, 3)).backward()
    gradients = [p.grad for p in model.parameters()]
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    random = torch.get_rng_state()
    gradwhy.assert_gradients_flow(model, loss_of, torch.randn(5, 3), allow=["*.bias", "norm.*"])
    assert all(p.grad is before for p, before in zip(model.parameters(), gradients))
    assert all(torch.equal(buffer, buffers[name]) for name, buffer in model.named_buffers())
    assert not torch.equal(random, torch.get_rng_state())  # the argument of the call above has drawn


def test_import_loads_no_torch() -> None:
    code = "import gradwhy, sys; assert 'torch' not in sys.modules; gradwhy.audit; assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
