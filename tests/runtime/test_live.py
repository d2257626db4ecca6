"""Names are looked up in live frames without running the user's code: no property, no ``__getattr__``, no ``__getitem__``."""

from __future__ import annotations

import ast
import sys
from typing import Any

import torch
from torch import nn

from gradwhy.runtime import live
from gradwhy.runtime.failure import LiveFrame
from gradwhy.runtime.names import Names
from gradwhy.runtime.sites import Site


class Tripwire:
    """Fails the test if any of its own code runs."""

    def __init__(self) -> None:
        self.held = torch.ones(2)

    @property
    def tensor(self) -> torch.Tensor:
        raise AssertionError("a property was run")

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"__getattr__ was run for {name}")

    def __getitem__(self, key: object) -> Any:
        raise AssertionError("__getitem__ was run")

    def __iter__(self) -> Any:
        raise AssertionError("__iter__ was run")

    def __len__(self) -> int:
        raise AssertionError("__len__ was run")


def here() -> LiveFrame:
    frame = sys._getframe(1)
    return LiveFrame(frame, Site(frame.f_code, frame.f_lasti))


def look(text: str, frame: LiveFrame) -> Any:
    return live.value(ast.parse(text, mode="eval").body, frame)


def test_follows_attributes_items_and_modules() -> None:
    trap, net = Tripwire(), nn.Sequential(nn.Linear(2, 2))
    box = {"w": torch.zeros(3), "list": [torch.ones(1)]}
    frame = here()
    assert look("trap.held", frame) is trap.held
    assert look("box['w']", frame) is box["w"]
    assert look("box['list'][0]", frame) is box["list"][0]
    assert look("net.weight", frame) is None
    assert live.attribute(net[0], "weight") is net[0].weight


def test_answers_none_where_only_the_users_code_could_tell() -> None:
    trap = Tripwire()
    frame = here()
    assert look("trap.tensor", frame) is None
    assert look("trap.missing", frame) is None
    assert look("trap[0]", frame) is None
    assert look("trap.held[trap]", frame) is None
    assert look("nobody", frame) is None
    del trap


def test_names_walk_past_such_objects() -> None:
    trap = Tripwire()
    found = dict(Names([here()]).tensors())
    assert found["trap.held"] is trap.held
