"""Correct programs of many kinds, put together by hypothesis: each trains without a word from gradwhy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

LAYERS = [
    "nn.Linear({n}, {n})", "nn.ReLU()", "nn.ReLU(inplace=True)", "nn.Tanh()", "nn.GELU()", "nn.Dropout(0.1)", "nn.LayerNorm({n})",
    "nn.BatchNorm1d({n})", "nn.Sequential(nn.Linear({n}, {n}), nn.Sigmoid())",
]  # fmt: skip
LOSSES = ["F.mse_loss(out, y)", "F.smooth_l1_loss(out, y)", "(out - y).abs().mean()", "((out - y) ** 2).sum(1).mean()"]
OPTIMIZERS = [
    "torch.optim.SGD({p}, lr=0.01, momentum=0.9)",
    "torch.optim.Adam({p}, lr=1e-3)",
    "torch.optim.RMSprop({p}, lr=1e-3)",
]
EXTRAS = {
    "evaluation": """
    with torch.no_grad():
        seen.append(F.mse_loss(net(x), y).item())
""",
    "accuracy": """
    hits = (out.argmax(1) == y.argmax(1)).float().mean().item()
""",
    "clipping": "",
    "accumulation": "",
    "input gradient": """
    probe = x.clone().requires_grad_(True)
    slope = torch.autograd.grad(net(probe).sum(), probe, create_graph=True)[0]
    loss = loss + 0.01 * slope.pow(2).mean()
""",
    "average": """
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), net.parameters()):
            slow.mul_(0.9).add_(fast, alpha=0.1)
""",
    "state": """
    state = (0.9 * state + out.mean(0)).detach()
    loss = loss + 0.01 * (out.mean(0) - state).pow(2).mean()
""",
    "checkpoint": "",
    "log": """
    history.append(loss.detach())
""",
    "numpy": """
    spread = out.detach().numpy().std()
""",
    "two losses": """
    aux = out.pow(2).mean()
    loss = loss + 0.1 * aux
""",
}


@st.composite
def programs(draw: st.DrawFn) -> str:
    """The text of a program that trains a small network in a correct way."""
    width = draw(st.sampled_from([4, 6]))
    layers = draw(st.lists(st.sampled_from(LAYERS), min_size=1, max_size=4))
    # An activation in place overwrites what another activation saved: only a layer that saves its input may come before.
    parts = [f"nn.Linear({width}, {width})"]
    for layer in layers:
        before = parts[-1]
        parts.append(
            "nn.ReLU()" if "inplace" in layer and not before.startswith("nn.Linear") else layer.format(n=width)
        )
    extras = draw(st.sets(st.sampled_from(sorted(EXTRAS)), max_size=4))
    frozen = draw(st.booleans())
    chosen = "[p for p in net.parameters() if p.requires_grad]" if frozen else "net.parameters()"
    call = "checkpoint(net, x, use_reentrant=False)" if "checkpoint" in extras else "net(x)"
    body = "".join(EXTRAS[name] for name in sorted(extras - {"evaluation", "average", "log"}))
    after = "".join(EXTRAS[name] for name in ("evaluation", "average", "log") if name in extras)
    clip = "    nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n" if "clipping" in extras else ""
    every = "step % 2 == 1" if "accumulation" in extras else "True"
    return f"""import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed({draw(st.integers(0, 99))})
net = nn.Sequential({", ".join(parts)}, nn.Linear({width}, {width}))
average = copy.deepcopy(net)
if {frozen}:
    net[0].requires_grad_(False)
optimizer = {draw(st.sampled_from(OPTIMIZERS)).format(p=chosen)}
state, history, seen = torch.zeros({width}), [], []
for step in range(4):
    x, y = torch.randn(8, {width}), torch.randn(8, {width})
    out = {call}
    loss = {draw(st.sampled_from(LOSSES))}
{body}
    loss.backward()
{clip}    if {every}:
        optimizer.step()
        optimizer.zero_grad()
{after}
print(loss.item(), len(history), seen)
"""


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_says_nothing_of_correct_programs(
    program: str, report_of: Callable[[Path], dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("program") / "train.py"
    file.write_text(program)
    report = report_of(file)
    assert (report["ended"], report["findings"], report["notes"]) == (None, [], []), program
    assert report["examined"]["steps"] > 0
