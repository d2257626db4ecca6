"""Parameters that got no gradient under DDP: never used, not in this step, left out of the loss, or cut off."""

from __future__ import annotations

from typing import Any

import pytest
from marking import check, reports_of

HEAD = """\
import random

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(0)
random.seed(0)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


def train(model, steps=4):
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for step in range(steps):
        x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

PROGRAMS = {
    "all used": """\
train(DDP(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))))
""",
    "told of unused ones": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)
        self.extra = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(x)


train(DDP(Net(), find_unused_parameters=True))
""",
    "never called": """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)  # here: module-unused

    def forward(self, x):
        return torch.relu(self.fc(x))


train(DDP(nn.Sequential(Block(), Block(), nn.Linear(4, 3))))
""",
    "a parameter that nothing reads": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mask_token = nn.Parameter(torch.zeros(4))  # here: module-unused
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(x)


train(DDP(Net()))
""",
    "switched off for good": """\
class Net(nn.Module):
    def __init__(self, use_side=False):
        super().__init__()
        self.use_side = use_side
        self.body = nn.Linear(4, 8)
        self.side = nn.Linear(8, 8)  # here: module-unused
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        h = torch.relu(self.body(x))
        if self.use_side:
            h = h + self.side(h)
        return self.head(h)


train(DDP(Net()))
""",
    "an element that a slice leaves out": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.blocks[:2](x))  # here: module-unused


train(DDP(Net()))
""",
    "a head that is chosen": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 3), "b": nn.Linear(8, 3)})

    def forward(self, x):
        name = "a" if x.mean() > 0 else "b"
        return self.heads[name](torch.relu(self.body(x)))


model = DDP(Net())  # here: module-unused
train(model)
""",
    "a layer that is skipped": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(4)])
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        for layer in self.layers:
            if random.random() < 0.5:
                continue
            x = torch.relu(layer(x))
        return self.head(x)


model = DDP(Net())  # here: module-unused
train(model)
""",
    "computed for nothing": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.side = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        side = self.side(x)  # here: module-unused
        return self.head(x)


train(DDP(Net()))
""",
    "an output that the loss leaves out": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.side = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(x), self.side(x)


model = DDP(Net())
for step in range(2):
    logits, extra = model(torch.randn(6, 4))
    loss = F.cross_entropy(logits, torch.randint(0, 3, (6,)))  # here: module-unused
    loss.backward()
""",
    "an output that the loss uses later": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.side = nn.Linear(4, 3), nn.Linear(4, 1)

    def forward(self, x):
        return {"logits": self.head(x), "side": self.side(x)}


def total(out, y, epoch):
    loss = F.cross_entropy(out["logits"], y)
    if epoch > 1:  # here: module-unused
        loss = loss + out["side"].pow(2).mean()
    return loss


model = DDP(Net())
for epoch in range(3):
    loss = total(model(torch.randn(6, 4)), torch.randint(0, 3, (6,)), epoch)
    loss.backward()
""",
    "detached on the way": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        h = torch.relu(self.body(x)).detach()  # here: detach
        return self.head(h)


train(DDP(Net()))
""",
    "under no_grad": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        with torch.no_grad():  # here: no_grad-context
            h = torch.relu(self.body(x))
        return self.head(h)


train(DDP(Net()))
""",
    "frozen after wrapping": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


model = DDP(Net())
for p in model.module.body.parameters():
    p.requires_grad_(False)  # here: frozen-part
train(model)
""",
    "gathered": """\
class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = nn.Linear(4, 3), nn.Linear(5, 3)

    def forward(self, image, text):
        return self.image(image), self.text(text)


def gather(x):
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x)  # here: collective-not-recorded
    return torch.cat(parts)


model = DDP(Towers())
for step in range(2):
    image, text = model(torch.randn(8, 4), torch.randn(8, 5))
    loss = F.cross_entropy(image @ gather(text).T, torch.arange(8))
    loss.backward()
""",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of({name: HEAD + program for name, program in PROGRAMS.items()}, tmp_path_factory.mktemp("marked"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_got_no_gradient_and_why(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(HEAD + PROGRAMS[name], reports[name])


def test_without_a_record_the_source_tells_what_it_can(tmp_path_factory: pytest.TempPathFactory) -> None:
    names = ("never called", "switched off for good", "a head that is chosen")
    wanted = {name: HEAD + PROGRAMS[name] for name in names}
    for name, report in reports_of(wanted, tmp_path_factory.mktemp("never"), trace="never").items():
        check(wanted[name], report)
        assert report["findings"][0]["certainty"] == "likely"


def test_a_process_that_was_spawned_is_explained(tmp_path_factory: pytest.TempPathFactory) -> None:
    program = """\
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)
        self.extra = nn.Linear(4, 3)  # here: module-unused

    def forward(self, x):
        return self.head(x)


def worker(rank, steps):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = DistributedDataParallel(Net())
    for step in range(steps):
        model(torch.randn(6, 4)).mean().backward()


if __name__ == "__main__":
    mp.spawn(worker, args=(3,), nprocs=1)
"""
    report = reports_of({"spawned": program}, tmp_path_factory.mktemp("spawned"))["spawned"]
    assert report["ended"] == "ProcessRaisedException"
    check(program, report)
    assert report["findings"][0]["surfaces_at"]["line"] == 23
    assert [note["text"]["id"] for note in report["notes"]] == ["words.in-process"]
