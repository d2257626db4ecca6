"""What watching costs in DistributedDataParallel, once recording has ended: time of a step, watched to plain.

Four processes on gloo, as ranks of one job that has a store: each round trains the same model plain, watched and plain again, in
the same processes. The ratio is that of the watched turn to the two around it; that of the two plain ones shows the machine's own
noise. With fewer cores than processes the times themselves mean little.

usage: python benchmarks/ddp_overhead.py [--rounds N] [--ranks N] [--repeats N]
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import date
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "transfer_learning"))

from gradwhy.runtime import ranks
from gradwhy.runtime.ranks.board import FolderBoard
from gradwhy.runtime.watch import Watch

SETTLING = 6


def small_mlp() -> tuple[nn.Module, torch.Tensor]:
    layers = [layer for _ in range(6) for layer in (nn.Linear(128, 128), nn.ReLU())]
    return nn.Sequential(*layers), torch.randn(64, 128)


def resnet18() -> tuple[nn.Module, torch.Tensor]:
    from resnet import resnet18 as build

    return build(10), torch.randn(2, 3, 64, 64)


MODELS: tuple[tuple[str, Callable[[], tuple[nn.Module, torch.Tensor]], int], ...] = (
    ("small MLP", small_mlp, 20),
    ("ResNet-18", resnet18, 1),
)


def turn(make: Callable[[], tuple[nn.Module, torch.Tensor]], repeats: int, member: ranks.Member | None) -> float:
    """Seconds of one step, after some that let it settle; as that member of a job under watch, or plain."""
    with ExitStack() as stack:
        watch = None
        if member is not None:
            ranks.place(member)
            stack.callback(ranks.leave)
            watch = Watch(seconds_in_full=0.0)
            watch.start()
            stack.callback(watch.stop)
        torch.manual_seed(0)
        module, batch = make()
        model = DistributedDataParallel(module)
        optimizer = torch.optim.SGD(model.parameters(), 1e-4)

        def step() -> None:
            optimizer.zero_grad()
            model(batch).pow(2).mean().backward()
            optimizer.step()

        for _ in range(SETTLING):
            step()
        assert watch is None or not watch.recording
        dist.barrier()
        started = time.perf_counter()
        for _ in range(repeats):
            step()
        return (time.perf_counter() - started) / repeats


def work(rank: int, size: int, folder: str, rounds: int, repeats: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size)
    board = Path(folder, "board")
    board.mkdir(exist_ok=True)
    member = ranks.Member(rank, size, FolderBoard(str(board)))
    for name, make, share in MODELS:
        plain: list[float] = []
        watched: list[float] = []
        noise: list[float] = []
        for _ in range(rounds):
            before, between, after = (turn(make, max(repeats * share // 20, 3), way) for way in (None, member, None))
            plain.append((before + after) / 2)
            watched.append(between / plain[-1])
            noise.append(after / before)
        if rank == 0:
            row = f"{name:12}{statistics.median(plain) * 1e3:9.2f} ms"
            print(row + "".join(f"   {said(ratios):>24}" for ratios in (watched, noise)), flush=True)
    dist.destroy_process_group()


def said(ratios: list[float]) -> str:
    """Median and quartiles."""
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"{middle:.3f} ({low:.3f} … {high:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=100, help="Steps of a turn of the small model.")
    asked = parser.parse_args()
    print(
        f"{date.today()}, Python {platform.python_version()}, torch {torch.__version__}, {platform.machine()}, "
        f"{os.cpu_count()} cores, {asked.ranks} processes of 1 thread"
    )
    print(f"time of a training step in steady state: medians and quartiles of {asked.rounds} rounds\n")
    print(f"{'model':12}{'plain':>12}   {'watched / plain':>24}   {'plain / plain':>24}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(work, args=(asked.ranks, folder, asked.rounds, asked.repeats), nprocs=asked.ranks)


if __name__ == "__main__":
    main()
