"""What ``run``, ``audit`` and ``check`` share: the options that show or write corrected files, and how they say what they did."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gradwhy.catalog import render
from gradwhy.findings import Argument, Code, Finding, Fix, Message, Report
from gradwhy.report import delivery

if TYPE_CHECKING:
    from gradwhy.source.saving import Change

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for: to see the change (``diff``), to write it, also where it changes what is computed (``unsafe``)."""

    fix: bool
    unsafe: bool
    diff: bool

    @property
    def unsafe_too(self) -> bool:
        """Whether ``check`` makes all edits: asked for, or only to be looked at."""
        return self.unsafe or (self.diff and not self.fix)

    @property
    def anything(self) -> bool:
        return self.fix or self.unsafe or self.diff


def options(fix: str, unsafe: str) -> Callable[[_Command], _Command]:
    """``--fix``, ``--unsafe-fixes`` and ``--diff``, with the help of the first two."""

    def decorate(command: _Command) -> _Command:
        for each in (
            click.option(
                "--diff", is_flag=True, help="Show the corrected files as a unified diff; nothing is written."
            ),
            click.option("--unsafe-fixes", is_flag=True, help=unsafe),
            click.option("--fix", is_flag=True, help=fix),
        ):
            command = each(command)
        return command

    return decorate


def show(changes: Iterable[Change], stream: Any) -> None:
    """The changes as a unified diff, in colour where the stream is a terminal that has it."""
    from gradwhy.source import edits

    colour = stream is not None and stream.isatty() and "NO_COLOR" not in os.environ
    for change in changes:
        name = change.file if change.cell is None else f"{change.file}:cell {change.cell}"
        for line in edits.unified(name, change.before, change.after).splitlines():
            delivery.say(_coloured(line) if colour else line, stream)


def _coloured(line: str) -> str:
    codes = {"+": "32", "-": "31", "@": "36"}
    return f"\x1b[{codes[line[0]]}m{line}\x1b[0m" if line[:1] in codes else line


def write(changes: list[Change], language: str) -> bool:
    """Write the changes and say so; whether that went well."""
    from gradwhy.source import saving

    try:
        saving.save(changes)
    except saving.CannotSave as error:
        tell("not-written", language, reason=str(error))
        return False
    for file in dict.fromkeys(change.file for change in changes):
        tell("written", language, file=Code(file))
    return True


def tell(key: str, language: str, **args: Argument) -> None:
    """One line of the interface, on standard error."""
    delivery.say(f"gradwhy: {render.sentence(Message(f'words.{key}', args), language)}")


# -- programs that are run again


def rerun(report: Report, program: Any, folder: str, steps: int, how: Any, verify: bool, language: str) -> Any:
    """The repair of what a run or an audit found: tried by running the program again, unless ``verify`` is False."""
    from gradwhy.runtime.repairing import Repairing

    command = " ".join(["python", *(["-m"] if program.is_module else []), program.target, *program.arguments])

    def on_trial(finding: Finding, fix: Fix) -> None:
        tell("trying-audit" if how == "audit" else "trying", language, command=Code(command), fix=fix.title)

    repairing = Repairing(program, folder, how, on_trial)
    return repairing.repair(report, steps) if verify else repairing.untried(report)


def with_verdicts(report: Report, repair: Any) -> Report:
    """The report with what was tried: each fix of the repair that is one of its own says how it went."""
    tried = {(finding.fingerprint, fix.title): fix.verification for finding, fix in repair.made}
    findings = tuple(
        replace(
            finding,
            fixes=tuple(
                replace(fix, verification=tried.get((finding.fingerprint, fix.title), fix.verification))
                for fix in finding.fixes
            ),
        )
        for finding in report.findings
    )
    return replace(report, findings=findings)


def conclude(repair: Any, wanted: Wanted, language: str) -> None:
    """Show or write what a repair found, and say how far it was tried."""
    changes = repair.changes()
    if not changes:
        tell("no-edits", language)
        return
    show(changes, sys.stderr)
    _say_verdict(repair, language)
    if wanted.diff:
        return
    safe = all(fix.applicability == "safe" for _, fix in repair.made)
    if wanted.unsafe or repair.works or safe:
        write(changes, language)
    else:
        tell("not-sure", language)


def _say_verdict(repair: Any, language: str) -> None:
    tried = repair.verification
    if tried is None:
        tell("untried", language)
    elif not tried.passed:
        tell("further", language, failure=tried.failure or "")
    else:
        key = "verified-ended" if tried.ended else "verified"
        tell(key, language, trained=tried.trained, trainable=tried.trainable, changed=tried.changed)
