"""What a package does on a program's behalf: a trainer that goes backward, switches gradients, steps and freezes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradwhy.runtime.classes import function_of

Write = Callable[..., Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

TRAINER = """
import torch


class Trainer:
    def __init__(self, evaluate_under=torch.inference_mode):
        self._state = type("State", (), {})()
        self.evaluate_under = evaluate_under

    def fit(self, model, batches, optimizer):
        self._state.model = model
        for batch in batches:
            batch = batch.to("cpu")
            loss = model.step(batch)
            loss = loss.detach() if False else loss
            optimizer.zero_grad()
            loss.backward()
            # Handed on by position, as a wrapped optimizer does it.
            optimizer.step(None)

    def test(self, model, batch):
        with self.evaluate_under():
            return model.measure(batch)


def without(model):
    class Off:
        def __enter__(self):
            for p in model.adapter.parameters():
                p.requires_grad = False
            model.uses_adapter = False

        def __exit__(self, *reason):
            for p in model.adapter.parameters():
                p.requires_grad = True
            model.uses_adapter = True

    return Off()
"""


@pytest.fixture
def report(program: Write, gradwhy: Run, tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    def run(text: str) -> dict[str, Any]:
        program(TRAINER, "site-packages/host.py")
        program(
            f'import sys\nsys.path.insert(0, "site-packages")\nimport host\nimport torch\nfrom torch import nn\n{text}'
        )
        gradwhy("run", "--format", "json", "--output", "report.json", "train.py")
        found: dict[str, Any] = json.loads((tmp_path / "report.json").read_text("utf-8"))
        return found

    return run


def test_a_loss_that_a_trainer_goes_backward_on_has_the_name_that_the_program_gave_it(
    report: Callable[[str], dict[str, Any]],
) -> None:
    found = report("""
class Model(nn.Linear):
    def step(self, batch):
        error = self(batch).pow(2).mean().detach()
        return error

model = Model(3, 1)
host.Trainer().fit(model, torch.randn(2, 4, 3), torch.optim.SGD(model.parameters(), lr=0.1))
""")
    (finding,) = found["findings"]
    assert (finding["cause"], finding["at"]["line"], finding["surfaces_at"]["line"]) == ("detach", 9, 13)
    assert "`error`" in finding["message"]
    # The trainer moved the batch, and nobody wonders about that.
    assert not [e for e in finding["evidence"] if e["subject"] == "device"]


def test_enable_grad_inside_of_inference_mode_brings_no_history_back(report: Callable[[str], dict[str, Any]]) -> None:
    found = report("""
class Model(nn.Linear):
    def measure(self, batch):
        with torch.enable_grad():
            x = batch.clone().requires_grad_()
            return torch.autograd.grad(self(x).sum(), x)[0]

host.Trainer().test(Model(3, 1), torch.randn(4, 3))
""")
    (finding,) = found["findings"]
    assert (finding["cause"], finding["at"]["line"]) == ("inference_mode-context", 13)


def test_a_part_that_was_switched_off_while_the_loss_was_made(report: Callable[[str], dict[str, Any]]) -> None:
    found = report("""
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.base, self.adapter, self.uses_adapter = nn.Linear(3, 3).requires_grad_(False), nn.Linear(3, 3), True

    def forward(self, x):
        return self.base(x) + self.adapter(x) if self.uses_adapter else self.base(x)

model = Model()
optimizer = torch.optim.SGD(model.adapter.parameters(), lr=0.1)
with host.without(model):
    before = model(torch.ones(2, 3))
    loss = model(torch.ones(2, 3)).pow(2).mean() - before.mean()
optimizer.zero_grad()
loss.backward()
""")
    (finding,) = found["findings"]
    assert (finding["cause"], finding["at"]["line"], finding["certainty"]) == ("frozen-part", 17, "likely")


def test_a_step_between_two_backward_passes_through_one_forward_pass(report: Callable[[str], dict[str, Any]]) -> None:
    found = report("""
net, centers = nn.Linear(3, 2), nn.Parameter(torch.randn(4, 2))
first, second = torch.optim.SGD([centers], lr=0.1), torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    distances = torch.cdist(net(torch.randn(5, 3)), centers)
    distances.mean().backward(retain_graph=True)
    first.step(None)
    distances.pow(2).mean().backward()
    second.step(None)
""")
    (finding,) = found["findings"]
    assert (finding["cause"], finding["at"]["line"]) == ("weights-updated-before-backward", 12)


def test_a_class_method_may_be_written_in_c() -> None:
    made = function_of(vars(dict)["fromkeys"])(dict, ["a"], 1)
    assert made == {"a": 1}

    class Own:
        @classmethod
        def make(cls, value: int) -> tuple[str, int]:
            return cls.__name__, value

    assert function_of(vars(Own)["make"])(Own, 2) == ("Own", 2)
