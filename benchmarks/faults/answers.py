"""What a tool said about one program, and how a program is run for it: alone, as ``train.py`` in an empty folder."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warm import Warm

HERE = Path(__file__).resolve().parent
SECONDS = 180
FRAME = re.compile(r'File "(?:[^"\n]*/)?train\.py", line (\d+)')

# The reasons that torch's own texts state. Texts that tell what failed and not why have no row.
STATED = (
    (r"modified by an inplace operation", "inplace-op"),
    (r"leaf Variable that requires grad is being used in an in-place operation", "inplace-op"),
    (r"is a view and is being modified inplace|view of a leaf Variable", "view-inplace"),
    (r"through the graph a second time", "freed-graph-reused"),
    (r"Inference tensors cannot be saved|Inplace update to inference tensor", "inference_mode-context"),
    (r"returned an (?:invalid gradient|incorrect number of gradients)", "custom-backward-wrong"),
    (r"None of the inputs have requires_grad=True", "checkpoint-frozen-input"),
    (r"parameters that were not used in producing (?:the )?loss", "module-unused"),
    (r"Parameter at index \d+ .*has been marked as ready twice|mark(?:ed)? a variable ready only once", "double-use"),
    (r"Using a target size .* that is different to the input size", "shape-broadcast"),
    (r"'LogBackward0' returned nan", "log-of-zero"),
    (r"'SqrtBackward0' returned nan", "sqrt-of-zero"),
)


@dataclass(frozen=True)
class Said:
    """One statement of a tool: the line of the program that it names, if any, and each reason that it gives for the fault.

    ``grave`` is false for what the tool itself ranks below a warning; that may be said of a correct program.
    """

    line: int | None
    causes: tuple[str, ...] = ()
    text: str = ""
    grave: bool = True


@dataclass(frozen=True)
class Answer:
    """All that a tool said, its first statement first.

    ``shown`` are lines that it prints without a verdict, ``corrected`` the program with its own first correction, and
    ``inapplicable`` the reason why the tool can't be used on this program.
    """

    said: Sequence[Said] = ()
    shown: frozenset[int] = frozenset()
    corrected: str | None = None
    inapplicable: str | None = None
    failed: str | None = None


@dataclass(frozen=True)
class Case:
    """A case's facts and its two programs."""

    stem: str
    facts: dict[str, object] = field(hash=False)
    program: Path
    twin: Path

    @property
    def loud(self) -> bool:
        return self.facts["raises"] is not None

    @property
    def kind(self) -> str:
        return str(self.facts["kind"])


@contextlib.contextmanager
def alone(program: Path) -> Iterator[Path]:
    """A copy of the program in a folder of its own, so that nothing beside it can be read."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "train.py")
        shutil.copyfile(program, script)
        yield script


def launch(command: Sequence[str | Path], folder: Path, warn: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a command with one thread; exit code 124 where it took too long."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "200",
        "PYTHONWARNINGS": "default::UserWarning" if warn else "ignore",
    }
    try:
        return subprocess.run(
            [str(part) for part in command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "timed out")


WARM = Warm()


def python(
    script: Path, *arguments: str, warn: bool = False, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """``python SCRIPT ARGUMENTS`` in the script's folder or another; in a process of its own where it starts others."""
    folder = folder or script.parent
    name = script.name if script.parent == folder else str(script)
    if "multiprocessing" in script.read_text("utf-8"):
        return launch([sys.executable, name, *arguments], folder, warn)
    code, out, err = WARM.run([name, *arguments], folder, warn)
    return subprocess.CompletedProcess([name, *arguments], code, out, err)


def stated(text: str) -> tuple[str, ...]:
    """The reasons that a text of torch gives."""
    return tuple(dict.fromkeys(cause for pattern, cause in STATED if re.search(pattern, text)))


def traceback_of(stderr: str) -> list[Said]:
    """The failure as Python shows it: the innermost line of the program, and the exception's text; nothing after a good end."""
    at = stderr.rfind("Traceback (most recent call last)")
    if at < 0:
        return []
    frames = [int(number) for number in FRAME.findall(stderr[at:])]
    message = re.sub(r"(?m)^(?: .*|Traceback.*)\n?", "", stderr[at:]).strip()
    return [Said(frames[-1] if frames else None, stated(message), message[:200])]


def warnings_of(stderr: str) -> list[Said]:
    """What torch warned of, each with the line of the program where Python names one."""
    found = []
    for line, text in re.findall(r"(?m)^(?:.*train\.py:(\d+)|\S+\.py:\d+): \w*Warning: (.*)$", stderr):
        found.append(Said(int(line) if line else None, stated(text), text[:200]))
    return found
