"""Fixes with edits that rules offer: what the program is like with each."""

from __future__ import annotations

import pytest

from gradwhy.source import edits
from gradwhy.source.text import SourceText
from gradwhy.static import checking

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
soft = nn.Softmax(dim=1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(8, 4), torch.randint(3, (8,))
"""
TAIL = "loss.backward()\nopt.step()\n"


def with_first_fix(code: str) -> str | None:
    """The text with the edits of the first fix of the only finding; None where no fix has any."""
    (finding,) = checking.check(SourceText("block.py", code), "block.py")
    fix = next((fix for fix in finding.fixes if fix.edits), None)
    return edits.apply(code, fix.edits) if fix is not None else None


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("loss = F.cross_entropy(F.softmax(net(x), dim=1), y)\n", "loss = F.cross_entropy(net(x), y)\n"),
        ("loss = criterion(net(x).softmax(1), y)\n", "loss = criterion(net(x), y)\n"),
        ("loss = criterion(soft(net(x)), y)\n", "loss = criterion(net(x), y)\n"),
        (
            "out = net(x)\nprobs = torch.softmax(out, 1)\nloss = criterion(probs, y)\nprint(probs.max())\n",
            "out = net(x)\nprobs = torch.softmax(out, 1)\nloss = criterion(out, y)\nprint(probs.max())\n",
        ),
        ("out = net(x)\nout = torch.softmax(out, 1)\nloss = criterion(out, y)\n", None),
    ],
)
def test_the_loss_is_given_the_logits(wrong: str, right: str | None) -> None:
    assert with_first_fix(HEAD + wrong + TAIL) == (HEAD + right + TAIL if right is not None else None)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (
            "for p in net.parameters():\n    p.require_grad = False\n",
            "for p in net.parameters():\n    p.requires_grad = False\n",
        ),
        ("net.requires_grad = False\n", "net.requires_grad_(False)\n"),
    ],
)
def test_the_flag_is_spelt_right(wrong: str, right: str) -> None:
    assert with_first_fix(HEAD + wrong) == HEAD + right
