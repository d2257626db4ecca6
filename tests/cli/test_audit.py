"""``gradwhy audit`` as a person uses it: what it prints, when it stops, what it leaves alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Write = Callable[..., Path]

TRAINS = """
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        optimizer.zero_grad()
        loss = model(torch.randn(4, 3)).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(step, loss.item())
    print("the end")
"""
DETACHED = TRAINS.replace("model(torch.randn(4, 3))", "model[2](model[:2](torch.randn(4, 3)).detach())")


def test_a_program_that_trains_gets_a_table_and_exit_code_0(program: Write, gradwhy: Run, python: Run) -> None:
    program(TRAINS)
    audited, plain = gradwhy("audit", "train.py"), python("train.py")
    assert audited.returncode == 0
    assert audited.stdout == plain.stdout
    assert "no silent fault seen in 5 steps and 5 backward passes of 4 parameters" in audited.stderr
    assert "model " in audited.stderr and "SGD[0]" in audited.stderr


def test_a_fault_is_named_with_its_line_and_exit_code_1(program: Write, gradwhy: Run) -> None:
    program(DETACHED)
    audited = gradwhy("audit", "train.py", env={"COLUMNS": "80"})
    assert audited.returncode == 1
    first = audited.stderr.splitlines()[0]
    assert first.startswith("error[detach]")
    assert "train.py:9" in audited.stderr
    assert all(len(line) <= 80 for line in audited.stderr.splitlines())


def test_steps_end_the_program_cleanly(program: Write, gradwhy: Run) -> None:
    program(TRAINS + "\n    import atexit\n")
    text = TRAINS.replace("torch.manual_seed(0)", "import atexit; atexit.register(print, 'exit handler ran')")
    program(text)
    audited = gradwhy("audit", "--steps", "2", "train.py")
    assert audited.returncode == 0
    assert "the end" not in audited.stdout
    assert "exit handler ran" in audited.stdout
    assert "2 steps" in audited.stderr


def test_then_continue_lets_the_program_end_by_itself(program: Write, gradwhy: Run, python: Run) -> None:
    program(TRAINS)
    audited = gradwhy("audit", "--steps", "2", "--then", "continue", "train.py")
    assert audited.stdout == python("train.py").stdout
    assert "2 steps" in audited.stderr


def test_no_except_exception_of_the_program_s_holds_the_stop_back(program: Write, gradwhy: Run) -> None:
    program(
        TRAINS.replace(
            "optimizer.step()",
            "\n        try:\n            optimizer.step()\n        except Exception:\n            pass",
        )
    )
    audited = gradwhy("audit", "--steps", "1", "train.py")
    assert "the end" not in audited.stdout
    assert audited.returncode == 0


def test_samples_take_one_step_on_a_few_of_the_loader_s_own(program: Write, gradwhy: Run) -> None:
    program("""
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset

        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for (x,) in DataLoader(TensorDataset(torch.randn(64, 3)), batch_size=16):
            print(len(x))
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
    """)
    audited = gradwhy("audit", "--samples", "2", "train.py")
    assert audited.stdout.split() == ["2"]


def test_json_has_a_row_for_each_parameter(program: Write, gradwhy: Run, tmp_path: Path) -> None:
    program(DETACHED)
    gradwhy("audit", "--format", "json", "--output", "report.json", "train.py")
    report = json.loads((tmp_path / "report.json").read_text())
    rows = {row["name"]: row for row in report["parameters"]}
    assert set(rows) == {"model.0.weight", "model.0.bias", "model.2.weight", "model.2.bias"}
    assert (
        rows["model.0.weight"] | {"gradient": "none", "without": 5, "changed": 0, "shape": [8, 3]}
        == rows["model.0.weight"]
    )
    trained = rows["model.2.weight"]
    assert trained["gradient"] == "finite" and trained["norm"] > 0 and trained["relative"] > 0
    assert 0 < trained["changed"] <= trained["compared"] <= trained["steps"] == 5


def test_a_program_that_fails_keeps_its_exit_code_and_is_diagnosed(program: Write, gradwhy: Run) -> None:
    program(TRAINS.replace("loss.backward()", "loss.detach().backward()"))
    audited = gradwhy("audit", "train.py")
    assert audited.returncode == 1
    assert "element 0 of tensors does not require grad" in audited.stderr
    assert "error[detach]" in audited.stderr


def test_a_program_without_training_says_so(program: Write, gradwhy: Run) -> None:
    program("import torch\nprint(torch.ones(2).sum().item())")
    audited = gradwhy("audit", "train.py")
    assert audited.returncode == 0
    assert "no optimizer step was seen" in audited.stderr


def test_the_picture(program: Write, gradwhy: Run, tmp_path: Path) -> None:
    program(DETACHED)
    gradwhy("audit", "--plot", "norms.svg", "train.py")
    assert (tmp_path / "norms.svg").read_text().startswith("<?xml")


def test_same_bits_with_and_without(program: Write, gradwhy: Run, python: Run) -> None:
    program(TRAINS + "\n    print([p.sum().item().hex() for p in model.parameters()])\n")
    assert gradwhy("audit", "train.py").stdout == python("train.py").stdout


def test_filters_of_warnings_do_not_silence_a_fault(program: Write, gradwhy: Run) -> None:
    program(
        TRAINS.replace(
            "model(torch.randn(4, 3)).pow(2).mean()", "nn.functional.mse_loss(model(torch.randn(4, 3)), torch.randn(4))"
        )
    )
    audited = gradwhy("audit", "train.py", env={"PYTHONWARNINGS": "ignore"})
    assert audited.returncode == 1
    assert audited.stderr.startswith("warning[shape-broadcast]")
