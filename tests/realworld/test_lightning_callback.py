"""``Trainer(callbacks=[Gradwhy()])``: the failure is told, the exception is the same, a healthy run is left as it is."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

PROGRAM = """
import logging
import sys
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
{import_callback}

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        self.gate = nn.Linear(4, 4)

    def training_step(self, batch, batch_idx):
        x, y = batch
        {gate}
        predicted = self.net(x).squeeze(1)
        loss = nn.functional.mse_loss(predicted, y)
        return {result}

    def validation_step(self, batch, batch_idx):
        self.log("val", nn.functional.mse_loss(self.net(batch[0]).squeeze(1), batch[1]))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


L.seed_everything(1, verbose=False)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x[:, 0]), 8)
trainer = L.Trainer(
    accelerator="cpu", max_epochs=2, logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False, callbacks=[{callback}],
)
model = Model()
trainer.fit(model, loader, loader)
print(trainer.validate(model, loader, verbose=False))
print([round(p.double().sum().item(), 12) for p in model.parameters()])
"""


def text(callback: str = "", gate: str = "x = x + self.gate(x)", result: str = "loss") -> str:
    import_callback = "from gradwhy.integrations.lightning import DoesNotTrain, Gradwhy" if callback else ""
    return PROGRAM.format(import_callback=import_callback, callback=callback, gate=gate, result=result)


def test_the_failure_is_told_by_the_users_line(program: Write, python: Run) -> None:
    program(text("Gradwhy()", result="loss.detach()"))
    ended = python("train.py")
    assert ended.returncode == 1
    assert "error[detach] `the loss` has no gradient path" in ended.stderr
    assert "train.py:26" in ended.stderr
    assert "surfaces here" in ended.stderr and "trainer.fit(model" in ended.stderr


def test_the_traceback_is_the_same_as_without(program: Write, python: Run) -> None:
    program(text(result="loss.detach()"), "plain.py")
    program(text("Gradwhy(to='report.json')", result="loss.detach()"), "train.py")

    def frames(name: str) -> list[str]:
        said = python(name).stderr
        return [line.replace(name, "") for line in said.splitlines() if line.startswith(("  File", "RuntimeError"))]

    assert frames("train.py") == frames("plain.py")


def test_a_report_goes_to_a_file(program: Write, python: Run, tmp_path: Path) -> None:
    program(text("Gradwhy(to='report.json')", result="loss.detach()"))
    ended = python("train.py")
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert [f["cause"] for f in report["findings"]] == ["detach"]
    assert "error[" not in ended.stderr


def test_a_healthy_run_gives_the_same_bits_and_says_nothing(program: Write, python: Run) -> None:
    program(text(), "plain.py")
    program(text("Gradwhy()"), "train.py")
    program(text("Gradwhy(audit_steps=3)"), "audited.py")
    plain, watched, audited = python("plain.py"), python("train.py"), python("audited.py")
    assert (watched.returncode, watched.stdout, watched.stderr) == (0, plain.stdout, plain.stderr)
    assert (audited.returncode, audited.stdout) == (0, plain.stdout)
    assert "error[" not in audited.stderr


def test_an_audit_of_so_many_steps_tells_what_does_not_train(program: Write, python: Run) -> None:
    program(text("Gradwhy(audit_steps=4)", gate="x = x + self.gate(x).detach()"))
    ended = python("train.py")
    assert ended.returncode == 0
    assert "error[detach]" in ended.stderr and "`model.gate` gets no gradient" in ended.stderr
    assert "watched 4 steps" in ended.stderr


def test_an_audit_may_raise(program: Write, python: Run) -> None:
    program(text("Gradwhy(audit_steps=4, raises=True)", gate="x = x + self.gate(x).detach()"))
    ended = python("train.py")
    assert ended.returncode == 1
    assert "DoesNotTrain: `model.gate` gets no gradient" in ended.stderr


def test_an_audit_of_half_a_minute_ends_with_the_training(program: Write, python: Run) -> None:
    program(text("Gradwhy(audit=True)", gate="x = x + self.gate(x).detach()"))
    ended = python("train.py")
    assert "watched 16 steps" in ended.stderr


@pytest.mark.parametrize("verb", ["run", "audit"])
def test_the_callback_leaves_it_to_gradwhy_run(program: Write, gradwhy: Run, verb: str) -> None:
    program(text("Gradwhy(audit_steps=2)", result="loss.detach()"))
    ended = gradwhy(verb, "train.py")
    assert ended.returncode == 1
    assert ended.stderr.count("error[detach]") == 1


def test_a_hook_of_the_program_does_not_tell_it_again(program: Write, python: Run) -> None:
    program("import gradwhy\ngradwhy.install()\n" + text("Gradwhy()", result="loss.detach()"))
    ended = python("train.py")
    assert ended.stderr.count("error[detach]") == 1


def test_an_exception_that_is_not_autograds_shows_nothing_more(program: Write, python: Run) -> None:
    program(text("Gradwhy()", result="loss if batch_idx < 3 else undefined"))
    ended = python("train.py")
    assert "NameError" in ended.stderr
    assert "error[" not in ended.stderr and "note" not in ended.stderr


def test_a_program_may_go_on_after_the_exception(program: Write, python: Run) -> None:
    caught = text("Gradwhy()", result="loss.detach() if self.current_epoch < 1 and self.cut else loss")
    caught = caught.replace("trainer.fit(model, loader, loader)", CAUGHT).replace(
        "self.gate =", "self.cut = True\n        self.gate ="
    )
    program(caught)
    ended = python("train.py")
    assert ended.returncode == 0, ended.stderr
    assert "caught" in ended.stdout
    assert ended.stderr.count("error[detach]") == 1


CAUGHT = """
try:
    trainer.fit(model, loader, loader)
except RuntimeError:
    print("caught", len(torch.overrides._get_current_function_mode_stack()))
model.cut = False
trainer.fit(model, loader, loader)
"""


def in_ranks(strategy: str, callback: str, broken: str) -> str:
    """The program on two processes, whose step is detached on the ranks that ``broken`` says."""
    parallel = f'accelerator="cpu", devices=2, strategy="{strategy}",'
    before, guard, after = text(callback, result=f"loss.detach() if {broken} else loss").partition(
        "\nL.seed_everything"
    )
    body = (guard + after).replace('accelerator="cpu",', parallel).replace("\n", "\n    ")
    return f'{before}\n\nif __name__ == "__main__":{body}\n'


@pytest.mark.parametrize(
    ("broken", "note"),
    [("True", "note  on ranks 0-1: each rank of the job"), ("self.global_rank == 1", "note  on rank 1 only")],
)
def test_ranks_that_lightning_starts_tell_once(program: Write, python: Run, broken: str, note: str) -> None:
    program(in_ranks("ddp", "Gradwhy()", broken))
    ended = python("train.py")
    assert ended.returncode != 0
    assert ended.stderr.count("error[detach] `the loss` has no gradient path") == 1
    assert note in ended.stderr


def test_processes_that_lightning_spawns_are_told_of_by_gradwhy_run(program: Write, gradwhy: Run) -> None:
    program(in_ranks("ddp_spawn", "", "True"))
    ended = gradwhy("run", "train.py")
    assert ended.returncode != 0
    assert ended.stderr.count("error[detach] `the loss` has no gradient path") == 1
    assert "note  on ranks 0-1: each rank of the job" in ended.stderr
    assert ". lightning/pytorch/strategies/launchers/multiprocessing.py" in ended.stderr
