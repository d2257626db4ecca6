"""--diff, --fix and --unsafe-fixes: what they show, what they write, and what they leave alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run

TWO_CUTS = """\
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.randn(8, 3)
    for step in range(3):
        optimizer.zero_grad()
        out = model(torch.randn(8, 4)).detach()  # the first cut
        hidden = out.data
        loss = nn.functional.mse_loss(hidden, target)
        loss.backward()
        optimizer.step()
    """
CORRECTED = ("out = model(torch.randn(8, 4))  # the first cut", "hidden = out\n")


def test_all_cuts_of_a_program_are_mended_at_once_and_it_trains(
    program: Callable[..., Path], gradwhy: Run, python: Run
) -> None:
    path = program(TWO_CUTS)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    ended = gradwhy("run", "--fix", "train.py")
    assert ended.returncode == 1
    assert "verified: 2 of 2 parameters get a gradient, 2 change" in ended.stderr
    assert "corrected `train.py`" in ended.stderr
    text = path.read_bytes().decode()
    assert all(part.replace("\n", "\r\n") in text for part in CORRECTED)
    assert text.count("\r\n") == text.count("\n")
    assert python("train.py").returncode == 0


def test_the_diff_is_one_that_git_takes_and_nothing_is_written(
    program: Callable[..., Path], gradwhy: Run, tmp_path: Path
) -> None:
    path = program(TWO_CUTS)
    before = path.read_bytes()
    report = tmp_path / "report.json"
    ended = gradwhy("run", "--diff", "--format", "json", "--output", report, "train.py")
    assert path.read_bytes() == before
    assert "runs once more" in ended.stderr
    start = ended.stderr.index("--- a/train.py")
    patch = "".join(line for line in ended.stderr[start:].splitlines(keepends=True) if not line.startswith("gradwhy:"))
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, text=True, check=True)
    assert all(part in path.read_text() for part in CORRECTED)
    # The first edit alone does not make it train, and the report says so.
    assert json.loads(report.read_text())["findings"][0]["fixes"][0]["verified"] is False


def test_what_was_not_verified_is_written_only_when_that_is_asked_for(
    program: Callable[..., Path], gradwhy: Run
) -> None:
    path = program(TWO_CUTS)
    before = path.read_bytes()
    ended = gradwhy("run", "--fix", "--no-verify", "train.py")
    assert path.read_bytes() == before
    assert "not written, since it was not verified" in ended.stderr
    gradwhy("run", "--unsafe-fixes", "--no-verify", "train.py")
    assert CORRECTED[0] in path.read_text() and "out.data" in path.read_text()


def test_a_failure_that_is_not_autograds_changes_nothing(program: Callable[..., Path], gradwhy: Run) -> None:
    path = program("import torch\ntorch.ones(2) @ torch.ones(3)\n")
    before = path.read_bytes()
    ended = gradwhy("run", "--fix", "train.py")
    assert (ended.returncode, path.read_bytes()) == (1, before)


def test_processes_that_the_program_starts_run_the_edited_text_too(program: Callable[..., Path], gradwhy: Run) -> None:
    path = program(
        """\
        import os
        import torch
        import torch.multiprocessing as mp

        def work(rank):
            w = torch.ones(3, requires_grad=True)
            loss = (w * rank).detach().sum()
            loss.backward()

        if __name__ == "__main__":
            os.chdir("/")
            mp.spawn(work, nprocs=1)
        """
    )
    ended = gradwhy("run", "--fix", "train.py")
    assert "verified: the program runs to its end" in ended.stderr, ended.stderr
    assert ".detach()" not in path.read_text()


def test_the_audit_tries_its_fixes_by_another_audit(program: Callable[..., Path], gradwhy: Run) -> None:
    path = program(
        """\
        import torch
        from torch import nn

        torch.manual_seed(0)
        encoder, head = nn.Linear(4, 8), nn.Linear(8, 1)
        optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
        for step in range(4):
            x = torch.randn(16, 4)
            with torch.no_grad():
                z = encoder(x)
            loss = (head(z) - x.sum(1, keepdim=True)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """
    )
    ended = gradwhy("audit", "--fix", "train.py")
    assert ended.returncode == 1
    assert "verified: 4 of 4 parameters get a gradient, 4 change" in ended.stderr
    assert "is audited once more" in ended.stderr
    assert "no_grad" not in path.read_text()
    assert gradwhy("audit", "train.py").returncode == 0


STATIC = """\
    import torch

    w = torch.randn(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    loss = (w * 2).detach().sum()
    loss.backward()
    optimizer.step()
    """


def test_check_shows_writes_and_looks_again(program: Callable[..., Path], gradwhy: Run) -> None:
    path = program(STATIC)
    before = path.read_bytes()
    shown = gradwhy("check", "--diff", "train.py")
    assert (shown.returncode, path.read_bytes()) == (1, before)
    assert "-loss = (w * 2).detach().sum()\n+loss = (w * 2).sum()\n" in shown.stdout
    # To leave out a detach() changes what is computed.
    assert gradwhy("check", "--fix", "train.py").returncode == 1
    assert path.read_bytes() == before
    written = gradwhy("check", "--unsafe-fixes", "train.py")
    assert (written.returncode, path.read_text()) == (0, before.decode().replace(".detach()", ""))


def test_check_corrects_the_cell_of_a_notebook(tmp_path: Path, gradwhy: Run) -> None:
    import textwrap

    first, rest = textwrap.dedent(STATIC).split("\n\n", 1)
    cells = [
        {"cell_type": "markdown", "source": ["# training"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", first], "outputs": [{"text": "é"}]},
        {"cell_type": "code", "source": rest.splitlines(keepends=True), "outputs": []},
    ]
    raw = json.dumps({"cells": cells, "nbformat": 4}, indent=1, ensure_ascii=False) + "\n"
    (tmp_path / "train.ipynb").write_text(raw, "utf-8")
    ended = gradwhy("check", "--unsafe-fixes", "--no-cache", "train.ipynb")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (tmp_path / "train.ipynb").read_text("utf-8") == raw.replace(".detach()", "")


def test_check_corrects_another_file_of_the_project(program: Callable[..., Path], gradwhy: Run) -> None:
    helper = program("def features(w):\n    y = w * 2\n    return y.detach()\n", "features.py")
    main = program(
        """\
        import torch
        from features import features

        w = torch.randn(3, requires_grad=True)
        loss = features(w).sum()
        loss.backward()
        """
    )
    before = main.read_bytes()
    shown = gradwhy("check", "--project", "--diff", ".")
    assert "+++ b/features.py" in shown.stdout and "+++ b/train.py" not in shown.stdout
    assert gradwhy("check", "--project", "--unsafe-fixes", "--no-cache", ".").returncode == 0
    assert helper.read_text() == "def features(w):\n    y = w * 2\n    return y\n"
    assert main.read_bytes() == before


@pytest.mark.parametrize("arguments", [["--fix"], ["--unsafe-fixes"]])
def test_standard_input_is_not_written_to(gradwhy: Run, arguments: list[str]) -> None:
    assert gradwhy("check", *arguments, "-", input="").returncode == 2
