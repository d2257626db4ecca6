"""``gradwhy run`` and ``gradwhy audit`` on programs of trainers: what is healthy stays as it is, an audit stops cleanly."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import published
import pytest

HERE = Path(__file__).parent
Run = Callable[..., "subprocess.CompletedProcess[str]"]

HEALTHY = {
    "lightning": published.HOME / "no-graph-72-lightning-adversarial.fixed.py",
    "transformers": HERE / "cases" / "no-graph-622-trainer-no-grad-forward.fixed.py",
    "accelerate": HERE / "cases" / "no-graph-642-accelerate-evaluate-off.fixed.py",
}


@pytest.fixture(params=sorted(HEALTHY))
def healthy(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    shutil.copy(HEALTHY[request.param], tmp_path / "train.py")
    return str(request.param)


def steady(output: str) -> list[str]:
    """What does not tell how long something took."""
    return [line for line in output.splitlines() if "runtime" not in line]


def test_a_healthy_run_stays_as_it_is(healthy: str, python: Run, gradwhy: Run) -> None:
    plain, watched = python("train.py"), gradwhy("run", "train.py")
    assert (watched.returncode, steady(watched.stdout)) == (plain.returncode, steady(plain.stdout))
    assert steady(watched.stderr) == steady(plain.stderr)


def test_an_audit_stops_after_so_many_steps(healthy: str, gradwhy: Run, tmp_path: Path) -> None:
    ended = gradwhy("audit", "--steps", "3", "--format", "json", "--output", "report.json", "train.py")
    assert ended.returncode == 0, ended.stderr
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert report["examined"]["steps"] == 3
    assert "Traceback" not in ended.stderr
    names = [row["name"] for row in report["parameters"]]
    assert names and all(name and "._" not in name for name in names), names


def test_a_modules_name_is_that_of_its_class_where_only_the_trainer_has_it(gradwhy: Run, tmp_path: Path) -> None:
    shutil.copy(HERE / "cases" / "no-graph-601-lightning-detached-step.fixed.py", tmp_path / "train.py")
    gradwhy("audit", "--steps", "2", "--format", "json", "--output", "report.json", "train.py")
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert {row["name"].partition(".")[0] for row in report["parameters"]} == {"Regressor"}


def test_accelerate_launches_gradwhy(tmp_path: Path) -> None:
    shutil.copy(HERE / "cases" / "no-graph-641-accelerate-detached.py", tmp_path / "train.py")
    ended = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", "1", "--num_machines", "1",
         "--mixed_precision", "no", "--dynamo_backend", "no", "-m", "gradwhy", "run", "train.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ended.returncode != 0
    assert "error[detach] `loss` has no gradient path" in ended.stderr


def test_accelerate_launches_ranks_that_tell_once(tmp_path: Path) -> None:
    shutil.copy(HERE / "cases" / "no-graph-641-accelerate-detached.py", tmp_path / "train.py")
    # Without a GPU, accelerate starts several processes by torchrun only where it takes them for those of GPUs.
    ended = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1",
         "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0", "-m", "gradwhy", "run", "train.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ended.returncode != 0
    before_table = ended.stderr.partition("=====")[0]
    assert before_table.count("error[detach] `loss` has no gradient path") == 1
    assert before_table.count("note  on ranks 0-1: each rank of the job") == 1
    assert "error[detach]" in ended.stderr.partition("Root Cause")[2]
