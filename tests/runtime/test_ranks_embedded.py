"""A job of several ranks whose program watches itself: by ``install()``, by a block, or by ``GRADWHY=1``; and one under audit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from ranked import END, HEAD, environment, findings, ranks_of, report_of, told, torchrun, write

FAULT = """
model = DistributedDataParallel(nn.Linear(4, 3))
for step in range(3):
    out = model(torch.randn(8, 4))
    if rank in BROKEN:
        out = out.detach()
    out.pow(2).mean().backward()
"""
ON_ALL, ON_ONE = "BROKEN = 0, 1, 2, 3\n" + FAULT, "BROKEN = 2,\n" + FAULT
INSTALL = "import gradwhy\ngradwhy.install()\n" + HEAD


def in_block(text: str, arguments: str = "") -> str:
    return f"import gradwhy\nwith gradwhy.watch({arguments}):\n{textwrap.indent(text, '    ')}"


def headlines(job_stderr: str) -> list[str]:
    """Also those that torch's own hook puts behind the rank."""
    return findings("\n".join(line.partition("]: ")[2] or line for line in job_stderr.splitlines()))


@pytest.mark.parametrize("how", ["install", "block"])
def test_what_all_ranks_found_is_told_once(tmp_path: Path, how: str) -> None:
    write(tmp_path, ON_ALL if how == "install" else in_block(ON_ALL), head=INSTALL if how == "install" else HEAD)
    job = torchrun(tmp_path, 4, watched=False)
    assert job.returncode == 1
    before_table = job.stderr.partition("=====")[0]
    assert len(headlines(before_table)) == 1
    assert before_table.count("note  on ranks 0-3: each rank of the job") == 1


def test_torchruns_table_has_the_report_once(tmp_path: Path) -> None:
    write(tmp_path, ON_ONE, head=INSTALL)
    job = torchrun(tmp_path, 4, options=("--log-dir", str(tmp_path / "logs")), watched=False)
    (file,) = (tmp_path / "logs").rglob("error.json")
    message = json.loads(file.read_text("utf-8"))["message"]["extraInfo"]["py_callstack"]
    assert message.count("error[detach]") == 1
    assert "note  on rank 2 only" in message
    assert "error[detach]" in job.stderr.partition("Root Cause")[2]


def test_the_report_of_a_block_goes_where_it_was_asked_to(tmp_path: Path) -> None:
    write(tmp_path, in_block(ON_ALL, 'to="report.json"'))
    job = torchrun(tmp_path, 2, watched=False)
    assert headlines(job.stderr) == []
    (finding,) = report_of(tmp_path)["findings"]
    assert (finding["cause"], ranks_of(finding)) == ("detach", [0, 1])


def test_each_of_several_blocks_is_told_of(tmp_path: Path) -> None:
    """A program that goes on after an exception, on some of its ranks."""
    write(
        tmp_path,
        """
        import gradwhy

        model = nn.Linear(4, 3)
        for attempt in range(3):
            try:
                with gradwhy.watch():
                    out = model(torch.randn(8, 4))
                    if attempt == 0:
                        out = out.argmax(1).float()
                    if attempt == 1 and rank == 1:
                        out = out.detach()
                    if attempt == 2:
                        out = torch.tensor(out.tolist())
                    out.mean().backward()
            except RuntimeError:
                pass
            dist.barrier()
        dist.barrier()
        """,
    )
    job = torchrun(tmp_path, 2, watched=False)
    assert job.returncode == 0
    causes = [each.partition("[")[2].partition("]")[0] for each in headlines(job.stderr)]
    assert causes == ["argmax", "detach", "item"]
    notes = [line.split(":")[0].strip() for line in job.stderr.splitlines() if "note  on rank" in line]
    assert notes == ["note  on ranks 0-1", "note  on rank 1 only", "note  on ranks 0-1"]


def test_an_exception_that_is_not_about_gradients_holds_nobody_up(tmp_path: Path) -> None:
    write(tmp_path, in_block('dist.barrier()\nraise KeyError("lr")\n'))
    job = torchrun(tmp_path, 2, watched=False)
    assert job.returncode == 1
    assert headlines(job.stderr) == []
    assert "gradwhy" not in told(job).replace("gradwhy.watch()", "").replace(str(tmp_path), "")


