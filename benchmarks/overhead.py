"""What watching costs: CPU time of one training step, plain, recorded, adaptive, and under torch's own instruments.

Everything is measured in one process, one thread, in turns, since machines are noisy: compare the ratios, not the times.

usage: python benchmarks/overhead.py [--rounds N]
"""

from __future__ import annotations

import argparse
import contextlib
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "transfer_learning"))

from gradwhy.runtime.watch import Watch

Step = Callable[[], None]


class Empty(TorchFunctionMode):
    """The floor: a mode that does nothing but pass each call on."""

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        return func(*args, **(kwargs or {}))


def trainer(model: nn.Module, batch: torch.Tensor, target: torch.Tensor) -> Step:
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        loss = criterion(model(batch), target)
        loss.backward()
        optimizer.step()

    return step


def tiny_mlp() -> Step:
    layers = [layer for _ in range(8) for layer in (nn.Linear(32, 32), nn.ReLU())]
    return trainer(nn.Sequential(*layers, nn.Linear(32, 1)), torch.randn(16, 32), torch.randn(16, 1))


def resnet18() -> Step:
    from resnet import resnet18 as build

    return trainer(build(10), torch.randn(4, 3, 64, 64), torch.randn(4, 10))


def small_transformer() -> Step:
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), nn.Linear(64, 1))
    return trainer(model, torch.randn(8, 32, 64), torch.randn(8, 32, 1))


@contextlib.contextmanager
def watched(trace: str, settle: Step | None = None) -> Iterator[None]:
    watch = Watch(trace)  # type: ignore[arg-type]
    watch.start()
    try:
        if settle is not None:
            for _ in range(3):
                settle()
        yield
    finally:
        watch.stop()


def one_round(make: Callable[[], Step], around: AbstractContextManager[object], repeats: int, step: Step) -> float:
    with around:
        step()
        started = time.process_time()
        for _ in range(repeats):
            step()
        return (time.process_time() - started) / repeats


def measure(make: Callable[[], Step], repeats: int, rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        torch.manual_seed(0)
        # The optimizer is made under watch where there is one, as in a real run.
        for name in ("plain", "floor", "recorded", "adaptive", "anomaly"):
            times.setdefault(name, []).append(turn(name, make, repeats))
    return {name: statistics.median(values) for name, values in times.items()}


def turn(name: str, make: Callable[[], Step], repeats: int) -> float:
    around: AbstractContextManager[object]
    if name in ("recorded", "adaptive"):
        with watched("always" if name == "recorded" else "auto"):
            step = make()
            for _ in range(4):
                step()
            return one_round(make, contextlib.nullcontext(), repeats, step)
    step = make()
    step()
    around = {"floor": Empty(), "anomaly": torch.autograd.detect_anomaly()}.get(name, contextlib.nullcontext())
    return one_round(make, around, repeats, step)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"{date.today()}  Python {platform.python_version()}, torch {torch.__version__}, {platform.machine()}, 1 thread"
    )
    print("CPU time of a training step, medians; ratios to plain, and of recorded to the floor\n")
    print(f"{'model':20}{'plain':>10}{'floor':>8}{'recorded':>10}{'adaptive':>10}{'anomaly':>9}{'recorded/floor':>16}")
    for name, make, repeats in (
        ("tiny MLP", tiny_mlp, 60),
        ("ResNet-18", resnet18, 2),
        ("small transformer", small_transformer, 8),
    ):
        found = measure(make, repeats, asked.rounds)
        plain = found["plain"]
        ratios = "".join(
            f"{found[key] / plain:>{width}.3f}"
            for key, width in (("floor", 8), ("recorded", 10), ("adaptive", 10), ("anomaly", 9))
        )
        print(f"{name:20}{plain * 1e3:>7.2f} ms{ratios}{found['recorded'] / found['floor']:>16.3f}")


if __name__ == "__main__":
    import warnings

    warnings.filterwarnings("ignore", message="Anomaly Detection")
    main()
