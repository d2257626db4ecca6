"""A job of several ranks under torchrun: one joined report in one piece, and each rank ends as it would without gradwhy."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ranked import END, HEAD, environment, findings, ranks_of, report_of, told, torchrun, write

TRAINS = """
model = DistributedDataParallel(nn.Linear(4, 3))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(3):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if rank == 0:
    print(f"{loss.item():.9f}", flush=True)
"""

ON_ALL = """
model = DistributedDataParallel(nn.Linear(4, 3))
for step in range(3):
    out = model(torch.randn(8, 4))
    pred = out.argmax(1).float()
    loss = (pred - 1).pow(2).mean()
    loss.backward()
"""

REPORT = """\
error[argmax] `loss` has no gradient path to any parameter                               train.py:15
  14 | out = model(torch.randn(8, 4))    tracked, from 2 parameters of `model`
  15 | pred = out.argmax(1).float()      the path ends here: `argmax` returns indices
     |        ^^^^^^^^^^^^^
  16 | loss = (pred - 1).pow(2).mean()   no gradient from here on
  17 | loss.backward()                   surfaces here: RuntimeError "element 0 of tensors …"
"""


def test_the_same_fault_on_four_ranks_is_one_report_in_one_piece_and_in_the_error_files(tmp_path: Path) -> None:
    write(tmp_path, ON_ALL)
    job = torchrun(tmp_path, 4, options=("--log-dir", str(tmp_path / "logs")))
    assert job.returncode == 1
    assert len(findings(told(job))) == 1
    assert REPORT in told(job)
    assert "note  on ranks 0-3: each rank of the job" in told(job)
    # torchrun's own table shows it as the root cause, below the traceback.
    table = job.stderr.partition("Root Cause (first observed failure):")[2]
    assert "RuntimeError: element 0 of tensors does not require grad" in table
    assert "error[argmax] `loss` has no gradient path" in table
    files = sorted((tmp_path / "logs").rglob("error.json"))
    assert len(files) == 4
    for file in files:
        message = json.loads(file.read_text("utf-8"))["message"]
        assert message["message"].startswith("RuntimeError: element 0 of tensors does not require grad")
        assert "gradwhy/" not in message["extraInfo"]["py_callstack"]
        assert REPORT in message["extraInfo"]["py_callstack"]
        assert message["extraInfo"]["timestamp"].isdecimal()


def test_a_branch_of_one_rank_while_the_others_wait_for_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        model = DistributedDataParallel(nn.Linear(4, 3))
        for step in range(3):
            out = model(torch.randn(8, 4))
            if rank == 2:
                out = out.detach()
            out.pow(2).mean().backward()
        """,
    )
    job = torchrun(tmp_path, 4, "--output", "report.json", "--format", "json")
    assert job.returncode == 1
    assert findings(told(job)) == []
    report = report_of(tmp_path)
    (finding,) = report["findings"]
    assert (finding["cause"], finding["at"]["line"], ranks_of(finding)) == ("detach", 16, [2])
    assert finding["evidence"][0]["claim"].startswith("on rank 2 only")
    assert report["environment"]["ranks"] == "2 of 4"
    # No half-written file is left of another rank's.
    assert sorted(each.name for each in tmp_path.iterdir()) == ["report.json", "train.py"]


