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
from collections.abc import Callable
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


WAYS = ("plain", "floor", "recorded", "adaptive", "anomaly")


def turn(way: str, step: Step, repeats: int) -> float:
    """CPU seconds of one step, after a few that let it settle."""
    with contextlib.ExitStack() as stack:
        if way in ("recorded", "adaptive"):
            watch = Watch("always" if way == "recorded" else "auto", seconds_in_full=0.0)
            watch.start()
            stack.callback(watch.stop)
        elif way == "floor":
            stack.enter_context(Empty())
        elif way == "anomaly":
            stack.enter_context(torch.autograd.detect_anomaly())
        for _ in range(4):
            step()
        if way == "adaptive":
            assert not watch.recording
        started = time.process_time()
        for _ in range(repeats):
            step()
        return (time.process_time() - started) / repeats


def measure(make: Callable[[], Step], repeats: int, rounds: int) -> tuple[float, dict[str, float]]:
    """(seconds of a plain step, ratio of each way): medians over rounds, each way's turn next to the plain one."""
    plain: list[float] = []
    ratios: dict[str, list[float]] = {way: [] for way in (*WAYS[1:], "recorded/floor")}
    for _ in range(rounds):
        torch.manual_seed(0)
        step = make()
        times = {way: turn(way, step, repeats) for way in WAYS}
        plain.append(times["plain"])
        for way in WAYS[1:]:
            ratios[way].append(times[way] / times["plain"])
        ratios["recorded/floor"].append(times["recorded"] / times["floor"])
    return statistics.median(plain), {way: statistics.median(values) for way, values in ratios.items()}


MODELS = (("tiny MLP", tiny_mlp, 150), ("ResNet-18", resnet18, 4), ("small transformer", small_transformer, 25))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"{date.today()}, Python {platform.python_version()}, torch {torch.__version__}, {platform.machine()}, 1 thread"
    )
    print("CPU time of a training step: medians of ratios to plain within a round\n")
    print(f"{'model':20}{'plain':>11}" + "".join(f"{way:>11}" for way in WAYS[1:]) + f"{'recorded/floor':>17}")
    for name, make, repeats in MODELS:
        plain, ratios = measure(make, repeats, asked.rounds)
        print(
            f"{name:20}{plain * 1e3:>8.2f} ms"
            + "".join(f"{ratios[way]:>11.3f}" for way in WAYS[1:])
            + f"{ratios['recorded/floor']:>17.3f}",
            flush=True,
        )


if __name__ == "__main__":
    import warnings

    warnings.filterwarnings("ignore", message="Anomaly Detection")
    main()
