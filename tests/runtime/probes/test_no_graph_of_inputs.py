"""An output without a graph where the gradient of an input is asked for: a frozen model is right there, the input is not."""

from __future__ import annotations

from typing import Any

import pytest
from marking import check, reports_of

FROZEN = """
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        for p in model.parameters():
            p.requires_grad = False{mark}
"""
PROGRAMS = {
    "no flag on the input": FROZEN.format(mark="") + """
        x = torch.randn(5, 4)  # here: requires_grad-missing
        torch.autograd.grad(model(x).sum(), x)
    """,
    "one of two inputs has no flag": FROZEN.format(mark="") + """
        def slope(x, t):
            return torch.autograd.grad(model(x + t).sum(), [x, t])
        x = torch.randn(5, 4)  # here: requires_grad-missing
        slope(x, torch.randn(5, 4))
    """,
    "the input is detached on the way": FROZEN.format(mark="") + """
        x = torch.randn(5, 4, requires_grad=True)
        features = model[0](x.detach())  # here: detach
        torch.autograd.grad(model[2](features.tanh()).sum(), x)
    """,
    "the gradient of the parameters": FROZEN.format(mark="  # here: frozen-all") + """
        x = torch.randn(5, 4)
        torch.autograd.grad(model(x).sum(), list(model.parameters()))
    """,
    "a pass to everything": FROZEN.format(mark="  # here: frozen-all") + """
        x = torch.randn(5, 4)
        model(x).sum().backward()
    """,
}  # fmt: skip


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of(PROGRAMS, tmp_path_factory.mktemp("inputs"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_input_is_to_blame_where_it_is_asked_for(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(PROGRAMS[name], reports[name])
