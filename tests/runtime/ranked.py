"""Starts jobs of several ranks under torchrun, on gloo and the CPU, for the tests beside it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

# What each program starts with: a model in DDP, whose rank and size are known.
HEAD = """
import os, time
from datetime import timedelta
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=float(os.environ.get("PATIENCE", 60))))
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
"""

# What a program ends with that is to end well each time: a wrapped model is part of a cycle and holds the process group, and
# torch aborts where a group of gloo's is still there when Python is gone ("terminate called without an active exception").
END = """
import gc

dist.barrier()
del model, loss
gc.collect()
dist.destroy_process_group()
"""

Job = subprocess.CompletedProcess[str]


def environment(**more: str) -> dict[str, str]:
    dropped = (
        "PYTHONPATH",
        "LANG",
        "LC_ALL",
        "NO_COLOR",
        "COLUMNS",
        "RANK",
        "WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
    )
    kept = {k: v for k, v in os.environ.items() if k not in dropped}
    return kept | {"OMP_NUM_THREADS": "1"} | more


def write(folder: Path, text: str, head: str = HEAD) -> Path:
    path = folder / "train.py"
    path.write_text(head.lstrip("\n") + textwrap.dedent(text), "utf-8")
    return path


def torchrun(
    folder: Path, ranks: int, *arguments: str, options: tuple[str, ...] = (), watched: bool = True, **env: str
) -> Job:
    """Run ``train.py`` of a folder in that many processes, under gradwhy with these arguments, or without gradwhy."""
    launcher = ["-m", "torch.distributed.run", "--nnodes", "1", "--standalone", f"--nproc-per-node={ranks}", *options]
    program = ["-m", "gradwhy", "run", *arguments] if watched else []
    return subprocess.run(
        [sys.executable, *launcher, *program, "train.py"],
        cwd=folder, env=environment(**env), capture_output=True, text=True, timeout=240,
    )  # fmt: skip


def told(job: Job) -> str:
    """What the ranks wrote to standard error, without torchrun's own words at the end."""
    return re.split(r"^(?:E\d{4} |torch\.distributed\.elastic|=====)", job.stderr, maxsplit=1, flags=re.M)[0]


def findings(text: str) -> list[str]:
    """The headlines of a text report."""
    return re.findall(r"^(?:error|likely|warning)\[[\w-]+\] .*", text, re.M)


def report_of(folder: Path, name: str = "report.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / name).read_text("utf-8"))
    return found


def ranks_of(finding: dict[str, Any]) -> list[int]:
    """The ranks that a finding says it was seen on."""
    ranks: list[int] = next(each["facts"]["ranks"] for each in finding["evidence"] if each["subject"] == "ranks")
    return ranks
