"""Small tensor programs put together by hypothesis: what the static engine says of a name is true of the tensor."""

from __future__ import annotations

import random
import textwrap
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradwhy.source.text import SourceText
from gradwhy.static.flow.histories import MAYBE, NO, YES
from gradwhy.static.flow.run import Run
from gradwhy.static.flow.values import Tensor, plain

HEAD = """\
import random
import torch
import torch.nn.functional as F
from torch import nn


def double(t, detach=False):
    return t.detach() * 2 if detach else t * 2


@torch.no_grad()
def quiet(t):
    return t + 1


class Keep:
    def __init__(self, t):
        self.t = t

    def swap(self, other):
        before, self.t = self.t, other
        return before


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, t):
        return torch.relu(self.fc(t))


net, keep = Net(), Keep(torch.zeros(3))
a, b, c, d = torch.ones(3, requires_grad=True), torch.zeros(3), torch.randn(3), torch.ones(3) * 2
items, table = [a], {"x": b}
"""
NAMES = ["a", "b", "c", "d"]
SIMPLE = [
    "{x} = {y} + {z}", "{x} = {y} * 2 - {z}", "{x} = ({y} @ {z}) * torch.ones(3)", "{x} = {y}.detach()", "{x} = {y}.data",
    "{x} = {y}.clone()", "{x} = net({y})", "{x} = double({y})", "{x} = double({y}, detach=True)", "{x} = quiet({y})",
    "{x} = torch.tensor([v.item() for v in {y}])", "{x} = ({y} > {z}).float()", "{x} = {y}.argmax() + {z}",
    "{x} = torch.stack([{y}, {z}]).sum(0)", "{x} = F.softmax({y}, dim=0)", "{x} = {y}.reshape(3)", "{x} = {y}.sort().values",
    "{x} = {y}.sort().indices.float()", "{x} = torch.zeros(3, requires_grad=True)", "{x}, {y} = {y}, {x}", "items.append({y})",
    "{x} = items[-1] * 1", "{x} = torch.stack(items).sum(0)", "table['x'] = {y}", "{x} = table['x'] + 0", "{x} = keep.swap({y})",
    "{x} = {y}.round()", "{x} = torch.where({y} > 0, {y}, {z})", "{x} = {y} if {z}.requires_grad else {z}",
    "{x} = sum([{y}, {z}])", "{x} = max([{y}, {z}], key=lambda t: t.sum().item())", "{x} = {y}.new_zeros(3)",
    "{x} = torch.zeros_like({y})", "{x} = torch.zeros(3); {x} += {y}", "{x} = torch.zeros(3); {x}[0] = {y}[0]",
    "net.requires_grad_(False)", "net.fc.weight.requires_grad_(True)", "{x} = {y}.detach().requires_grad_()",
    "{x} = torch.autograd.grad(({y} * {y}).sum() + a.sum() + torch.ones(1, requires_grad=True).sum(), a, allow_unused=True)[0]"
    " if False else {y}",
]  # fmt: skip


@st.composite
def statements(draw: st.DrawFn, depth: int = 2) -> str:
    """One statement, perhaps a compound one."""
    kind = (
        draw(st.sampled_from(["simple"] * 6 + ["no_grad", "if", "for", "known", "try", "while"])) if depth else "simple"
    )
    if kind == "simple":
        x, y, z = (draw(st.sampled_from(NAMES)) for _ in range(3))
        return draw(st.sampled_from(SIMPLE)).format(x=x, y=y, z=z)
    body = "\n".join(draw(st.lists(statements(depth=depth - 1), min_size=1, max_size=3)))
    inside = textwrap.indent(body, "    ")
    other = textwrap.indent(draw(statements(depth=0)), "    ")
    if kind == "no_grad":
        manager = draw(st.sampled_from(["torch.no_grad()", "torch.enable_grad()", "torch.set_grad_enabled(False)"]))
        return f"with {manager}:\n{inside}"
    if kind == "if":
        return f"if random.random() < 0.5:\n{inside}\nelse:\n{other}"
    if kind == "known":
        return (
            f"if {draw(st.sampled_from(['True', 'False', 'len(items) > 0', 'a is None']))}:\n{inside}\nelse:\n{other}"
        )
    if kind == "for":
        leave = draw(
            st.sampled_from(
                ["", "\n    if random.random() < 0.3:\n        break", "\n    if i == 1:\n        continue"]
            )
        )
        count = draw(st.sampled_from(["3", "7"]))
        return f"for i in range({count}):{leave}\n{inside}"
    if kind == "while":
        return f"n = 0\nwhile n < 5:\n    n += 1\n{inside}"
    return f"try:\n{inside}\nexcept RuntimeError:\n{other}"


def said(program: str) -> dict[str, Any]:
    run = Run(SourceText("program.py", program), 30_000)
    run.whole_file()
    return {} if run.spent_all else {name: plain(run.module[name]) for name in NAMES}


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=st.lists(statements(), min_size=1, max_size=8), seed=st.integers(0, 3))
def test_nothing_false_is_said(body: list[str], seed: int) -> None:
    program = HEAD + "\n".join(body) + "\n"
    random.seed(seed)
    torch.manual_seed(seed)
    names: dict[str, Any] = {"__name__": "program"}
    try:
        exec(compile(program, "program", "exec"), names)
    except RuntimeError:
        # A write to a leaf, for one: the program ends there, and nothing is claimed of what comes after.
        said(program)
        return
    finally:
        torch.set_grad_enabled(True)
    for name, value in said(program).items():
        if isinstance(value, Tensor) and value.flow.grad != MAYBE:
            tensor = names[name]
            assert value.flow.grad == (YES if tensor.requires_grad else NO), f"{name} in\n{program}"
            if value.flow.grad == YES:
                assert (value.flow.kind == "leaf") == (tensor.grad_fn is None) or value.flow.kind == "join", (
                    f"{name} in\n{program}"
                )
