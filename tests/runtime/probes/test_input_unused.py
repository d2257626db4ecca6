"""What took an input and gave back something without a path: samples, numbers that come back as tensors."""

from __future__ import annotations

from typing import Any

import pytest
from marking import check, reports_of

PROGRAMS = {
    "normal sample": """
        import torch
        from torch.distributions import Normal
        x = torch.ones(3, requires_grad=True)
        w = torch.ones(3, requires_grad=True)
        z = Normal(x, 1.0).sample()  # here: sampling
        out = (z * w).sum()
        torch.autograd.grad(out, x)
    """,
    "normal sample 2": """
        import torch
        from torch.distributions import Normal
        x = torch.ones(3, requires_grad=True)
        w = torch.ones(3, requires_grad=True)
        def draw(mean):
            d = Normal(mean, 1.0)
            return d.sample()  # here: sampling
        out = (draw(x) * w).sum()
        torch.autograd.grad(out, x)
    """,
    "rebuilt from floats": """
        import torch
        x = torch.rand(3, requires_grad=True)
        w = torch.ones(3, requires_grad=True)
        h = x * 2
        z = torch.tensor([float(v) for v in h])  # here: item
        out = (z * w).sum()
        torch.autograd.grad(out, x)
    """,
    "rebuilt from item": """
        import torch
        x = torch.rand(3, requires_grad=True)
        w = torch.ones(3, requires_grad=True)
        scale = x.sum().item()  # here: item
        out = (w * scale).sum()
        torch.autograd.grad(out, x)
    """,
    "rsample keeps the path": """
        import torch
        from torch.distributions import Normal
        x = torch.ones(3, requires_grad=True)
        w = torch.ones(3, requires_grad=True)
        z = Normal(x, 1.0).rsample()
        torch.autograd.grad((z * w).sum(), x)
    """,
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of(PROGRAMS, tmp_path_factory.mktemp("input_unused"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_lost_the_path(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(PROGRAMS[name], reports[name])
