"""Tries a fix: runs the program once more with the edits, in a process of its own, up to the step that failed before.

Nothing is written: the edited text is compiled in place of the file. What the program itself writes up to that step, it
writes again, so a trial is made only when asked for.
"""

from __future__ import annotations

import importlib.machinery
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from gradwhy.findings import Edit, Fix, Verification
from gradwhy.runtime import launch
from gradwhy.source import edits as source_edits
from gradwhy.source import text

_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a trial runs: the program, the edits, and how many optimizer steps went well before the failure."""

    program: launch.Program
    edits: tuple[Edit, ...]
    steps_before: int
    folder: str


def verify(fix: Fix, program: launch.Program, steps_before: int, folder: str) -> Verification:
    """Run the program with a fix's edits. Never raises: what goes wrong is the verification's ``failure``."""
    with tempfile.TemporaryDirectory(prefix="gradwhy-") as place:
        order, answer = Path(place, "order.json"), Path(place, "answer.json")
        attempt = Attempt(program, fix.edits, steps_before, folder)
        order.write_text(json.dumps(asdict(attempt)), "utf-8")
        command = [sys.executable, "-m", "gradwhy.runtime.trial", str(order), str(answer)]
        try:
            subprocess.run(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=_SECONDS, check=False,
            )  # fmt: skip
            return Verification(**json.loads(answer.read_text("utf-8")))
        except subprocess.TimeoutExpired:
            return _failed(f"no complete step within {_SECONDS} s")
        except (OSError, ValueError, TypeError) as error:
            return _failed(f"the trial gave no answer ({type(error).__name__})")


def _failed(why: str) -> Verification:
    return Verification(trained=0, trainable=0, changed=0, failure=why)


class _Gauge:
    """Counts optimizer steps, and looks at the one that matters: which parameters had a gradient, which changed."""

    def __init__(self, steps_before: int, tell: Callable[[Verification], None]) -> None:
        self.left = steps_before
        self.tell = tell
        self.before: dict[int, Any] = {}

    def start(self) -> None:
        from torch.optim import optimizer as optimizers

        optimizers.register_optimizer_step_pre_hook(self._before_step)
        optimizers.register_optimizer_step_post_hook(self._after_step)

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.left == 0:
            self.before = {id(p): p.detach().clone() for p in _parameters(optimizer)}

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.left > 0:
            self.left -= 1
            return
        parameters = _parameters(optimizer)
        trained = [p for p in parameters if p.grad is not None]
        changed = [p for p in trained if id(p) in self.before and not p.detach().equal(self.before[id(p)])]
        self.tell(Verification(trained=len(trained), trainable=len(parameters), changed=len(changed)))
        # Nothing of the program runs after this, its exit handlers included.
        os._exit(0)


def _parameters(optimizer: Any) -> list[Any]:
    return [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]


def main(order: str, answer: str) -> None:
    """The trial's own process."""
    data = json.loads(Path(order).read_text("utf-8"))
    program = launch.Program(
        data["program"]["target"], tuple(data["program"]["arguments"]), data["program"]["is_module"]
    )
    edits = [Edit(**edit) for edit in data["edits"]]
    overlay = {file: _edited(file, edits) for file in {str(Path(e.file).absolute()) for e in edits}}

    def tell(result: Verification) -> None:
        Path(answer).write_text(json.dumps(asdict(result)), "utf-8")

    from gradwhy.runtime import arrival

    _load_edited(overlay)
    gauge = _Gauge(data["steps_before"], tell)
    arrival.when_imported("torch", gauge.start)
    try:
        launch.run(program, overlay)
    except SystemExit as ended:
        if ended.code not in (None, 0):
            tell(_failed(f"SystemExit: {ended.code}"))
            return
    except BaseException as error:
        tell(_failed(f"{type(error).__name__}: {str(error)[:200]}"))
        return
    tell(Verification(trained=0, trainable=0, changed=0, ended=True))


def _edited(file: str, edits: list[Edit]) -> CodeType:
    source = text.read(file)
    if source is None:
        raise OSError(f"{file} can't be read")
    mine = [edit for edit in edits if str(Path(edit.file).absolute()) == file]
    return compile(source_edits.apply(source.text, mine), file, "exec", dont_inherit=True)


def _load_edited(overlay: dict[str, CodeType]) -> None:
    """Modules whose file was edited are loaded from the edited text, not from the file or its cache."""
    original = importlib.machinery.SourceFileLoader.get_code

    def get_code(self: Any, fullname: str) -> CodeType | None:
        return overlay.get(str(Path(self.path).absolute())) or original(self, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


if __name__ == "__main__":
    # The program's __main__ takes this module's place: go on in one that stays.
    from gradwhy.runtime import trial

    trial.main(sys.argv[1], sys.argv[2])