def test_different_faults_are_told_together_with_their_ranks(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        model = nn.Linear(4, 3)
        out = model(torch.randn(8, 4))
        if rank == 0:
            out = out.detach()
        else:
            out = out.argmax(1).float()
        out.mean().backward()
        """,
    )
    job = torchrun(tmp_path, 2, "--output", "report.json", "--format", "json", "--verify")
    found = report_of(tmp_path)["findings"]
    assert [(each["cause"], ranks_of(each)) for each in found] == [("detach", [0]), ("argmax", [1])]
    # A trial would be one rank of a job without the others.
    assert "several ranks run this program: fixes are not tried" in told(job)
    assert all(fix["verified"] is None for each in found for fix in each["fixes"])


def test_a_healthy_job_prints_and_ends_as_without(tmp_path: Path) -> None:
    write(tmp_path, TRAINS + END)
    plain = torchrun(tmp_path, 2, watched=False)
    watched = torchrun(tmp_path, 2)
    assert plain.returncode == 0
    assert (watched.returncode, watched.stdout, watched.stderr) == (0, plain.stdout, plain.stderr)
    with_file = torchrun(tmp_path, 2, "--output", "report.json", "--format", "json")
    assert (with_file.returncode, with_file.stdout) == (0, plain.stdout)
    assert report_of(tmp_path)["findings"] == []
    assert report_of(tmp_path)["environment"]["ranks"] == "0-1 of 2"


def test_a_fault_that_is_not_about_gradients_is_said_to_be_so_once(tmp_path: Path) -> None:
    write(tmp_path, 'dist.barrier()\nraise KeyError("lr")\n')
    job = torchrun(tmp_path, 2)
    assert job.returncode == 1
    assert told(job).count("this exception is not about gradients") == 1
    # Nothing is written over what torchrun says of it itself.
    assert "To enable traceback see" in job.stderr


def test_what_the_programs_own_record_has_written_stays(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        from torch.distributed.elastic.multiprocessing.errors import record

        @record
        def main():
            loss = nn.Linear(4, 3)(torch.randn(8, 4)).detach().sum()
            loss.backward()

        main()
        """,
    )
    job = torchrun(tmp_path, 2, options=("--log-dir", str(tmp_path / "logs")))
    for file in (tmp_path / "logs").rglob("error.json"):
        message = json.loads(file.read_text("utf-8"))["message"]
        assert message["extraInfo"]["py_callstack"].count("Traceback (most recent call last)") == 1
        assert "error[detach]" in message["extraInfo"]["py_callstack"]
    assert "error[detach]" in job.stderr.partition("Root Cause")[2]


def test_each_attempt_of_a_restarted_job_is_told_of(tmp_path: Path) -> None:
    # Without a process group: torch 2.13 itself seldom gets one of gloo in a second attempt ("connectFullMesh failed").
    write(
        tmp_path,
        """
        import os
        import torch

        out = torch.nn.Linear(4, 3)(torch.randn(8, 4))
        if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            out = out.detach()
        else:
            out = out.argmax(1).float()
        out.mean().backward()
        """,
        head="",
    )
    job = torchrun(tmp_path, 2, options=("--max-restarts", "1"))
    assert job.returncode == 1
    assert [re.findall(r"\[([\w-]+)\]", each)[0] for each in findings(job.stderr.partition("=====")[0])] == [
        "detach", "argmax"]  # fmt: skip
    assert job.stderr.partition("=====")[0].count("note  on ranks 0-1: each rank of the job") == 2


BROKEN_ALONE = "import torch\ntorch.nn.Linear(2, 2)(torch.ones(2)).detach().sum().backward()\n"


@pytest.mark.parametrize("address", ["127.0.0.1", "no.such.host.invalid"])
def test_a_job_whose_store_is_gone_is_told_of_by_each_rank(tmp_path: Path, address: str) -> None:
    write(tmp_path, BROKEN_ALONE, head="")
    # Nothing listens on port 9 of this machine: a rank that is alone must not wait for the others.
    env = environment(RANK="1", WORLD_SIZE="2", MASTER_ADDR=address, MASTER_PORT="9")
    command = [sys.executable, "-m", "gradwhy", "run", "train.py"]
    job = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert job.returncode == 1
    assert len(findings(job.stderr)) == 1
    assert "note  on rank 1 only" in job.stderr


def test_without_the_variables_of_a_job_nothing_is_said_of_ranks(tmp_path: Path) -> None:
    write(tmp_path, BROKEN_ALONE, head="")
    command = [sys.executable, "-m", "gradwhy", "run", "train.py"]
    alone = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120)
    single = environment(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="9")
    one = subprocess.run(command, cwd=tmp_path, env=single, capture_output=True, text=True, timeout=120)
    assert "rank" not in alone.stderr.replace("on ranks", "rank")
    assert (one.returncode, one.stderr) == (alone.returncode, alone.stderr)


