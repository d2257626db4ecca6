"""Programs with marks: ``# here: CAUSE`` stands on the line that the best finding should name; none means silence."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RUNNER = Path(__file__).parent / "run_marked.py"


def marks(program: str) -> list[tuple[int, str]]:
    """(line, cause) of each mark of a program."""
    lines = textwrap.dedent(program).strip().splitlines()
    return [(number, found[1]) for number, line in enumerate(lines, 1) if (found := re.search(r"# here: (\S+)", line))]


def reports_of(
    programs: Mapping[str, str], folder: Path, nan: bool = False, trace: str = "auto"
) -> dict[str, dict[str, Any]]:
    """Runs programs, all in one process that has torch, and gives back their reports."""
    wanted = {
        name: {"text": textwrap.dedent(program).strip() + "\n", "nan": nan, "trace": trace}
        for name, program in programs.items()
    }
    order = folder / "programs.json"
    order.write_text(json.dumps(wanted))
    subprocess.run([sys.executable, RUNNER, order, folder], check=True, timeout=600)
    return {name: json.loads((folder / f"{number}.json").read_text()) for number, name in enumerate(wanted)}


def check(program: str, report: dict[str, Any]) -> None:
    """The best finding is on a marked line with its cause, or there is no mark and no finding."""
    wanted = marks(program)
    said = [(finding["at"]["line"], finding["cause"]) for finding in report["findings"]]
    assert not [note for note in report["notes"] if note == "words.own-fault"], report["notes"]
    if wanted:
        assert said[:1] and said[0] in wanted, said
    else:
        assert not said
