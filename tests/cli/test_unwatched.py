"""Threads, processes, workers, generators and asyncio run as they do without gradwhy; what it did not watch, it lists."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from conftest import Run

PROGRAM = """
import asyncio
import multiprocessing
import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def halve(queue):
    w = torch.ones(2, requires_grad=True)
    (w / 2).sum().backward()
    queue.put(w.grad.tolist())

def batches(model):
    for x in torch.arange(6.0).view(3, 2):
        yield model(x).sum()

async def waited(model):
    await asyncio.sleep(0)
    return model(torch.ones(2)).sum()

def replica(model, out):
    loss = model(torch.ones(2)).sum()
    loss.backward()
    out.append(loss.item())

if __name__ == "__main__":
    torch.manual_seed(0)
    model, out = nn.Linear(2, 1), []
    threads = [threading.Thread(target=replica, args=(model, out)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(out, model.weight.grad.tolist())
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        child = context.Process(target=halve, args=(queue,))
        child.start()
        print(method, queue.get())
        child.join()
    for x, in DataLoader(TensorDataset(torch.arange(4.0).view(2, 2)), num_workers=1):
        print(model(x).tolist())
    print([loss.item() for loss in batches(model)], asyncio.run(waited(model)).item())
    model(torch.ones(2)).detach().sum().backward()
"""


def test_runs_as_without_and_lists_what_was_not_watched(
    program: Callable[..., Path], python: Run, gradwhy: Run
) -> None:
    path = program(PROGRAM)
    plain = python(path)
    watched = gradwhy("run", "--format", "json", "--output", "report.json", path)
    assert (watched.returncode, watched.stdout) == (plain.returncode, plain.stdout)
    assert watched.stderr == plain.stderr
    report = json.loads((path.parent / "report.json").read_text())
    assert report["findings"][0]["cause"] == "detach"
    lines = PROGRAM.lstrip().splitlines()
    said = {lines[item["at"]["line"] - 1].strip(): item["text"]["id"] for item in report["skipped"]}
    assert said == {
        "thread.start()": "words.thread-unwatched",
        "child.start()": "words.process-unwatched",
        "for x, in DataLoader(TensorDataset(torch.arange(4.0).view(2, 2)), num_workers=1):": "words.process-unwatched",
    }
