"""What an audited step costs beside a plain one, and one after the audit has ended.

Everything is measured in one process, one thread, in turns, since machines are noisy: compare the ratios, not the times.

usage: python benchmarks/audit.py [--rounds N]
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from datetime import date

import torch
from overhead import Step, resnet18, tiny_mlp, trainer
from torch import nn

from gradwhy.runtime.audit.observer import Observer
from gradwhy.runtime.watch import Watch

WAYS = ("audited", "after")


def transformer() -> Step:
    """About 10 million parameters: 6 layers of width 368."""
    layer = nn.TransformerEncoderLayer(368, 8, 1472, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 6, enable_nested_tensor=False), nn.Linear(368, 1))
    return trainer(model, torch.randn(4, 32, 368), torch.randn(4, 32, 1))


def resnet18_at_full_size() -> Step:
    """ResNet-18 on images as it is used, 224 by 224."""
    from resnet import resnet18 as build

    return trainer(build(10), torch.randn(4, 3, 224, 224), torch.randn(4, 10))


def seconds(step: Step, repeats: int) -> float:
    started = time.process_time()
    for _ in range(repeats):
        step()
    return (time.process_time() - started) / repeats


def turn(make: Callable[[], Step], repeats: int) -> dict[str, float]:
    """CPU seconds of a step, plain, audited, and when the audit is over, of one model made anew for each."""
    torch.manual_seed(0)
    step = make()
    seconds(step, 2)
    plain = seconds(step, repeats)
    watch = Watch("always", nan=True)
    observer = Observer(watch, lambda: None)
    watch.start()
    observer.start()
    step = make()
    seconds(step, 2)
    audited = seconds(step, repeats)
    observer.rest()
    seconds(step, 2)
    after = seconds(step, repeats)
    return {"plain": plain, "audited": audited, "after": after}


MODELS = (("tiny MLP", tiny_mlp, 60), ("ResNet-18, 64 px", resnet18, 4), ("ResNet-18, 224 px", resnet18_at_full_size, 2),
          ("transformer, 10 M", transformer, 4))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"{date.today()}, Python {platform.python_version()}, torch {torch.__version__}, {platform.machine()}, 1 thread"
    )
    print("CPU time of a training step: medians of ratios to plain within a round\n")
    print(f"{'model':20}{'plain':>11}" + "".join(f"{way:>11}" for way in WAYS))
    for name, make, repeats in MODELS:
        rounds = [turn(make, repeats) for _ in range(asked.rounds)]
        plain = statistics.median(each["plain"] for each in rounds)
        ratios = [statistics.median(each[way] / each["plain"] for each in rounds) for way in WAYS]
        print(f"{name:20}{plain * 1e3:>8.2f} ms" + "".join(f"{ratio:>11.3f}" for ratio in ratios), flush=True)


if __name__ == "__main__":
    main()
