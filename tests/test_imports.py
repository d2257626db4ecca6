"""What importing and starting gradwhy loads: never torch, and rich and click only for the command line."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded(code: str) -> set[str]:
    text = f"import sys\n{code}\nprint(' '.join(m.partition('.')[0] for m in sys.modules))"
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_import_gradwhy_loads_no_torch_rich_or_click() -> None:
    assert loaded("import gradwhy; gradwhy.__version__").isdisjoint({"torch", "numpy", "rich", "click"})


@pytest.mark.parametrize(
    "module",
    [
        "findings.wire",
        "source.slicing",
        "torchapi.table",
        "catalog.render",
        "catalog.page",
        "static.remedy",
        "static.looking",
    ],
)
def test_the_rooms_below_the_engine_load_no_torch(module: str) -> None:
    assert loaded(f"import gradwhy.{module}").isdisjoint({"torch", "numpy", "rich", "click"})


def test_the_public_verbs_load_no_torch_before_the_program_does() -> None:
    verbs = (
        "import gradwhy; gradwhy.install(); gradwhy.watch().__enter__().__exit__(None, None, None); gradwhy.uninstall()"
    )
    assert loaded(verbs).isdisjoint({"torch", "numpy", "click"})


def test_the_pytest_plugin_loads_nothing_of_ours() -> None:
    found = loaded(
        "import gradwhy.integrations.pytest; print(sys.modules.keys() & {'gradwhy.runtime', 'gradwhy.catalog'})"
    )
    assert found.isdisjoint({"torch", "numpy", "rich", "click"}) and "set()" in found


def test_the_command_line_loads_no_torch_before_a_program_does() -> None:
    assert loaded("import gradwhy.cli.run").isdisjoint({"torch", "numpy"})
    assert "rich" not in loaded("import gradwhy.cli.run")


def test_checking_files_loads_no_torch_and_no_runtime() -> None:
    found = loaded("import gradwhy.cli.check; print('gradwhy.runtime' in sys.modules)")
    assert found.isdisjoint({"torch", "numpy", "rich", "pathspec", "concurrent"})
    assert "False" in found
