"""A host that is not installed: one sentence, and which options of hosts are known is told without it."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Callable

import pytest

from gradwhy.catalog import load
from gradwhy.integrations import training
from gradwhy.integrations.training import Run
from gradwhy.torchapi import hosts

Python = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize("name", ["lightning", "transformers"])
def test_a_missing_host_is_told_in_one_sentence(name: str, python: Python) -> None:
    blocked = f"import sys; sys.modules.update(dict.fromkeys(['{name}', 'pytorch_lightning']));"
    ended = python("-c", f"{blocked} import gradwhy.integrations.{name}")
    assert ended.returncode == 1
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: {name} is not installed in this Python")
    assert "During handling" not in ended.stderr


def test_no_host_is_imported_with_the_part_that_they_share(python: Python) -> None:
    ended = python("-c", "import sys, gradwhy.integrations.training; print(*sorted(sys.modules))")
    assert ended.returncode == 0, ended.stderr
    assert not {"torch", "lightning", "transformers", "accelerate", "rich"} & set(ended.stdout.split())


def test_the_sentence_names_the_package() -> None:
    assert "lightning" in training.missing("lightning")


@pytest.mark.parametrize("row", hosts.rows(), ids=lambda row: f"{row.advice}-{'-'.join(row.causes)}")
def test_an_option_of_a_host_has_its_sentence_in_each_cause(row: hosts.HostRow) -> None:
    for cause in row.causes:
        for language in ("en", "zh"):
            text = load.text(cause, language)
            assert text is not None and f"advice-{row.advice}" in text.sentences


def test_a_stack_is_compared_by_file_and_function_and_by_what_is_further_out() -> None:
    inner, outer = (
        ("/x/site-packages/peft/tuners/tuners_utils.py", "set_adapter"),
        ("/x/peft/peft_model.py", "from_pretrained"),
    )
    assert hosts.advice("frozen-all", [[inner, outer]]) == "adapter-loaded"
    assert hosts.advice("frozen-all", [[inner]]) == "adapter-inference"
    assert hosts.advice("frozen-all", [[outer, inner]]) == "adapter-inference"
    assert hosts.advice("detach", [[inner, outer]]) == ""
    assert hosts.advice("frozen-all", [[("/home/me/adapters.py", "set_adapter")]]) == ""
    assert hosts.advice("frozen-all", [[], []]) == ""


def test_a_run_that_was_never_begun_does_nothing() -> None:
    run = Run(audit=True)
    run.stepped()
    run.failed(ValueError())
    run.end()
    assert not run.report.findings


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_a_run_tells_of_the_failure_it_watched(capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    run = Run()
    run.begin()
    run.begin()
    try:
        weight = torch.nn.Parameter(torch.ones(3))
        loss = (weight * 2).sum().detach()
        loss.backward()
    except RuntimeError as error:
        run.failed(error)
    assert [finding.cause for finding in run.report.findings] == ["detach"]
    assert "error[detach]" in capsys.readouterr().err
    assert not torch.overrides._get_current_function_mode_stack()


def test_an_audit_raises_where_it_was_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    net, gate = torch.nn.Linear(3, 1), torch.nn.Linear(3, 3)
    run = Run(audit_steps=2, raises=True)
    run.begin()
    optimizer = torch.optim.SGD([*net.parameters(), *gate.parameters()], lr=0.1)
    with pytest.raises(training.DoesNotTrain, match="`gate` gets no gradient"):
        for _ in range(4):
            optimizer.zero_grad()
            x = torch.randn(4, 3)
            net(x + gate(x).detach()).pow(2).mean().backward()
            optimizer.step()
            run.stepped()
    run.end()
    assert run.report.findings
    assert not torch.overrides._get_current_function_mode_stack()