def test_ranks_whose_launcher_sets_no_variables_are_known_by_their_group(tmp_path: Path, free_port: int) -> None:
    head = HEAD.replace(
        'dist.init_process_group("gloo",',
        f'dist.init_process_group("gloo", f"tcp://127.0.0.1:{free_port}", rank=int(sys.argv[1]), world_size=2,',
    ).replace("import os, time", "import os, sys, time")
    write(tmp_path, in_block(ON_ALL, 'to="report.json"'), head=head)
    ranks = [
        subprocess.Popen(
            [sys.executable, "train.py", str(rank)], cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True
        )
        for rank in range(2)
    ]
    for each in ranks:
        each.communicate(timeout=120)
    (finding,) = report_of(tmp_path)["findings"]
    assert (finding["cause"], ranks_of(finding)) == ("detach", [0, 1])


def test_ranks_that_wait_for_one_that_skips_a_pass(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        model = DistributedDataParallel(nn.Linear(4, 3))
        for step in range(5):
            loss = model(torch.randn(8, 4)).pow(2).mean()
            if rank == 1 and step == 2:
                continue
            loss.backward()
        dist.barrier()
        """,
        head=INSTALL,
    )
    job = torchrun(tmp_path, 2, watched=False, GRADWHY_STUCK_AFTER="2", PATIENCE="15")
    meanwhile = job.stderr.partition("Traceback")[0]
    assert len([each for each in headlines(meanwhile) if "[ranks-diverge]" in each]) == 1
    assert "rank 1 left out 1 backward pass" in meanwhile


AUDITED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 3), nn.Linear(3, 3)

    def forward(self, x):
        return self.head(self.body(x).detach())

model = DistributedDataParallel(Net(), find_unused_parameters=True)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(STEPS):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.barrier()
"""


def audited(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    launcher = ["-m", "torch.distributed.run", "--nnodes", "1", "--standalone", "--nproc-per-node=2"]
    return subprocess.run(
        [sys.executable, *launcher, "-m", "gradwhy", "audit", *arguments, "train.py"],
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=240,
    )  # fmt: skip


def test_an_audit_of_all_ranks_is_told_once(tmp_path: Path) -> None:
    write(tmp_path, "STEPS = 3\n" + AUDITED)
    job = audited(tmp_path)
    assert job.returncode == 1
    assert len(findings(job.stderr)) == 1
    assert job.stderr.count("note  on ranks 0-1: each rank of the job") == 1
    assert job.stderr.count("watched 3 steps and 3 backward passes of 4 parameters") == 1


def test_an_audit_ends_at_the_same_step_on_each_rank_and_its_report_is_one_file(tmp_path: Path) -> None:
    # Of those that end on their own, the first to end would leave the other alone in a backward pass.
    shorter = "from gradwhy.runtime.audit import pace\npace._SECONDS = 2.0 + 3.0 * int(os.environ['RANK'])\n"
    write(tmp_path, "STEPS = 10**6\n" + shorter + AUDITED)
    job = audited(tmp_path, "--output", "report.json", "--format", "json")
    assert "Traceback" not in told(job)
    report = report_of(tmp_path)
    assert report["environment"]["ranks"] == "0-1 of 2"
    assert [(each["cause"], ranks_of(each)) for each in report["findings"]] == [("detach", [0, 1])]
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_a_healthy_job_under_install_prints_and_ends_as_without(tmp_path: Path) -> None:
    trains = """
    model = DistributedDataParallel(nn.Linear(4, 3))
    for step in range(3):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
    if rank == 0:
        print(f"{loss.item():.9f}", flush=True)
    """
    write(tmp_path, textwrap.dedent(trains) + END)
    plain = torchrun(tmp_path, 2, watched=False)
    write(tmp_path, textwrap.dedent(trains) + END, head=INSTALL)
    watched = torchrun(tmp_path, 2, watched=False)
    assert (watched.returncode, watched.stdout, watched.stderr) == (0, plain.stdout, plain.stderr)
    assert os.linesep.join(plain.stdout.splitlines()).strip()
