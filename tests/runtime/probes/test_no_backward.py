"""A loss that is a number or an array: the line where it left torch, or the number that nothing was added to."""

from __future__ import annotations

from typing import Any

import pytest
from marking import check, reports_of

HEAD = """
        import torch
        import numpy as np
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x, y = torch.randn(8, 4), torch.randn(8, 1)
"""
PROGRAMS = {
    "item in a function": """
        def loss_of(x, y):
            return ((model(x) - y) ** 2).mean().item()  # here: item
        for _ in range(2):
            optimizer.zero_grad()
            loss = loss_of(x, y)
            loss.backward()
    """,
    "a running total": """
        total = 0
        for part, target in zip(x.split(4), y.split(4)):
            loss = (model(part) - target).square().mean()
            total += loss.item()  # here: item
        total.backward()
    """,
    "float by the side, one for the log": """
        log = []
        loss = (model(x) - y).abs().mean()
        log.append(loss.item())
        loss = float(loss) + 0.1  # here: item
        loss.backward()
    """,
    "numpy's mean": """
        out = model(x)
        loss = np.mean((out.detach().numpy() - y.numpy()) ** 2)  # here: numpy-roundtrip
        loss.backward()
    """,
    "attribute set in another method": """
        class Trainer:
            def forward(self, x, y):
                self.loss = (model(x) - y).square().mean().item()  # here: item
            def step(self):
                self.loss.backward()
        trainer = Trainer()
        trainer.forward(x, y)
        trainer.step()
    """,
    "handed to a function": """
        def step(loss):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        value = (model(x) - y).square().mean().tolist()  # here: item
        step(value)
    """,
    "carried from an earlier turn": """
        best = None
        for _ in range(3):
            loss = (model(x) - y).square().mean()
            if best is not None:
                best.backward()
            best = loss.item()  # here: item
    """,
    "nothing was added": """
        total = 0  # here: number-loss
        for part in x.split(4):
            if part.shape[0] > 4:
                total = total + model(part).sum()
        total.backward()
    """,
    "an empty sum": """
        losses = [model(part).sum() for part in x.split(4) if len(part) > 4]
        loss = sum(losses)  # here: number-loss
        loss.backward()
    """,
    "a number given back early": """
        def loss_of(x, y):
            if len(x) == 0:
                return 0.0  # here: number-loss
            return (model(x) - y).square().mean()
        for end in (8, 0):
            loss = loss_of(x[:end], y[:end])
            loss.backward()
    """,
    "a number of somebody else": """
        import math
        reward = math.fsum([0.5, 0.25])  # here: number-loss
        reward.backward()
    """,
    "right": """
        total = 0
        shown = 0.0
        for part, target in zip(x.split(4), y.split(4)):
            loss = (model(part) - target).square().mean()
            shown += loss.item()
            total = total + loss
        total.backward()
        print(float(total), shown)
    """,
    "an attribute of that name on another type": """
        class Car: pass
        try:
            Car().backward()
        except AttributeError:
            pass
        Car().backward()
    """,
}
PROGRAMS = {name: HEAD + program for name, program in PROGRAMS.items()}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of(PROGRAMS, tmp_path_factory.mktemp("no_backward"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_line_where_the_loss_left_torch(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(PROGRAMS[name], reports[name])
