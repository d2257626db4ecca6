"""``gradwhy check``: read source, run nothing, and name the lines that lose a gradient."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gradwhy.catalog import load, render
from gradwhy.cli import _fixing
from gradwhy.findings import Message, Report
from gradwhy.report import delivery, formats
from gradwhy.source import text, walking
from gradwhy.static import looking, settings
from gradwhy.static.reading import Reading

if TYPE_CHECKING:
    from gradwhy.source.saving import Change

CLEAN, FOUND, WRONG = 0, 1, 2


@click.command("check", short_help="Read files without running them; name the lines that lose a gradient.")
@click.option("--format", "format_name", type=click.Choice(formats.names()), default="text", show_default=True)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the report to FILE instead of standard output.",
)
@click.option("--lang", type=click.Choice(["en", "zh"]), help="Language of the report; default from the locale.")
@click.option("--strict", is_flag=True, help="Report what is likely too, not only what holds on every path.")
@click.option(
    "--project",
    is_flag=True,
    help="Follow imports into the other files of the project: what a function of another file does to a gradient counts too.",
)
@click.option("--select", metavar="CAUSE,…", help="Only these causes.")
@click.option("--ignore", metavar="CAUSE,…", help="All but these causes.")
@click.option("--statistics", is_flag=True, help="Count the findings of each cause on standard error.")
@click.option(
    "--stdin-filename", metavar="NAME", default="<stdin>", help="The name that standard input, `-`, has in the report."
)
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), default=2, show_default=True, help="Processes.")
@click.option("--no-cache", is_flag=True, help=f"Look at every file again; neither read nor write {looking.CACHE}.")
@_fixing.options(
    fix="Write the fixes that change nothing but the fault; what is left is reported.",
    unsafe="Write the fixes that change what is computed too.",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
def command(
    format_name: str,
    output: Path | None,
    lang: str | None,
    strict: bool,
    project: bool,
    select: str | None,
    ignore: str | None,
    statistics: bool,
    stdin_filename: str,
    jobs: int,
    no_cache: bool,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    paths: tuple[str, ...],
) -> int:
    """Look at Python files, notebooks and folders of them, without importing or running any of them. `-` is standard input.

    Exit code 0 where nothing is found, 1 with findings, 2 where the check itself went wrong.
    """
    language = render.language_of(lang)
    wanted = _settings(select, ignore)
    fixing = _fixing.Wanted(fix, unsafe_fixes, diff)
    if "-" in paths and fixing.anything and not diff:
        raise click.UsageError("standard input can't be written to: --diff shows the change")
    for path in paths:
        if path != "-" and not Path(path).exists():
            raise click.UsageError(f"there is no file or folder {path}")
    reading = Reading(wanted.knowledge, tuple(path for path in paths if path != "-") if project else None)
    if project:
        looking.collect_less()
    looks = _looks(paths, strict, stdin_filename, jobs, not no_cache, wanted, reading)
    if fixing.anything:
        if project:
            changes = _project_changes(looks, wanted, fixing)
            if diff:
                _fixing.show(changes, sys.stdout)
            elif changes and _fixing.write(changes, language):
                reading = Reading(wanted.knowledge, reading.given)
                looks = _looks(paths, strict, stdin_filename, jobs, not no_cache, wanted, reading)
        else:
            looks = _corrected(looks, strict, wanted, fixing, language)
        if diff:
            return _code(looking.report_of(looks, wanted))
    report = looking.report_of(looks, wanted)
    said = delivery.deliver(report, format_name, output.absolute() if output is not None else None, language, out=True)
    if not said and not report.skipped:
        delivery.say(render.sentence(Message("words.check-clean", dict(report.examined)), language), sys.stdout)
    if statistics:
        counts: dict[str, int] = {}
        for finding in report.findings:
            counts[finding.cause] = counts.get(finding.cause, 0) + 1
        for cause, count in sorted(counts.items(), key=lambda item: -item[1]):
            delivery.say(f"{count:6} {cause}")
    return _code(report)


def _code(report: Report) -> int:
    if report.notes:
        return WRONG
    return FOUND if report.findings else CLEAN


def _project_changes(looks: list[looking.Look], wanted: settings.Settings, fixing: _fixing.Wanted) -> list[Change]:
    from gradwhy.static import repairing

    return repairing.together(looking.report_of(looks, wanted).findings, fixing.unsafe_too)


def _corrected(
    looks: list[looking.Look], strict: bool, wanted: settings.Settings, fixing: _fixing.Wanted, language: str
) -> list[looking.Look]:
    """Show or write what can be corrected. Gives the looks that are to be reported: of what is written, the second one."""
    from gradwhy.static import repairing

    left: list[looking.Look] = []
    for look in looks:
        content = repairing.content_of(look.file) if any(map(wanted.wants, look.findings)) else None
        if content is None:
            left.append(look)
            continue
        corrected = repairing.correct(look, content, strict, wanted, fixing.unsafe_too)
        if fixing.diff:
            _fixing.show(corrected.changes, sys.stdout)
            left.append(look)
        elif corrected.changes and _fixing.write(list(corrected.changes), language):
            left.append(corrected.look)
        else:
            left.append(look)
    return left


def _settings(select: str | None, ignore: str | None) -> settings.Settings:
    causes = load.names("causes")
    try:
        found = settings.load(Path.cwd(), causes)
    except settings.Wrong as error:
        raise click.UsageError(str(error)) from error
    chosen, left_out = _causes(select, causes), _causes(ignore, causes)
    return replace(found, select=chosen or found.select, ignore=left_out | found.ignore)


def _causes(given: str | None, known: list[str]) -> frozenset[str]:
    names = frozenset(name.strip() for name in (given or "").split(",") if name.strip())
    for name in sorted(names - set(known)):
        raise click.UsageError(f"there is no cause named {name!r}")
    return names


def _looks(
    paths: tuple[str, ...],
    strict: bool,
    stdin_filename: str,
    jobs: int,
    cached: bool,
    wanted: settings.Settings,
    reading: Reading,
) -> list[looking.Look]:
    looks: list[looking.Look] = []
    if "-" in paths:
        data = sys.stdin.buffer.read()
        content = data.decode("utf-8", "replace") if stdin_filename.endswith(".ipynb") else _decoded(data)
        text.give(stdin_filename, content)
        looks.append(looking.look_at_text(stdin_filename, content, strict, reading))
    named = [path for path in paths if path != "-"]
    files = [_short(path) for path in walking.files(named, wanted.exclude)]
    folders = any(Path(path).is_dir() for path in named)
    cache = looking.Cache(Path.cwd(), strict, reading) if cached and folders else None
    looks += looking.look_at_all(files, strict, min(jobs, os.cpu_count() or 1), cache, reading)
    if cache is not None:
        cache.save()
    return looks


def _decoded(data: bytes) -> str:
    try:
        return text.decoded(data)
    except (SyntaxError, UnicodeDecodeError, ValueError, LookupError):
        return data.decode("utf-8", "replace")


def _short(path: str) -> str:
    return path[2:] if path.startswith(f".{os.sep}") else path
