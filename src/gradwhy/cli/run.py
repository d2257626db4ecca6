"""``gradwhy run``: run a program as Python does, and say why its gradient is gone if it ends that way."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from gradwhy.catalog import render
from gradwhy.cli import _fixing, _ranks
from gradwhy.findings import Message
from gradwhy.report import delivery, formats
from gradwhy.runtime import launch, session


@click.command(
    "run",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Run a script; on an autograd failure, name the line and the reason.",
)
@click.option("-m", "module", metavar="MODULE", is_flag=True, help="Run a module by name, as python -m does.")
@click.option("--format", "format_name", type=click.Choice(formats.names()), default="text", show_default=True)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the report to FILE instead of standard error.",
)
@click.option("--lang", type=click.Choice(["en", "zh"]), help="Language of the report; default from the locale.")
@click.option("--trace", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
              help="Record each step, only what is new, or nothing.")  # fmt: skip
@click.option("--nan", is_flag=True, help="Look at each gradient until the first that is not finite, and name the operation that "
              "made it. Records each step.")  # fmt: skip
@click.option("--verify", is_flag=True, help="Try each fix: run the program again with it, up to the step that failed. "
              "What the program writes until then, it writes again.")  # fmt: skip
@_ranks.stuck_after
@_fixing.options(
    fix="Correct the files: make the fixes, run the program again with them up to its first complete step, and go on until it "
    "trains. Written if that works.",
    unsafe="Write the corrections that were not verified too.",
)
@click.option("--no-verify", is_flag=True, help="Make the first fix without running the program again.")
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    module: bool,
    format_name: str,
    output: Path | None,
    lang: str | None,
    trace: Any,
    nan: bool,
    verify: bool,
    stuck_after: float,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    no_verify: bool,
    script: str,
    arguments: tuple[str, ...],
) -> Callable[[], None] | int:
    """Run SCRIPT with ARGUMENTS exactly as `python SCRIPT ARGUMENTS` would: same output, same traceback, same exit code.

    If it ends in an autograd failure, the report names the line that caused it, the path from there, and a fix.
    """
    language = render.language_of(lang)
    if nan and trace == "never":
        raise click.UsageError("--nan needs a record: leave out --trace never")
    program = launch.Program(script, arguments, module)
    folder = str(Path.cwd())
    target = output.absolute() if output is not None else None
    teller = _ranks.begin(format_name, target, language, stuck_after)
    try:
        outcome = session.run(program, trace, nan)
    except launch.CannotRun as error:
        click.echo(f"gradwhy: {error}", err=True)
        return 2
    except session.TorchMissing:
        click.echo(
            f"gradwhy: {render.sentence(Message('words.torch-missing', {'python': sys.executable}), language)}",
            err=True,
        )
        return 2
    wanted = _fixing.Wanted(fix, unsafe_fixes, diff)
    failed = isinstance(outcome.error, Exception)
    empty = Message("words.not-mine", dict(outcome.report.examined)) if failed else None
    if teller is not None:
        teller.conclude(outcome, verify or wanted.anything, empty)
        return functools.partial(launch.end_like, outcome.error)
    try:
        repair = None
        if wanted.anything and outcome.report.findings:
            repair = _fixing.rerun(outcome.report, program, folder, outcome.steps, "run", not no_verify, language)
            outcome = replace(outcome, report=_fixing.with_verdicts(outcome.report, repair))
        elif verify:
            outcome = session.with_trials(outcome, program, folder)
        if not delivery.deliver(outcome.report, format_name, target, language) and empty is not None:
            delivery.say(f"gradwhy: {render.sentence(empty, language)}")
        if repair is not None:
            _fixing.conclude(repair, wanted, language)
    except Exception as fault:
        delivery.say(f"gradwhy: {type(fault).__name__}: {fault}")
    return functools.partial(launch.end_like, outcome.error)
