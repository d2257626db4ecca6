"""What the pages on DistributedDataParallel say of averaged gradients is looked at in two processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, os, sys
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared, self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, x):
        x = self.shared(x)
        return self.first(x).mean(), self.second(x).mean()


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.layer = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        x = self.first(x)
        for _ in range(2):
            x = checkpoint(self.layer, x, use_reentrant=True)
        return x.mean()


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.extra = nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, x):
        return self.used(x).mean()


def one(module, x):
    model = DistributedDataParallel(module)
    model(x).mean().backward()


def static_checkpoints(module, x):
    model = DistributedDataParallel(module, static_graph=True)
    for _ in range(2):
        model.zero_grad()
        model(x).backward()


def two_losses(module, x, **settings):
    model = DistributedDataParallel(module, **settings)
    first, second = model(x)
    first.backward(retain_graph=True)
    second.backward()


def whole_twice(module, x):
    model = DistributedDataParallel(module)
    loss = model(x).mean()
    loss.backward(retain_graph=True)
    loss.backward()


def two_forwards(module, x):
    model = DistributedDataParallel(module)
    (model(x).mean() + model(2 * x).square().mean()).backward()


def past_the_wrapper(module, x):
    model = DistributedDataParallel(module)
    model.module(x).backward()


def unfrozen_late(module, x):
    module[0].requires_grad_(False)
    model = DistributedDataParallel(module)
    module[0].requires_grad_(True)
    model(x).mean().backward()


RUNS = {
    "one pass": (nn.Linear(4, 1), one),
    "static graph, shared checkpoints": (Twice(), static_checkpoints),
    "two losses, unused looked for": (Heads(), lambda module, x: two_losses(module, x, find_unused_parameters=True)),
    "two losses, static graph": (Heads(), lambda module, x: two_losses(module, x, static_graph=True)),
    "the whole twice": (nn.Linear(4, 1), whole_twice),
    "two forward passes": (nn.Linear(4, 1), two_forwards),
    "an unused layer, one step": (Part(), one),
    "past the wrapper": (Part(), past_the_wrapper),
    "unfrozen after the wrapping": (nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1)), unfrozen_late),
}


def work(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    x = torch.randn(8, 4, generator=torch.Generator().manual_seed(rank))
    averaged = {}
    for name, (module, run) in RUNS.items():
        run(module, x)
        same = True
        for parameter in module.parameters():
            if parameter.grad is not None:
                both = [torch.zeros_like(parameter.grad) for _ in range(2)]
                dist.all_gather(both, parameter.grad)
                same = same and torch.allclose(*both)
        averaged[name] = same
    if rank == 0:
        json.dump(averaged, open(f"{folder}/averaged.json", "w"))
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    rank = 0 if (child := os.fork()) else 1
    work(rank, sys.argv[1])
    if child:
        os.waitpid(child, 0)
"""


@pytest.fixture(scope="module")
def averaged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """Whether both processes have the same gradients, by the name of the run."""
    folder = tmp_path_factory.mktemp("averaged")
    (folder / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "program.py", folder], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, bool] = json.loads(Path(folder / "averaged.json").read_text())
    return found


@pytest.mark.parametrize("name", ["one pass", "static graph, shared checkpoints", "two forward passes"])
def test_these_gradients_are_averaged(name: str, averaged: dict[str, bool]) -> None:
    assert averaged[name]


@pytest.mark.parametrize(
    "name",
    [
        "two losses, unused looked for",
        "two losses, static graph",
        "the whole twice",
        "an unused layer, one step",
        "past the wrapper",
        "unfrozen after the wrapping",
    ],
)
def test_these_differ_between_the_processes_and_nothing_is_raised(name: str, averaged: dict[str, bool]) -> None:
    assert not averaged[name]
