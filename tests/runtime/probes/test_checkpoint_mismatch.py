"""A checkpointed function whose second run differs: what changed in between, or is not repeated, and where."""

from __future__ import annotations

from typing import Any

import pytest
from marking import check, reports_of

HEAD = """\
import random
from contextlib import contextmanager

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(0)
random.seed(1)


def train(model, steps=4):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        loss = F.cross_entropy(model(torch.randn(6, 4)), torch.randint(0, 3, (6,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


class Around(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner, self.head = inner, nn.Linear(4, 3)

    def forward(self, x):
        return self.head(checkpoint(self.inner, x, use_reentrant=False))
"""

PROGRAMS = {
    "repeatable": """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        h = F.dropout(self.a(x), 0.5)
        return self.b(torch.relu(h))


train(Around(Block()))
""",
    "a counter": """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1  # here: state-changed
        if self.calls % 2 == 0:
            return torch.tanh(self.a(x))
        return torch.tanh(self.b(torch.relu(self.a(x))))


train(Around(Block()))
""",
    "a history": """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.history = []

    def forward(self, x):
        h = torch.relu(self.a(x))
        self.history.append(h.detach().mean(0))  # here: state-changed
        if len(self.history) < 2:
            h = h + torch.tanh(h)
        return self.b(h)


train(Around(Block()))
""",
    "a buffer that routes": """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.register_buffer("bias", torch.zeros(4))

    def forward(self, x):
        choice = (self.a(x) + self.bias).argmax(1)
        load = torch.bincount(choice, minlength=4).float()
        self.bias += 2.0 * torch.sign(load.mean() - load)  # here: state-changed
        rows = (choice == 0).nonzero().squeeze(1)
        return x.index_add(0, rows, torch.tanh(self.b(x[rows])))


train(Around(Block()))
""",
    "a global": """\
COUNT = 0


def schedule(x):
    global COUNT
    COUNT += 1  # here: state-changed
    return torch.tanh(x) * x if COUNT % 2 == 1 else x


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.b(schedule(self.a(x)))


train(Around(Block()))
""",
    "a cache that is passed in": """\
class Cache:
    def __init__(self):
        self.keys = None

    def update(self, k):
        if self.keys is not None:
            k = torch.cat([self.keys, k], 0)
        self.keys = k
        return k


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, cache):
        keys = cache.update(self.a(x))
        return self.b(torch.softmax(x @ keys.T, -1) @ keys)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.head = Block(), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(checkpoint(self.block, x, Cache(), use_reentrant=False))  # here: state-changed


train(Net())
""",
    "python's random": """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        h = self.a(x)
        if random.random() < 0.5:  # here: random-in-checkpoint
            h = h + self.b(torch.relu(h))
        return torch.tanh(h)


train(Around(Block()))
""",
    "numpy's random": """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        keep = np.random.rand(4) < 0.6  # here: random-in-checkpoint
        columns = torch.from_numpy(np.nonzero(keep)[0])
        return torch.relu(self.a(x))[:, columns].sum(1, keepdim=True) * x


np.random.seed(0)
train(Around(Block()))
""",
    "a generator of its own": """\
generator = torch.Generator().manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        keep = torch.rand(x.shape[0], generator=generator) < 0.5  # here: random-in-checkpoint
        return self.b(x).index_add(0, keep.nonzero().squeeze(1), torch.tanh(self.a(x[keep])))


train(Around(Block()))
""",
    "torch's random, not kept": """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        keep = self.choose(x)
        return self.b(x).index_add(0, keep.nonzero().squeeze(1), torch.tanh(self.a(x[keep])))

    def choose(self, x):
        return torch.rand(x.shape[0]) < 0.5


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.head = Block(), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(checkpoint(self.block, x, use_reentrant=False, preserve_rng_state=False))  # here: random-in-checkpoint


train(Net())
""",
    "in a sequence": """\
class Noise(nn.Module):
    def __init__(self):
        super().__init__()
        self.rng = random.Random(0)

    def forward(self, x):
        n = self.rng.randint(1, 4)  # here: random-in-checkpoint
        return torch.cat([x[:, :n] * torch.sigmoid(x[:, :n]), x[:, n:]], 1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), Noise(), nn.Linear(4, 4), Noise(), nn.Linear(4, 4))
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(checkpoint_sequential(self.layers, 2, x, use_reentrant=False))


train(Net())
""",
    "another mode": """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        h = torch.relu(self.a(x))
        if self.training:
            h = h + torch.tanh(h)
        return self.b(h)


model = Around(Block())
for step in range(2):
    model.train()
    loss = model(torch.randn(6, 4)).mean()
    model.eval()  # here: state-changed
    loss.backward()
""",
    "frozen in between": """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


model = Around(Block())
loss = model(torch.randn(6, 4)).mean()
model.inner.b.weight.requires_grad_(False)  # here: state-changed
loss.backward()
""",
    "set outside": """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.depth = 1

    def forward(self, x):
        h = torch.relu(self.a(x))
        for _ in range(self.depth):
            h = torch.tanh(self.b(h))
        return h


def once(model):
    loss = model(torch.randn(6, 4)).mean()
    model.inner.depth = 0  # here: state-changed
    loss.backward()


once(Around(Block()))
""",
    "a context that was left": """\
LIMIT = {"keep": None}


@contextmanager
def limited(n):
    LIMIT["keep"] = n
    try:
        yield
    finally:
        LIMIT["keep"] = None


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        h = torch.relu(self.a(x))
        keep = LIMIT["keep"]
        if keep is not None:
            h = h * (torch.arange(4) < keep)
        return self.b(torch.tanh(h))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.head = Block(), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(checkpoint(self.block, x, use_reentrant=False))  # here: context-left


model = Net()
with limited(3):
    loss = model(torch.randn(6, 4)).mean()
loss.backward()
""",
    "a context that is still open": """\
LIMIT = {"keep": None}


@contextmanager
def limited(n):
    LIMIT["keep"] = n
    try:
        yield
    finally:
        LIMIT["keep"] = None


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        h = torch.relu(self.a(x))
        keep = LIMIT["keep"]
        return self.b(h if keep is None else torch.tanh(h))


model = Around(Block())
with limited(3):
    model(torch.randn(6, 4)).mean().backward()
""",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of({name: HEAD + program for name, program in PROGRAMS.items()}, tmp_path_factory.mktemp("marked"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_was_not_the_same_the_second_time(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(HEAD + PROGRAMS[name], reports[name])


def test_the_second_run_is_recorded_and_leaves_the_results_alone(reports: dict[str, dict[str, Any]]) -> None:
    (evidence,) = reports["a counter"]["findings"][0]["evidence"]
    assert evidence["facts"] == {"operations": 4, "operations again": 2}


def test_without_a_record_the_call_is_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    wanted = {"a context that was left": HEAD + PROGRAMS["a context that was left"]}
    for name, report in reports_of(wanted, tmp_path_factory.mktemp("never"), trace="never").items():
        check(wanted[name], report)
        assert report["findings"][0]["certainty"] == "likely"
