"""The user's names for what is alive, read without running the user's code."""

from __future__ import annotations

import sys
from typing import Any

import torch

from gradwhy.runtime.failure import LiveFrame
from gradwhy.runtime.names import Names
from gradwhy.runtime.sites import Site


class Hostile:
    """Raises, or worse, whenever it is asked for anything."""

    def __init__(self) -> None:
        object.__setattr__(self, "net", torch.nn.Linear(2, 1))

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"asked for {name}")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")

    def __hash__(self) -> int:
        raise AssertionError("hashed")


def names_here() -> Names:
    frame = sys._getframe(1)
    return Names([LiveFrame(frame, Site(frame.f_code, frame.f_lasti))])


def test_modules_parameters_and_tensors_by_name() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
    nets = {"critic": torch.nn.Linear(2, 2)}
    loss = model(torch.ones(1, 3)).sum()
    names = names_here()
    assert names.parameters[id(model[0].weight)] == "model.0.weight"
    assert names.parameters[id(nets["critic"].bias)] == "nets['critic'].bias"
    assert names.variable(loss) == "loss"
    assert names.owner_of([id(p) for p in model.parameters()]) == "model"


def test_an_object_that_must_not_be_touched_is_not() -> None:
    trap = Hostile()
    names = names_here()
    assert names.modules["trap.net"] is object.__getattribute__(trap, "net")
