"""Tries edits: runs the program once more with them, in a process of its own, up to the step that failed before.

Nothing is written: the edited text is compiled in place of the file. What the program itself writes up to that step, it
writes again, so a trial is made only when asked for.
"""

from __future__ import annotations

import importlib.machinery
import json
import linecache
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from gradwhy.findings import Fix, Report, Verification, wire
from gradwhy.runtime import launch
from gradwhy.source import edits as source_edits
from gradwhy.source import text

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a trial runs: the program, files with another text (by the name that findings give them), and how many optimizer
    steps went well before the failure. ``audit`` watches the steps after it too, as an audit does."""

    program: launch.Program
    texts: Mapping[str, str]
    folder: str
    steps_before: int = 0
    audit: bool = False


@dataclass(frozen=True, slots=True)
class Tried:
    """What a trial showed; ``report`` is what gradwhy says of the edited program, None where it can't be told."""

    verification: Verification
    report: Report | None = None
    steps: int = 0
    """Optimizer steps that were completed."""


def attempt(order: Attempt) -> Tried:
    """Run the program with other texts. Never raises: what goes wrong is the verification's ``failure``."""
    with tempfile.TemporaryDirectory(prefix="gradwhy-", ignore_cleanup_errors=True) as place:
        asked, answer = Path(place, "order.json"), Path(place, "answer.json")
        asked.write_text(json.dumps(asdict(order)), "utf-8")
        command = [sys.executable, "-m", "gradwhy.runtime.trial", str(asked), str(answer)]
        try:
            subprocess.run(
                command, cwd=order.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, timeout=_SECONDS, check=False,
            )  # fmt: skip
            data = json.loads(answer.read_text("utf-8"))
            report = wire.from_data(data["report"]) if data["report"] is not None else None
            return Tried(Verification(**data["verification"]), report, data["steps"])
        except subprocess.TimeoutExpired:
            return Tried(_failed(f"no complete step within {_SECONDS} s"))
        except (OSError, ValueError, TypeError, KeyError) as error:
            return Tried(_failed(f"the trial gave no answer ({type(error).__name__})"))


