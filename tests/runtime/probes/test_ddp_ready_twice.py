"""A parameter that DDP sees ready twice: the checkpoint, the second pass, or the use outside forward."""

from __future__ import annotations

from typing import Any

import pytest
from marking import check, reports_of

HEAD = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
x = torch.randn(3, 4, requires_grad=True)
"""

PROGRAMS = {
    "without reentrance": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)

    def forward(self, x):
        for _ in range(3):
            x = checkpoint(self.cell, x, use_reentrant=False)
        return x


model = DDP(Net())
for step in range(3):
    model(x).mean().backward()
""",
    "in several checkpoints": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.cell = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        x = self.stem(x)
        for _ in range(3):
            x = checkpoint(self.cell, x, use_reentrant=True)  # here: double-use
        return x


model = DDP(Net())
model(x).mean().backward()
""",
    "in a checkpoint and outside": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)

    def forward(self, x):
        h = checkpoint(lambda t: torch.relu(self.cell(t)), x, use_reentrant=True)  # here: double-use
        return self.cell(h)


model = DDP(Net())
model(x).mean().backward()
""",
    "hidden from the search": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        h = checkpoint(self.a, x, use_reentrant=True)  # here: checkpoint-hides-parameters
        return self.b(h)


model = DDP(Net(), find_unused_parameters=True)
model(x).sum().backward()
""",
    "two passes after one forward": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 1)

    def forward(self, x):
        h = torch.relu(self.a(x))
        return self.b(h), self.c(h)


model = DDP(Net())
for step in range(2):
    one, two = model(x)
    one.mean().backward(retain_graph=True)
    two.mean().backward()  # here: double-use
""",
    "a part called outside forward": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return torch.relu(self.a(x))


model = DDP(Net(), find_unused_parameters=True)
out = model.module.b(model(x))  # here: used-outside-forward
out.mean().backward()
""",
    "an output that DDP can't look into": """\
class Result:
    def __init__(self, logits):
        self.logits = logits


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        return Result(self.a(x))  # here: output-hidden


model = DDP(Net(), find_unused_parameters=True)
model(x).logits.mean().backward()
""",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of({name: HEAD + program for name, program in PROGRAMS.items()}, tmp_path_factory.mktemp("marked"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_sent_the_second_gradient(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(HEAD + PROGRAMS[name], reports[name])


def test_the_parameter_is_named(reports: dict[str, dict[str, Any]]) -> None:
    (first,) = reports["in several checkpoints"]["findings"]
    assert first["text"]["args"]["name"]["code"].startswith("cell.")
    assert first["text"]["args"]["count"] == 3
    assert first["fixes"][0]["edits"]
