"""A reentrant checkpoint over inputs that do not require grad: told with an exception and without one."""

from __future__ import annotations

from typing import Any

import pytest
from marking import check, reports_of

HEAD = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(0)
embed, body, head = nn.Embedding(10, 4), nn.Linear(4, 4), nn.Linear(4, 1)
ids = torch.arange(6)


def train(forward, parameters):
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        forward().pow(2).mean().backward()
        optimizer.step()
"""

PROGRAMS = {
    "a trained input": """\
parameters = [*embed.parameters(), *body.parameters(), *head.parameters()]
train(lambda: head(checkpoint(body, embed(ids), use_reentrant=True)), parameters)
""",
    "nothing inside trains": """\
embed.requires_grad_(False)
body.requires_grad_(False)
train(lambda: head(checkpoint(body, embed(ids), use_reentrant=True)), head.parameters())
""",
    "evaluation": """\
embed.requires_grad_(False)
with torch.no_grad():
    checkpoint(body, embed(ids), use_reentrant=True)
train(lambda: head(body(embed(ids))), [*body.parameters(), *head.parameters()])
""",
    "a frozen input": """\
embed.requires_grad_(False)


def forward():
    h = checkpoint(body, embed(ids), use_reentrant=True)  # here: checkpoint-frozen-input
    return head(h)


train(forward, [*body.parameters(), *head.parameters()])
""",
    "a sequence behind a frozen input": """\
embed.requires_grad_(False)
layers = nn.Sequential(body, nn.Linear(4, 4), nn.Linear(4, 4))


def forward():
    h = checkpoint_sequential(layers, 2, embed(ids), use_reentrant=True)  # here: checkpoint-frozen-input
    return head(h)


train(forward, [*layers.parameters(), *head.parameters()])
""",
    "no head": """\
embed.requires_grad_(False)


def forward():
    return checkpoint(body, embed(ids), use_reentrant=True)  # here: checkpoint-frozen-input


train(forward, body.parameters())
""",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return reports_of({name: HEAD + program for name, program in PROGRAMS.items()}, tmp_path_factory.mktemp("marked"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_inside_gets_no_gradient(name: str, reports: dict[str, dict[str, Any]]) -> None:
    check(HEAD + PROGRAMS[name], reports[name])


def test_it_is_told_where_nothing_is_raised(reports: dict[str, dict[str, Any]]) -> None:
    report = reports["a sequence behind a frozen input"]
    first = report["findings"][0]
    assert (report["ended"], first["symptom"], first["certainty"]) == (None, "checkpoint-no-grad", "proven")
    assert first["text"]["args"]["count"] == 2, "the parameters of the first segment"
    assert first["fixes"][0]["edits"][0]["new_text"] == "False"