def edited(fix: Fix, texts: Mapping[str, str]) -> dict[str, str] | None:
    """``texts`` with a fix's edits made; a file that is not among them is read. None where the edits don't fit."""
    after = dict(texts)
    for file in dict.fromkeys(edit.file for edit in fix.edits):
        source = text.read(file)
        before = after.get(file, source.text if source is not None else None)
        if before is None:
            return None
        try:
            after[file] = source_edits.apply(before, [edit for edit in fix.edits if edit.file == file])
            compile(after[file], file, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return None
    return after


def verify(fix: Fix, program: launch.Program, steps_before: int, folder: str) -> Verification:
    """Run the program with a fix's edits. Never raises."""
    texts = edited(fix, {})
    if texts is None:
        return _failed("the edits don't fit")
    return attempt(Attempt(program, texts, folder, steps_before)).verification


def _failed(why: str) -> Verification:
    return Verification(trained=0, trainable=0, changed=0, failure=why)


class _Gauge:
    """Counts optimizer steps, and looks at the one that matters: which parameters had a gradient, which changed."""

    def __init__(self, steps_before: int, tell: Callable[[Verification, Report | None, int], None]) -> None:
        self.left = steps_before
        self.done = 0
        self.tell = tell
        self.before: dict[int, Any] = {}
        self.watch: Watch | None = None

    def attend(self, watch: Watch) -> Callable[[], None]:
        from torch.optim import optimizer as optimizers

        self.watch = watch
        optimizers.register_optimizer_step_pre_hook(self._before_step)
        optimizers.register_optimizer_step_post_hook(self._after_step)
        return lambda: None

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.left == 0:
            self.before = {id(p): p.detach().clone() for p in _parameters(optimizer)}

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.done += 1
        if self.left > 0:
            self.left -= 1
            return
        parameters = _parameters(optimizer)
        trained = [p for p in parameters if p.grad is not None]
        changed = [p for p in trained if id(p) in self.before and not p.detach().equal(self.before[id(p)])]
        report = None
        if self.watch is not None:
            from gradwhy.runtime.diagnose import diagnose

            report = diagnose(None, self.watch)
        result = Verification(trained=len(trained), trainable=len(parameters), changed=len(changed))
        self.tell(result, report, self.done)
        # Nothing of the program runs after this, its exit handlers included.
        os._exit(0)


def _parameters(optimizer: Any) -> list[Any]:
    return [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]


def main(order: str, answer: str) -> None:
    """The trial's own process."""
    data = json.loads(Path(order).read_text("utf-8"))
    given = data["program"]
    program = launch.Program(given["target"], tuple(given["arguments"]), given["is_module"])

    def tell(result: Verification, report: Report | None, steps: int) -> None:
        told = wire.to_data(report, lambda message: message.id) if report is not None else None
        part = Path(f"{answer}.part")
        part.write_text(json.dumps({"verification": asdict(result), "report": told, "steps": steps}), "utf-8")
        part.replace(answer)

    overlay = _edited_files(data)
    _also_in_started_processes(order)
    if data["audit"]:
        _audit(program, overlay, tell)
    else:
        _run(program, overlay, data["steps_before"], tell)


def _run(program: launch.Program, overlay: dict[str, CodeType], steps_before: int, tell: Any) -> None:
    from gradwhy.runtime import session

    gauge = _Gauge(steps_before, tell)
    try:
        outcome = session.run(program, attend=gauge.attend, overlay=overlay)
    except (launch.CannotRun, session.TorchMissing) as error:
        tell(_failed(str(error)), None, 0)
        return
    tell(_ending(outcome.error), outcome.report, outcome.steps)


def _audit(program: launch.Program, overlay: dict[str, CodeType], tell: Any) -> None:
    from gradwhy.runtime import session
    from gradwhy.runtime.audit import session as auditing

    try:
        outcome = auditing.audit(program, auditing.Plan(), overlay=overlay).outcome
    except (launch.CannotRun, session.TorchMissing) as error:
        tell(_failed(str(error)), None, 0)
        return
    verification = _ending(outcome.error)
    if verification.failure is None and outcome.report.parameters:
        held = [row for row in outcome.report.parameters if row.requires_grad and row.group]
        trained = [row for row in held if row.gradient not in ("none", "")]
        changed = sum(row.changed > 0 for row in held)
        verification = Verification(trained=len(trained), trainable=len(held), changed=changed)
    tell(verification, outcome.report, outcome.steps)


def _ending(error: BaseException | None) -> Verification:
    if isinstance(error, SystemExit) and error.code in (None, 0):
        error = None
    if error is None:
        return Verification(trained=0, trainable=0, changed=0, ended=True)
    return _failed(f"{type(error).__name__}: {str(error)[:200]}")


def _stands_in(file: str, absolute: str, content: str) -> CodeType:
    """The code of an edited text, which takes the place of the file for us, for tracebacks and for ``inspect``."""
    text.give(file, content)
    linecache.cache[absolute] = (len(content), None, content.splitlines(keepends=True), absolute)
    return compile(content, absolute, "exec", dont_inherit=True)


def _edited_files(data: Mapping[str, Any]) -> dict[str, CodeType]:
    overlay: dict[str, CodeType] = {}
    for file, content in data["texts"].items():
        absolute = str(Path(data["folder"], file))
        overlay[absolute] = _stands_in(file, absolute, content)
    _load_edited(overlay)
    return overlay


def _also_in_started_processes(order: str) -> None:
    """Python starts a process by a command, and the process reads the program's file again: let it read the edited text.

    (Lib/multiprocessing/spawn.py: get_command_line, _fixup_main_from_path.)
    """
    from multiprocessing import spawn

    original = spawn.get_command_line

    def get_command_line(**kwds: Any) -> list[str]:
        command = original(**kwds)
        if "-c" in command:
            place = command.index("-c") + 1
            command[place] = f"from gradwhy.runtime import trial; trial.started({order!r}); {command[place]}"
        return command

    spawn.get_command_line = get_command_line


def started(order: str) -> None:
    """In a process that the program starts: its files are the edited ones, the one that it began with too."""
    import runpy

    overlay = _edited_files(json.loads(Path(order).read_text("utf-8")))
    original = runpy._get_code_from_file  # type: ignore[attr-defined]

    def _get_code_from_file(*args: Any) -> Any:
        code = overlay.get(str(Path(args[-1]).absolute()))
        found = original(*args)
        if code is None:
            return found
        return (code, *found[1:]) if isinstance(found, tuple) else code

    runpy._get_code_from_file = _get_code_from_file  # type: ignore[attr-defined]


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
