"""``gradwhy audit``: watch the first training steps of a program and account for every parameter."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from gradwhy.catalog import render
from gradwhy.cli import _fixing, _ranks
from gradwhy.findings import Message, Report
from gradwhy.report import delivery, formats
from gradwhy.runtime import launch, session
from gradwhy.runtime.audit import session as auditing


@click.command(
    "audit",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Watch the first training steps; say what does not train, and which line is to blame.",
)
@click.option("-m", "module", metavar="MODULE", is_flag=True, help="Run a module by name, as python -m does.")
@click.option("--steps", metavar="N", type=click.IntRange(min=1), help="Optimizer steps to watch; default: half a minute, and "
              "two of each optimizer if they come within two minutes.")  # fmt: skip
@click.option("--then", type=click.Choice(["stop", "continue"]), default="stop", show_default=True,
              help="What becomes of the program after that.")  # fmt: skip
@click.option("--samples", metavar="K", type=click.IntRange(min=1), help="Use K samples of each batch of the program's "
              "data loaders, and one step unless --steps says otherwise.")  # fmt: skip
@click.option("--all", "every_row", is_flag=True, help="Show each parameter, not what is alike in one line.")
@click.option("--plot", metavar="FILE", type=click.Path(path_type=Path), help="Draw the gradient norm of each parameter "
              "into FILE (.png, .svg, .pdf); needs matplotlib.")  # fmt: skip
@click.option("--format", "format_name", type=click.Choice(formats.names()), default="text", show_default=True)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the report to FILE instead of standard error.",
)
@click.option("--lang", type=click.Choice(["en", "zh"]), help="Language of the report; default from the locale.")
@_ranks.stuck_after
@_fixing.options(
    fix="Correct the files: make the fixes, audit the program again with each, and go on until nothing is found. Written if "
    "that works.",
    unsafe="Write the corrections that were not verified too.",
)
@click.option("--no-verify", is_flag=True, help="Make the first fix without running the program again.")
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    module: bool,
    steps: int | None,
    then: Any,
    samples: int | None,
    every_row: bool,
    plot: Path | None,
    format_name: str,
    output: Path | None,
    lang: str | None,
    stuck_after: float,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    no_verify: bool,
    script: str,
    arguments: tuple[str, ...],
) -> Callable[[], None] | int:
    """Run SCRIPT with ARGUMENTS up to its first training steps, and account for each parameter: whether a gradient can arrive,
    did arrive, and changed it.

    The exit code is 1 with findings, else 0; the program's own where it fails.
    """
    language = render.language_of(lang)
    program = launch.Program(script, arguments, module)
    folder = str(Path.cwd())
    target = output.absolute() if output is not None else None
    picture = plot.absolute() if plot is not None else None
    plan = auditing.Plan(steps if steps is not None or samples is None else 1, then, samples)
    teller = _ranks.begin(format_name, target, language, stuck_after, every_row)
    try:
        with _progress(plan.steps, language, teller is None or teller.member.rank == 0) as on_step:
            audited = auditing.audit(program, plan, on_step)
    except launch.CannotRun as error:
        click.echo(f"gradwhy: {error}", err=True)
        return 2
    except session.TorchMissing:
        missing = Message("words.torch-missing", {"python": sys.executable})
        click.echo(f"gradwhy: {render.sentence(missing, language)}", err=True)
        return 2
    outcome = audited.outcome
    report = outcome.report
    wanted = _fixing.Wanted(fix, unsafe_fixes, diff)
    empty = Message("words.nothing-trained", dict(report.examined))
    try:
        repair = None
        if teller is not None:
            told = teller.conclude(outcome, wanted.anything, empty, announced=True)
            if told is not None and picture is not None:
                _draw(told, picture, language)
            return _end(outcome.error, report)
        if wanted.anything and report.findings:
            # A program that fails is corrected as ``gradwhy run`` does it.
            how = "audit" if outcome.error is None else "run"
            repair = _fixing.rerun(
                report, program, folder, outcome.steps if outcome.error else 0, how, not no_verify, language
            )
            report = _fixing.with_verdicts(report, repair)
        if not delivery.deliver(report, format_name, target, language, every_row):
            delivery.say(f"gradwhy: {render.sentence(empty, language)}")
        if picture is not None:
            _draw(report, picture, language)
        if repair is not None:
            _fixing.conclude(repair, wanted, language)
    except Exception as fault:
        delivery.say(f"gradwhy: {type(fault).__name__}: {fault}")
    return _end(outcome.error, report)


def _end(error: BaseException | None, report: Report) -> Callable[[], None] | int:
    if error is not None:
        return functools.partial(launch.end_like, error)
    return int(any(finding.severity in ("error", "warning") for finding in report.findings))


def _draw(report: Any, picture: Path, language: str) -> None:
    from gradwhy.report import picture as drawing

    try:
        drawing.draw(report.parameters, picture, language)
    except ModuleNotFoundError:
        delivery.say(f"gradwhy: {render.sentence(Message('words.matplotlib-missing', {}), language)}")


@contextlib.contextmanager
def _progress(steps: int | None, language: str, shown: bool) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal's standard error; nothing elsewhere."""
    if not shown or sys.stderr is None or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    title = render.sentence(Message("words.watching-steps", {}), language)
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
    ) as bar:
        task = bar.add_task("", total=steps)
        yield lambda done: bar.update(task, completed=done)
