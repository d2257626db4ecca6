"""A graph that is gone, or changed, is reached again: the tie is the value that leads from the new graph into the old one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

START = """
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
w = nn.Parameter(torch.rand(3))
optimizer = torch.optim.SGD([w], lr=0.1)
"""

PROGRAMS = {
    "a state": (
        """
        h = torch.zeros(3)
        for t in range(3):
            h = torch.tanh(h * w)  # <-
            optimizer.zero_grad()
            h.sum().backward()
            optimizer.step()
        """,
        "hidden-state-carried",
    ),
    "a sum of losses": (
        """
        total = 0.0
        for t in range(3):
            total = total + (w ** 2).sum()  # <-
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
        """,
        "loss-accumulated",
    ),
    "a list of losses": (
        """
        losses = []
        for t in range(3):
            losses.append((w ** 2).sum())
            optimizer.zero_grad()
            torch.stack(losses).mean().backward()  # <-
            optimizer.step()
        """,
        "loss-accumulated",
    ),
    "a value computed once": (
        """
        table = torch.sin(w)  # <-
        for t in range(3):
            optimizer.zero_grad()
            (table * t).sum().backward()
            optimizer.step()
        """,
        "freed-graph-reused",
    ),
    "a value that a function computes, called once before the loop": (
        """
        def table():
            return torch.sin(w)

        def main():
            values = table()  # <-
            for t in range(3):
                optimizer.zero_grad()
                (values * t).sum().backward()
                optimizer.step()

        main()
        """,
        "freed-graph-reused",
    ),
    "a value that a function computes anew for each round of several passes": (
        """
        def table():
            return torch.sin(w)  # <-

        for round in range(2):
            values = table()
            for t in range(3):
                optimizer.zero_grad()
                (values * t).sum().backward()
                optimizer.step()
        """,
        "freed-graph-reused",
    ),
    "a value made before the loop by a function that each turn calls as well": (
        """
        def embed(x):
            return torch.tanh(x * w)

        anchors = embed(torch.ones(3))  # <-
        for t in range(3):
            optimizer.zero_grad()
            (embed(torch.rand(3)) - anchors).pow(2).sum().backward()
            optimizer.step()
        """,
        "freed-graph-reused",
    ),
    "a state that is written in place": (
        """
        h = torch.zeros(3)
        for t in range(3):
            optimizer.zero_grad()
            h.add_(torch.sin(w))  # <-
            h.sum().backward()
            optimizer.step()
        """,
        "hidden-state-carried",
    ),
    "a value that a function called in each turn keeps": (
        """
        kept = []

        def table():
            if not kept:
                kept.append(torch.sin(w))  # <-
            return kept[0]

        for t in range(3):
            optimizer.zero_grad()
            (table() * t).sum().backward()
            optimizer.step()
        """,
        "freed-graph-reused",
    ),
    "a running average of losses": (
        """
        average = 0.0
        for t in range(3):
            loss = (w ** 2).sum()
            average = 0.9 * average + 0.1 * loss  # <-
            optimizer.zero_grad()
            (loss / average).backward()
            optimizer.step()
        """,
        "loss-accumulated",
    ),
    "two losses of one forward pass": (
        """
        out = torch.sin(w)
        first, second = out.sum(), (out ** 2).sum()
        first.backward()  # <-
        second.backward()
        optimizer.step()
        """,
        "freed-graph-reused",
    ),
    "the same loss twice": (
        """
        loss = torch.exp(w).sum()
        loss.backward()  # <-
        loss.backward()
        """,
        "freed-graph-reused",
    ),
    "a sample that is not detached": (
        """
        g, d = nn.Linear(3, 3), nn.Linear(3, 1)
        d_optimizer = torch.optim.SGD(d.parameters(), lr=0.1)
        fake = torch.tanh(g(torch.rand(2, 3)))
        d_loss = d(fake).mean()  # <-
        d_loss.backward()
        d_optimizer.step()
        g_loss = -d(fake).mean()
        g_loss.backward()
        """,
        "freed-graph-reused",
    ),
    "a graph that an optimizer has changed": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        first, second = net(torch.rand(2, 3)).mean(), net(torch.rand(2, 3)).mean()
        first.backward()
        optimizer.step()  # <-
        second.backward()
        """,
        "weights-updated-before-backward",
    ),
    "a kept graph that an optimizer has changed": (
        """
        cell, h = nn.Linear(3, 3), torch.zeros(1, 3)
        optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
        for t in range(3):
            h = torch.tanh(cell(h))  # <-
            optimizer.zero_grad()
            h.sum().backward(retain_graph=True)
            optimizer.step()
        """,
        "hidden-state-carried",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_names_the_line_that_ties(
    name: str, program: Callable[..., Path], report_of: Callable[..., dict[str, Any]]
) -> None:
    import textwrap

    body, cause = PROGRAMS[name]
    text = START.lstrip() + textwrap.dedent(body)
    wanted = next(number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# <-"))
    (finding,) = report_of(program(text))["findings"]
    assert (finding["cause"], finding["at"]["line"]) == (cause, wanted)


def test_names_the_output_that_the_line_reads(
    program: Callable[..., Path], report_of: Callable[..., dict[str, Any]]
) -> None:
    """A node with several outputs has several names: ``a, b = x.split(...)``."""
    text = START.lstrip() + (
        "d = nn.Linear(3, 1)\n"
        "opt = torch.optim.SGD(d.parameters(), lr=0.1)\n"
        "first, second = torch.tanh(w * torch.rand(4, 3)).split(2)\n"
        "d_loss = d(second).mean()\n"
        "d_loss.backward()\n"
        "opt.step()\n"
        "d(second).mean().backward()\n"
    )
    (finding,) = report_of(program(text))["findings"]
    assert finding["evidence"][0]["subject"] == "second"
