"""``Trainer(callbacks=[Gradwhy()])`` of transformers: ``train`` is watched while the callback is one of the trainer's."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

PROGRAM = """
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, logging, set_seed
{import_callback}

logging.set_verbosity_error()


class Reviews(Dataset):
    def __init__(self, count=32):
        self.ids = torch.randint(2, 40, (count, 10))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {{"input_ids": self.ids[i], "labels": self.ids[i, 0] % 3}}


class OwnTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        loss = {loss}
        return (loss, outputs) if return_outputs else loss


def main():
    set_seed(1)
    config = BertConfig(
        vocab_size=40, hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=48, num_labels=3
    )
    model = BertForSequenceClassification(config)
    {prepare}
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            output_dir=folder, max_steps=6, per_device_train_batch_size=8, save_strategy="no", report_to="none",
            use_cpu=True, disable_tqdm=True,
        )
        trainer = OwnTrainer(model=model, args=args, train_dataset=Reviews(), callbacks=[{callback}])
        trainer.train()
    print([round(p.double().sum().item(), 12) for p in model.parameters()])


if __name__ == "__main__":
    main()
"""


def text(callback: str = "", loss: str = "outputs.loss", prepare: str = "") -> str:
    import_callback = "from gradwhy.integrations.transformers import Gradwhy" if callback else ""
    return PROGRAM.format(import_callback=import_callback, callback=callback, loss=loss, prepare=prepare)


def weights(ended: subprocess.CompletedProcess[str]) -> str:
    """The last line of the output: the lines before it tell times."""
    return ended.stdout.strip().splitlines()[-1]


def test_the_failure_is_told_by_the_users_line(program: Write, python: Run) -> None:
    program(text("Gradwhy()", loss="outputs.loss.detach()"))
    ended = python("train.py")
    assert ended.returncode == 1
    assert "error[detach] `loss` has no gradient path" in ended.stderr
    assert "train.py:25" in ended.stderr


def test_the_traceback_is_the_same_as_without(program: Write, python: Run) -> None:
    program(text(loss="outputs.loss.detach()"), "plain.py")
    program(text("Gradwhy(to='report.txt')", loss="outputs.loss.detach()"), "train.py")

    def frames(name: str) -> list[str]:
        said = python(name).stderr
        return [line.replace(name, "") for line in said.splitlines() if line.startswith(("  File", "RuntimeError"))]

    assert frames("train.py") == frames("plain.py")


def test_a_healthy_run_gives_the_same_bits_and_says_nothing(program: Write, python: Run) -> None:
    program(text(), "plain.py")
    program(text("Gradwhy()"), "train.py")
    program(text("Gradwhy(audit_steps=3)"), "audited.py")
    plain, watched, audited = python("plain.py"), python("train.py"), python("audited.py")
    assert (watched.returncode, weights(watched)) == (0, weights(plain)), watched.stderr
    assert "gradwhy" not in watched.stderr and "error[" not in watched.stderr
    assert (audited.returncode, weights(audited)) == (0, weights(plain))
    assert "error[" not in audited.stderr


def test_an_audit_tells_what_does_not_train(program: Write, python: Run) -> None:
    program(text("Gradwhy(audit_steps=3)", prepare="model.extra = torch.nn.Linear(2, 2)"))
    ended = python("train.py")
    assert ended.returncode == 0
    assert "`model.extra` gets no gradient" in ended.stderr
    assert "watched 3 steps" in ended.stderr


@pytest.mark.parametrize("verb", ["run", "audit"])
def test_the_callback_leaves_it_to_gradwhy_run(program: Write, gradwhy: Run, verb: str) -> None:
    program(text("Gradwhy()", loss="outputs.loss.detach()"))
    ended = gradwhy(verb, "train.py")
    assert ended.returncode == 1
    assert ended.stderr.count("error[detach]") == 1


def test_the_trainer_is_as_it_was_when_the_callback_is_gone() -> None:
    from transformers import Trainer

    from gradwhy.integrations.transformers import Gradwhy

    before = Trainer.train
    first, second = Gradwhy(), Gradwhy()
    assert Trainer.train is not before
    del first
    assert Trainer.train is not before
    del second
    assert Trainer.train is before
