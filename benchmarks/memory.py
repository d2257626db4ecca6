"""What watching costs in memory: the peak of a process that trains ResNet-18 at batch 32, plain and recorded, in turns.

usage: python benchmarks/memory.py [--rounds N] [--steps N]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "transfer_learning"))


def child(recorded: bool, steps: int) -> None:
    """Train, and print the peak of resident memory in kilobytes (Linux; getrusage(2))."""
    import torch
    from resnet import resnet18
    from torch import nn

    from gradwhy.runtime.watch import Watch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, criterion = resnet18(10), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    batch, target = torch.randn(32, 3, 64, 64), torch.randn(32, 10)
    watch = Watch("always")
    if recorded:
        watch.start()
    for _ in range(steps):
        optimizer.zero_grad()
        criterion(model(batch), target).backward()
        optimizer.step()
    if recorded:
        watch.stop()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def peak(recorded: bool, steps: int) -> int:
    command = [sys.executable, __file__, "--child", "recorded" if recorded else "plain", "--steps", str(steps)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--child", choices=["plain", "recorded"])
    asked = parser.parse_args()
    if asked.child:
        child(asked.child == "recorded", asked.steps)
        return
    pairs = [(peak(False, asked.steps), peak(True, asked.steps)) for _ in range(asked.rounds)]
    ratios = [recorded / plain for plain, recorded in pairs]
    print(f"plain {statistics.median(p for p, _ in pairs) / 1024:.0f} MB", end="  ")
    print(f"recorded : plain {statistics.median(ratios):.4f} (from {min(ratios):.4f} to {max(ratios):.4f})")


if __name__ == "__main__":
    main()
