"""Executes the cells of a notebook in a real kernel, as a front end does, and gives back what each cell shows."""

from __future__ import annotations

import textwrap
from typing import Any

import nbformat
from nbclient import NotebookClient


def execute(*cells: str, **options: Any) -> list[list[dict[str, Any]]]:
    """The outputs of each cell. Cells with the id of an earlier one are that cell, edited or executed again."""
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(textwrap.dedent(cell).strip("\n")) for cell in cells]
    client = NotebookClient(notebook, timeout=300, allow_errors=True, kernel_name="python3", **options)
    client.execute(env=_environment())
    return [cell.outputs for cell in notebook.cells]


def _environment() -> dict[str, str]:
    import os

    left_out = ("LANG", "LC_ALL", "COLUMNS", "NO_COLOR", "GRADWHY")
    return {k: v for k, v in os.environ.items() if k not in left_out} | {
        "OMP_NUM_THREADS": "1",
        "JUPYTER_PLATFORM_DIRS": "1",
    }


def diagnosis(outputs: list[dict[str, Any]]) -> str:
    """The text of the report under a cell; "" where there is none. There is at most one, and it is the last output."""
    found = [output for output in outputs if 'class="gradwhy"' in output.get("data", {}).get("text/html", "")]
    if not found:
        return ""
    assert found == outputs[-1:], "the report stands under the traceback, once"
    return " ".join(str(found[0]["data"]["text/plain"]).split())


def kinds(outputs: list[dict[str, Any]]) -> list[str]:
    """What was shown: "stream", "error", "execute_result", "display_data"."""
    return [str(output["output_type"]) for output in outputs]
