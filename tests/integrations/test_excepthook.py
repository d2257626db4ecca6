"""``gradwhy.install()``: the report comes under the traceback, and nothing else of the program changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Write = Callable[..., Path]
Run = Callable[..., "CompletedProcess[str]"]

FAILS = """
def train():
    model = torch.nn.Linear(3, 1)
    pred = model(torch.ones(4, 3)).argmax(1).float()
    pred.mean().backward()
"""
INSTALL = "import gradwhy\ngradwhy.install()\n"


def same_but_for_lines(first: str, second: str) -> bool:
    """Whether two tracebacks are alike: the installing lines on top move the numbers."""
    return re.sub(r"line \d+", "line N", first) == re.sub(r"line \d+", "line N", second)


def split(stderr: str) -> tuple[str, str]:
    """(what came before the report, the report)."""
    place = stderr.find("error[")
    place = stderr.find("likely[") if place < 0 else place
    return (stderr, "") if place < 0 else (stderr[:place], stderr[place:])


@pytest.mark.parametrize("before", ["import torch\n", ""], ids=["torch first", "torch later"])
def test_an_uncaught_exception_has_its_report_under_its_traceback(program: Write, python: Run, before: str) -> None:
    plain = python(program(f"import torch\n{FAILS}\ntrain()\n"))
    run = python(program(f"{before}{INSTALL}import torch\n{FAILS}\ntrain()\n"))
    traceback, report = split(run.stderr)
    assert same_but_for_lines(traceback, plain.stderr)
    assert report.startswith("error[argmax]") and "pred = model(torch.ones(4, 3)).argmax(1)" in report
    assert run.returncode == plain.returncode == 1


@pytest.mark.parametrize(
    "end",
    [
        "raise KeyError('x')",
        "raise SystemExit(3)",
        "raise KeyboardInterrupt",
        "print('well')",
        "raise RuntimeError('boom')",
    ],
)
def test_an_end_that_is_not_about_gradients_is_left_alone(program: Write, python: Run, end: str) -> None:
    body = f"import torch\ntorch.nn.Linear(3, 1)(torch.ones(2, 3)).sum().backward()\n{end}\n"
    plain = python(program(body))
    run = python(program(INSTALL + body))
    assert (run.returncode, run.stdout) == (plain.returncode, plain.stdout)
    assert same_but_for_lines(run.stderr, plain.stderr)


def test_the_frames_of_the_recorder_are_in_no_traceback(program: Write, python: Run) -> None:
    body = "import torch\nw = torch.ones(3, requires_grad=True)\ntorch.matmul(w, torch.ones(4))\n"
    plain = python(program(body))
    run = python(program(INSTALL + body))
    assert same_but_for_lines(run.stderr, plain.stderr)


def test_an_exception_in_a_thread_is_reported(program: Write, python: Run) -> None:
    run = python(
        program(
            f"{INSTALL}import torch, threading\n{FAILS}\nt = threading.Thread(target=train)\nt.start()\nt.join()\nprint('on')\n"
        )
    )
    assert "Exception in thread" in run.stderr
    assert "[argmax]" in split(run.stderr)[1] and "train.py:7" in run.stderr
    assert (run.stdout, run.returncode) == ("on\n", 0)


def test_grad_mode_of_another_thread_is_not_blamed(program: Write, python: Run) -> None:
    """The main thread evaluates without gradients while the other one fails for a reason of its own."""
    run = python(
        program(f"""{INSTALL}import torch, threading
{FAILS}
with torch.no_grad():
    t = threading.Thread(target=train)
    t.start()
    t.join()
