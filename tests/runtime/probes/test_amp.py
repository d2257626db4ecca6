"""The scaler's calls in order: the one that is missing, double, or for another optimizer; and why there are no gradients."""

from __future__ import annotations

from typing import Any

import pytest
from marking import check, reports_of

HEAD = """\
import torch
from torch import nn
from torch.amp import GradScaler

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = GradScaler("cpu")


def loss_of(module=model):
    return module(torch.randn(5, 4)).pow(2).mean()
"""

PROGRAMS = {
    "in order": """\
for step in range(3):
    optimizer.zero_grad()
    scaler.scale(loss_of()).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
""",
    "cleared before the step": """\
for step in range(3):
    scaler.scale(loss_of()).backward()
    optimizer.zero_grad()  # here: gradients-cleared
    scaler.step(optimizer)
    scaler.update()
""",
    "cleared through the model": """\
for step in range(3):
    scaler.scale(loss_of()).backward()
    model.zero_grad()  # here: gradients-cleared
    scaler.step(optimizer)
    scaler.update()
""",
    "another optimizer": """\
other = nn.Linear(4, 2)
wrong = torch.optim.SGD(other.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    scaler.scale(loss_of()).backward()
    scaler.step(wrong)  # here: module-unused
    scaler.update()
""",
    "made for an older model": """\
model = nn.Linear(4, 2)
old = torch.optim.SGD(model.parameters(), lr=0.1)  # here: stale-optimizer
model = nn.Linear(4, 2)
for step in range(3):
    old.zero_grad()
    scaler.scale(loss_of(model)).backward()
    scaler.step(old)
    scaler.update()
""",
    "replaced in the middle": """\
class Session:
    def __init__(self):
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self):
        self.optimizer.zero_grad()
        scaler.scale(loss_of(self.net)).backward()
        scaler.step(self.optimizer)
        scaler.update()

    def restart(self):
        self.net = nn.Linear(4, 2)  # here: stale-optimizer


session = Session()
for step in range(4):
    session.step()
    if step == 1:
        session.restart()
""",
    "detached": """\
head = nn.Linear(2, 1)
second = torch.optim.SGD(head.parameters(), lr=0.1)
for step in range(3):
    hidden = model(torch.randn(5, 4))
    hidden = hidden.detach()  # here: detach
    loss = head(hidden).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(second)
    scaler.step(optimizer)
    scaler.update()
""",
    "frozen": """\
model.requires_grad_(False)  # here: frozen-all
head = nn.Linear(2, 1)
second = torch.optim.SGD(head.parameters(), lr=0.1)
for step in range(3):
    scaler.scale(head(model(torch.randn(5, 4))).pow(2).mean()).backward()
    scaler.step(second)
    scaler.step(optimizer)
    scaler.update()
""",
    "unscaled in a helper too": """\
def clip():
    scaler.unscale_(optimizer)  # here: scaler-call-repeated
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)


for step in range(3):
    optimizer.zero_grad()
    scaler.scale(loss_of()).backward()
    scaler.unscale_(optimizer)
    clip()
    scaler.step(optimizer)
    scaler.update()
""",
    "unscaled in each part of a batch": """\
for step in range(8):
    scaler.scale(loss_of() / 4).backward()
    scaler.unscale_(optimizer)  # here: scaler-call-repeated
    if (step + 1) % 4 == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
""",
    "left before the update": """\
def train():
    for step in range(6):
        optimizer.zero_grad()
        scaler.scale(loss_of()).backward()
        scaler.unscale_(optimizer)
        if step % 3 == 1:
            continue  # here: scaler-update-missing
        scaler.step(optimizer)
        scaler.update()


train()
""",
    "updated once in an epoch": """\
for epoch in range(2):
    for step in range(3):
        optimizer.zero_grad()
        scaler.scale(loss_of()).backward()
        scaler.step(optimizer)
    scaler.update()  # here: scaler-update-missing
""",
    "never updated": """\
for step in range(3):
    optimizer.zero_grad()
    scaler.scale(loss_of()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)  # here: scaler-update-missing
""",
    "unscaled after the step": """\
for step in range(3):
    optimizer.zero_grad()
    scaler.scale(loss_of()).backward()
    scaler.step(optimizer)
    scaler.unscale_(optimizer)  # here: scaler-call-misplaced
    scaler.update()
""",
    "unscaled before backward": """\
for step in range(3):
    optimizer.zero_grad()
    loss = scaler.scale(loss_of())
    scaler.unscale_(optimizer)  # here: scaler-call-misplaced
    loss.backward()
    scaler.step(optimizer)
    scaler.update()
""",
    "stepped past the scaler": """\
for step in range(3):
    optimizer.zero_grad()
    scaler.scale(loss_of()).backward()
    optimizer.step()  # here: scaler-bypassed
    scaler.update()
""",
    "backward past the scaler": """\
for step in range(3):
    optimizer.zero_grad()
    loss = loss_of()
    loss.backward()  # here: scaler-bypassed
    scaler.step(optimizer)
    scaler.update()
""",
    "scaled by another scaler": """\
second = GradScaler("cpu")
for step in range(3):
    optimizer.zero_grad()
    scaler.scale(loss_of()).backward()
    second.step(optimizer)  # here: scaler-bypassed
    second.update()
""",
    "converted to half": """\
def build():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(torch.float16)  # here: half-precision-parameter


net = build()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    loss = net(torch.randn(5, 4).half()).float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
""",
    "made in half": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2, dtype=torch.half))  # here: half-precision-parameter
        self.body = nn.Linear(4, 2)

    def forward(self, x):
        return self.body(x) * self.scale


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    scaler.scale(net(torch.randn(5, 4)).float().pow(2).mean()).backward()
    scaler.step(optimizer)
    scaler.update()
""",
    "with a closure": """\
scaler.scale(loss_of()).backward()
scaler.step(optimizer, closure=loss_of)  # here: closure-with-scaler
""",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of({name: HEAD + program for name, program in PROGRAMS.items()}, tmp_path_factory.mktemp("marked"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_call_is_named(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(HEAD + PROGRAMS[name], reports[name])


def test_without_a_record_nothing_is_said_to_be_proven_that_was_not_seen(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    names = ("cleared before the step", "left before the update", "another optimizer")
    wanted = {name: HEAD + PROGRAMS[name] for name in names}
    for name, report in reports_of(wanted, tmp_path_factory.mktemp("never"), trace="never").items():
        check(wanted[name], report)
        assert report["findings"][0]["certainty"] == "likely"
