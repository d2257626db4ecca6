"""IPython without a kernel: a terminal's shell, and front ends that say which cell it is that is executed again."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

Write = Callable[..., Path]
Run = Callable[..., "CompletedProcess[str]"]

SHELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
class Shell(InteractiveShell):
    if "kernel names" in sys.argv:
        # A kernel names the code of a cell by its text alone.
        from ipykernel.compiler import XCachingCompiler as compiler_class
shell = Shell.instance(colors="nocolor")
def run(code, cell_id=None):
    return shell.run_cell(code, store_history=True, cell_id=cell_id)
run("%load_ext gradwhy\\nimport torch\\nfrom torch import nn")
run("model = nn.Linear(3, 1)\\nx = torch.ones(8, 3)", "a")
"""


def shown(program: Write, python: Run, script: str, *arguments: str) -> str:
    run = python(program(SHELL + textwrap.dedent(script)), *arguments)
    assert run.returncode == 0, run.stderr
    return " ".join(run.stdout.split())


def test_a_terminal_shows_the_text_under_the_traceback(program: Write, python: Run) -> None:
    text = shown(program, python, "run('model(x).detach().sum().backward()')")
    assert "RuntimeError: element 0" in text and "error[detach]" in text.rpartition("RuntimeError: element 0")[2]
    assert "cell 3, line 1" in text and "<div" not in text and "recorder.py" not in text


def test_an_edited_cell_is_the_program_and_not_what_it_said_before(program: Write, python: Run) -> None:
    """It had frozen everything, and looks for what is frozen by hand no more."""
    text = shown(
        program,
        python,
        """
        run("embedding = nn.Embedding.from_pretrained(torch.ones(4, 3))", "b")
        run("embedding = nn.Embedding(4, 3)", "b")
        run("loss = embedding(torch.tensor([1])).detach().sum()", "c")
        run("loss.backward()", "d")
        """,
    )
    assert "error[detach]" in text and "from_pretrained" not in text and "cell 5, line 1" in text


def test_a_cell_that_is_executed_again_goes_by_its_new_count(program: Write, python: Run) -> None:
    text = shown(
        program,
        python,
        """
        run("loss = model(x).pow(2).sum()", "b")
        run("loss.backward()", "c")
        run("loss.backward()", "c")
        """,
        "kernel names",
    )
    assert "error[freed-graph-reused]" in text and "cell 5" in text and "cell 4" not in text


def test_two_cells_with_one_text_are_two(program: Write, python: Run) -> None:
    text = shown(
        program,
        python,
        """
        run("loss = model(x).pow(2).sum()", "b")
        run("loss.backward()", "c")
        run("loss.backward()", "d")
        """,
        "kernel names",
    )
    assert ". cell 4 1 | loss.backward()" in text and ". cell 5 1 | loss.backward()" in text


def test_magics_and_empty_lines_leave_the_lines_as_they_were_typed(program: Write, python: Run) -> None:
    text = shown(
        program,
        python,
        r"""
        run("\n\n%precision 3\nout = model(x).detach()\n!true\nout.sum().backward()")
        """,
    )
    assert "cell 3, line 4" in text and "4 | out = model(x).detach()" in text and "6 | out.sum().backward()" in text


def test_a_hook_of_the_programs_own_for_exceptions_is_still_called(program: Write, python: Run) -> None:
    text = shown(
        program,
        python,
        """
        def mine(self, kind, error, traceback, tb_offset=None):
            print("mine", kind.__name__)
        shell.set_custom_exc((RuntimeError,), mine)
        run("model(x).detach().sum().backward()")
        """,
    )
    assert "mine RuntimeError" in text and "error[detach]" in text


def test_rich_in_the_shell(program: Write, python: Run) -> None:
    for order in ("", "run('%unload_ext gradwhy'); "):
        text = shown(
            program,
            python,
            f"""
            {order}run("import rich.traceback; rich.traceback.install()"); run("%load_ext gradwhy")
            run("model(x).detach().sum().backward()")
            """,
        )
        assert text.count("error[detach]") == 1 and "recorder.py" not in text


def test_unloading_puts_everything_back(program: Write, python: Run) -> None:
    text = shown(
        program,
        python,
        """
        before = dict(vars(shell)), dict(vars(shell.compile)), [len(v) for v in shell.events.callbacks.values()]
        run("%reload_ext gradwhy")
        run("%unload_ext gradwhy")
        names = {"_get_exc_info"} & set(vars(shell)) | {"get_code_name"} & set(vars(shell.compile))
        print("left:", names, "gradwhy" in shell.magics_manager.magics["line"])
        run("torch.overrides._get_current_function_mode_stack()")
        """,
    )
    assert "left: set() False" in text and "[]" in text