""")
    )
    assert "no_grad-context" not in run.stderr and "[argmax]" in run.stderr


class TestOtherHooks:
    """What the program has put in place, before or after ours, goes on as it did."""

    def test_one_that_was_there_before_is_called_first(self, program: Write, python: Run) -> None:
        mine = "import sys\nsys.excepthook = lambda kind, error, tb: print('mine:', kind.__name__, file=sys.stderr)\n"
        run = python(program(f"{mine}{INSTALL}import torch\n{FAILS}\ntrain()\n"))
        assert run.stderr.startswith("mine: RuntimeError\nerror[argmax]")

    def test_one_that_is_put_around_ours_still_calls_it(self, program: Write, python: Run) -> None:
        around = (
            "import sys\nold = sys.excepthook\n"
            "def hook(*a):\n    print('sent', file=sys.stderr)\n    old(*a)\nsys.excepthook = hook\n"
        )
        run = python(program(f"{INSTALL}{around}import torch\n{FAILS}\ntrain()\n"))
        assert run.stderr.startswith("sent\nTraceback") and run.stderr.count("error[argmax]") == 1

    def test_one_that_replaces_ours_hides_no_report(self, program: Write, python: Run) -> None:
        replaced = "import sys\nsys.excepthook = lambda *a: print('mine', file=sys.stderr)\n"
        run = python(program(f"{INSTALL}{replaced}import torch\n{FAILS}\ntrain()\n"))
        assert run.stderr.startswith("mine\nerror[argmax]")

    def test_rich_draws_its_traceback(self, program: Write, python: Run) -> None:
        for order in (
            INSTALL + "import rich.traceback\nrich.traceback.install()\n",
            "import rich.traceback\nrich.traceback.install()\n" + INSTALL,
        ):
            run = python(program(f"{order}import torch\n{FAILS}\ntrain()\n"))
            assert "Traceback (most recent call last)" in run.stderr and "╭" in run.stderr
            assert run.stderr.count("error[argmax]") == 1 and "recorder.py" not in run.stderr

    def test_one_that_fails_is_told_of_as_python_tells(self, program: Write, python: Run) -> None:
        broken = "import sys\ndef hook(*a):\n    raise LookupError('broken hook')\nsys.excepthook = hook\n"
        run = python(program(f"{broken}{INSTALL}import torch\n{FAILS}\ntrain()\n"))
        plain = python(program(f"{broken}import torch\n{FAILS}\ntrain()\n"))
        traceback, report = split(run.stderr)
        assert same_but_for_lines(traceback, plain.stderr) and report.startswith("error[argmax]")

    def test_faulthandler_stays_on(self, program: Write, python: Run) -> None:
        run = python("-X", "faulthandler", program(f"{INSTALL}import torch, ctypes\nctypes.string_at(0)\n"))
        assert run.stderr.startswith("Fatal Python error: Segmentation fault") and run.returncode == -11

    def test_uninstall_takes_ours_away_and_leaves_what_was_put_around_it(self, program: Write, python: Run) -> None:
        run = python(
            program(f"""import sys, threading
before = sys.excepthook, threading.excepthook
{INSTALL}gradwhy.install()
gradwhy.uninstall()
gradwhy.uninstall()
assert (sys.excepthook, threading.excepthook) == before
gradwhy.install()
ours = sys.excepthook
sys.excepthook = lambda *a: ours(*a)
gradwhy.uninstall()
import torch
assert torch.overrides._get_current_function_mode_stack() == []
{FAILS}
train()
""")
        )
        assert run.stderr.startswith("Traceback") and "argmax]" not in run.stderr


def test_gradwhy_run_reports_once(program: Write, gradwhy: Run) -> None:
    run = gradwhy("run", program(f"{INSTALL}import torch\n{FAILS}\ntrain()\n"))
    assert run.stderr.count("error[argmax]") == 1


def test_the_report_goes_where_it_is_wanted(program: Write, python: Run, tmp_path: Path) -> None:
    run = python(program(f"import gradwhy\ngradwhy.install(to='why.json')\nimport torch\n{FAILS}\ntrain()\n"))
    assert "argmax]" not in run.stderr and '"cause": "argmax"' in (tmp_path / "why.json").read_text("utf-8")
    run = python(
        program(
            f"import gradwhy\ngradwhy.install(to=lambda r: print(r.findings[0].cause))\nimport torch\n{FAILS}\ntrain()\n"
        )
    )
    assert run.stdout == "argmax\n"


@pytest.mark.parametrize(
    "where",
    [
        "gradwhy.runtime.diagnose:diagnose",
        "gradwhy.runtime.embedded:report",
        "gradwhy.runtime.recorder:Recorder._untracked",
    ],
)
def test_a_fault_of_ours_is_no_fault_of_the_programs(program: Write, python: Run, where: str) -> None:
    module, _, name = where.partition(":")
    crash = f"""
import importlib
owner = importlib.import_module({module!r})
*owners, last = {name!r}.split('.')
for each in owners: owner = getattr(owner, each)
def crash(*a, **k): raise LookupError('on purpose')
setattr(owner, last, crash)
"""
    plain = python(program(f"import torch\n{FAILS}\ntrain()\n"))
    run = python(program(f"{INSTALL}import torch{crash}{FAILS}\ntrain()\n"))
    assert run.returncode == 1
    lines = plain.stderr.splitlines()
    assert [line.split(", in")[-1] for line in run.stderr.splitlines()[: len(lines)]] == [
        line.split(", in")[-1] for line in lines
    ]


def test_no_tensor_is_kept(program: Write, python: Run) -> None:
    run = python(
        program(f"""{INSTALL}import torch, gc, sys, weakref
seen = []
def train():
    model = torch.nn.Linear(3, 1)
    seen.append(weakref.ref(model.weight))
    pred = model(torch.ones(4, 3)).argmax(1).float()
    seen.append(weakref.ref(pred))
    pred.mean().backward()
try:
    train()
except RuntimeError as error:
    sys.excepthook(type(error), error, error.__traceback__)
gc.collect()
print([each() for each in seen])
""")
    )
    assert run.stdout == "[None, None]\n" and "error[argmax]" in run.stderr
