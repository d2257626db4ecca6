"""Processes of ``torch.multiprocessing.spawn`` are ranks that their parent tells of."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from ranked import environment, findings, ranks_of, report_of, write

PROGRAM = """
import sys
import tempfile
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def work(rank, address, kind):
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=2, timeout=timedelta(seconds=8))
    model = DistributedDataParallel(nn.Linear(4, 3))
    for step in range(3 + (kind == "longer") * rank):
        out = model(torch.randn(8, 4))
        if kind == "all" or kind == "one" and rank == 1:
            out = out.detach()
        out.mean().backward()
    dist.barrier()


if __name__ == "__main__":
    address = f"file://{tempfile.mkdtemp()}/store"
    mp.start_processes(work, (address, sys.argv[1]), nprocs=2, start_method=sys.argv[2])
    print("done")
"""


def run(folder: Path, kind: str, method: str, *options: str) -> subprocess.CompletedProcess[str]:
    write(folder, PROGRAM, head="")
    command = [sys.executable, "-m", "gradwhy", "run", *options, "train.py", kind, method]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(("kind", "ranks"), [("all", [0, 1]), ("one", [1])])
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_the_parent_tells_which_ranks(tmp_path: Path, kind: str, ranks: list[int], method: str) -> None:
    job = run(tmp_path, kind, method, "--output", "report.json", "--format", "json")
    assert job.returncode == 1
    report = report_of(tmp_path)
    (finding,) = report["findings"]
    assert (finding["cause"], finding["at"]["line"], ranks_of(finding)) == ("detach", 19, ranks)
    assert report["skipped"] == []
    assert [note["text"]["id"] for note in report["notes"]] == (["words.in-process"] if kind == "one" else [])


def test_processes_that_do_not_fail_end_as_without(tmp_path: Path) -> None:
    job = run(tmp_path, "none", "spawn")
    assert (job.returncode, job.stdout, job.stderr) == (0, "done\n", "")


def test_processes_that_wait_for_each_other_are_told_of_while_they_do(tmp_path: Path) -> None:
    job = run(tmp_path, "longer", "fork", "--stuck-after", "2")
    assert job.returncode == 1
    while_running, _, after = job.stderr.partition("Traceback (most recent call last)")
    headline = "rank 0 left the loop after 3 backward passes"
    assert headline in while_running
    assert "the program still runs" in while_running
    assert [headline in each for each in findings(after)] == [True]


def test_a_package_that_runs_the_steps_in_a_process_of_its_own(tmp_path: Path) -> None:
    """No frame of the failing stack is the program's: it stands at the package's line, and the cut is named all the same."""
    package = tmp_path / "site-packages" / "trainerlib"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        textwrap.dedent(
            """
            import torch.multiprocessing as mp

            def fit(model, batches):
                mp.spawn(_process, (model, batches), nprocs=1)

            def _process(rank, model, batches):
                _loop(model, batches)

            def _loop(model, batches):
                for batch in batches:
                    loss = model.training_step(batch)
                    loss.backward()
            """
        )
    )
    write(
        tmp_path,
        """
        import sys
        from pathlib import Path

        sys.path.insert(0, str(Path(__file__).parent / "site-packages"))
        import torch
        import trainerlib

        class Net(torch.nn.Linear):
            def training_step(self, batch):
                out = self(batch)
                out = out.detach()
                return out.mean()

        if __name__ == "__main__":
            trainerlib.fit(Net(4, 1), [torch.randn(8, 4)])
        """,
        head="",
    )
    command = [sys.executable, "-m", "gradwhy", "run", "train.py"]
    job = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120)
    assert "error[detach] `the loss` has no gradient path to any parameter" in job.stderr
    assert "train.py:12\n" in job.stderr
    assert ". trainerlib/__init__.py, _process" in job.stderr