def test_ranks_that_another_launcher_starts(tmp_path: Path, free_port: int) -> None:
    """As ``accelerate launch`` and schedulers do it: the variables alone, and the store in the process of rank 0."""
    write(tmp_path, ON_ALL)
    command = [sys.executable, "-m", "gradwhy", "run", "--output", "report.json", "--format", "json", "train.py"]
    job = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port)}
    ranks = [
        subprocess.Popen(
            command, cwd=tmp_path, env=environment(RANK=str(rank), **job), stderr=subprocess.PIPE, text=True
        )
        for rank in range(2)
    ]
    ends = [(rank.communicate(timeout=120)[1], rank.returncode) for rank in ranks]
    assert [code for _, code in ends] == [1, 1]
    (finding,) = report_of(tmp_path)["findings"]
    assert (finding["cause"], ranks_of(finding)) == ("argmax", [0, 1])


def test_unused_parameters_are_named_on_the_rank_that_left_them_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.extra = nn.Linear(4, 3), nn.Linear(4, 3)

            def forward(self, x):
                if rank == 1:
                    return self.body(x)
                return self.body(x) + self.extra(x)

        model = DistributedDataParallel(Net())
        for step in range(3):
            model(torch.randn(8, 4)).mean().backward()
        """,
    )
    torchrun(tmp_path, 2, "--output", "report.json", "--format", "json")
    found = report_of(tmp_path)["findings"]
    assert [(each["symptom"], each["cause"], ranks_of(each)) for each in found[:1]] == [
        ("ddp-unused", "module-unused", [1])
    ]
    named = [each["subject"] for each in found[0]["evidence"] if each["kind"] == "parameter"]
    assert named == ["extra.bias, extra.weight"]


SHARDED = (
    HEAD
    + """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
for name, parameter in model.named_parameters():
    parameter.requires_grad = name not in FROZEN
mesh = init_device_mesh("cpu", (size,))
for part in (model[0], model[2], model):
    fully_shard(part, mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(3):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if rank == 0:
    print(f"{loss.item():.9f}", flush=True)
dist.barrier()
"""
)


def test_sharded_parameters_that_are_partly_frozen_train_as_without(tmp_path: Path) -> None:
    write(tmp_path, "", head='FROZEN = ["0.weight", "0.bias"]' + SHARDED)
    plain, watched = torchrun(tmp_path, 2, watched=False), torchrun(tmp_path, 2)
    # torch 2.13 itself now and then aborts such a program when Python ends ("terminate called without an active exception"), so
    # that neither exit code is compared.
    assert plain.stdout.count("\n") == 1
    assert watched.stdout == plain.stdout
    assert findings(watched.stderr) == []
    assert "gradwhy:" not in watched.stderr


def test_sharded_parameters_that_are_all_frozen_are_found_by_the_line_that_froze_them(tmp_path: Path) -> None:
    write(tmp_path, "", head='FROZEN = ["0.weight", "0.bias", "2.weight", "2.bias"]' + SHARDED)
    torchrun(tmp_path, 2, "--output", "report.json", "--format", "json")
    finding = report_of(tmp_path)["findings"][0]
    assert (finding["cause"], finding["certainty"], ranks_of(finding)) == ("frozen-all", "proven", [0, 1])
    line = (tmp_path / "train.py").read_text().splitlines()[finding["at"]["line"] - 1]
    assert line.strip() == "parameter.requires_grad = name not in FROZEN"
    assert finding["path"][0]["note"].startswith("4 parameters of `model`")


def test_a_program_that_ends_before_it_imports_torch_is_not_made_to(tmp_path: Path) -> None:
    write(
        tmp_path,
        "import atexit, sys\natexit.register(lambda: print('torch' in sys.modules))\nraise KeyError\n",
        head="",
    )
    job = torchrun(tmp_path, 2)
    # torchrun may end the other rank before it comes to that.
    assert (job.returncode, set(job.stdout.split())) == (1, {"False"})
