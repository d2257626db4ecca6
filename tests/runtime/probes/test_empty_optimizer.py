"""Modules that are made in the call of the optimizer and register nothing."""

from __future__ import annotations

from typing import Any

import pytest
from marking import check, reports_of

PROGRAMS = {
    "inline nothing registered": """
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [torch.nn.Linear(2, 2)]  # here: param-not-registered
        torch.optim.SGD(Net().parameters(), lr=0.1)
    """,
    "inline nothing registered, list": """
        import torch
        class Net(torch.nn.Module):
            def __init__(self, n):
                super().__init__()
                self.w = torch.ones(n, requires_grad=True)  # here: param-not-registered
        torch.optim.SGD(list(Net(3).parameters()), lr=0.1)
    """,
    "misspelt constructor, inline": """
        import torch
        class Net(torch.nn.Module):
            def __int__(self):  # here: param-not-registered
                super().__init__()
                self.layer = torch.nn.Linear(2, 2)
        torch.optim.SGD(Net().parameters(), lr=0.1)
    """,
    "inline and registered": """
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(2, 2)
        torch.optim.SGD(Net().parameters(), lr=0.1)
    """,
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of(PROGRAMS, tmp_path_factory.mktemp("empty_optimizer"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_line_that_registers_nothing(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(PROGRAMS[name], reports[name])
