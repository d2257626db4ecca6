"""``with gradwhy.watch():`` reports what leaves the block, and lets it go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

Write = Callable[..., Path]
Run = Callable[..., "CompletedProcess[str]"]

FAILS = """
import gradwhy
import torch

def train():
    model = torch.nn.Linear(3, 1)
    pred = model(torch.ones(4, 3)).argmax(1).float()
    pred.mean().backward()

"""


def test_the_exception_is_reported_and_goes_on(program: Write, python: Run) -> None:
    run = python(
        program(f"""{FAILS}
try:
    with gradwhy.watch() as watched:
        train()
except RuntimeError as error:
    import traceback
    print([frame.name for frame in traceback.extract_tb(error.__traceback__)][:2])
print([finding.cause for finding in watched.report.findings])
assert torch.overrides._get_current_function_mode_stack() == []
""")
    )
    assert run.stdout == "['<module>', 'train']\n['argmax']\n"
    assert run.stderr.startswith("error[argmax]") and "train.py:6" in run.stderr


def test_blocks_inside_one_another_tell_once(program: Write, python: Run) -> None:
    run = python(
        program(f"""{FAILS}
gradwhy.install()
def outer():
    with gradwhy.watch():
        with gradwhy.watch():
            train()
outer()
""")
    )
    assert run.stderr.count("error[argmax]") == 1 and "Traceback" in run.stderr


def test_torch_may_come_later_and_the_block_may_end_without_it(program: Write, python: Run) -> None:
    run = python(
        program("""
        import sys
        import gradwhy
        with gradwhy.watch():
            assert "torch" not in sys.modules
        with gradwhy.watch():
            pass
        assert not [f for f in sys.meta_path if "gradwhy" in type(f).__module__]
        try:
            with gradwhy.watch(to=lambda report: print(report.findings[0].certainty)):
                import torch
                torch.nn.Linear(3, 1)(torch.ones(4, 3)).argmax(1).float().mean().backward()
        except RuntimeError:
            print("caught")
        """)
    )
    assert run.stdout == "proven\ncaught\n", run.stderr


def test_what_is_not_about_gradients_is_left_alone(program: Write, python: Run) -> None:
    run = python(
        program(f"""{FAILS}
for error in (KeyError('x'), KeyboardInterrupt(), SystemExit(3), StopIteration()):
    try:
        with gradwhy.watch() as watched:
            raise error
    except BaseException as caught:
        assert caught is error and not watched.report.findings
with gradwhy.watch():
    torch.nn.Linear(3, 1)(torch.ones(2, 3)).sum().backward()
""")
    )
    assert (run.stdout, run.stderr, run.returncode) == ("", "", 0)


def test_what_raises_nothing_is_told_at_the_end(program: Write, python: Run) -> None:
    run = python(
        program("""
        import gradwhy, torch
        model = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with gradwhy.watch():
            optimizer.zero_grad()
            loss = torch.tensor(model(torch.ones(2, 3)).sum().item(), requires_grad=True)
            loss.backward()
        """)
    )
    assert "`backward()` runs here" in " ".join(run.stderr.split()) and run.returncode == 0


def test_a_claim_of_absence_needs_a_watch_from_the_start(program: Write, python: Run) -> None:
    """The pass that filled nothing was made before the block: that no pass was made can't be said."""
    run = python(
        program("""
        import gradwhy, torch
        model, other = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
        model(torch.ones(2, 3)).sum().backward()
        try:
            with gradwhy.watch():
                other.weight.grad.norm()
        except AttributeError:
            pass
        """)
    )
    assert "backward-missing" not in run.stderr


def test_generators_and_coroutines_may_leave_and_come_back(program: Write, python: Run) -> None:
    run = python(
        program(f"""{FAILS}
import asyncio
def steps():
    with gradwhy.watch():
        yield 1
        train()
async def other():
    await asyncio.sleep(0)
    return torch.nn.Linear(3, 1)(torch.ones(2, 3)).sum().backward()
async def main():
    with gradwhy.watch():
        await other()
        train()
try:
    list(steps())
except RuntimeError:
    print("one")
try:
    asyncio.run(main())
except RuntimeError:
    print("two")
""")
    )
    assert run.stdout == "one\ntwo\n" and run.stderr.count("error[argmax]") == 2


def test_what_the_program_holds_of_its_variables_is_left_to_it(program: Write, python: Run) -> None:
    run = python(
        program(f"""{FAILS}
def outer():
    data = torch.ones(4, 3)
    held = locals()
    try:
        with gradwhy.watch():
            train()
    except RuntimeError:
        pass
    print(held["data"] is data)
outer()
""")
    )
    assert run.stdout == "True\n", run.stderr


def test_no_tensor_is_kept(program: Write, python: Run) -> None:
    run = python(
        program(f"""{FAILS}
import gc, weakref
def outer():
    data = torch.ones(4, 3)
    gone = weakref.ref(data)
    try:
        with gradwhy.watch():
            torch.nn.Linear(3, 1)(data).argmax(1).float().mean().backward()
    except RuntimeError:
        pass
    del data
    gc.collect()
    print(gone())
outer()
""")
    )
    assert run.stdout == "None\n", run.stderr
