"""``gradwhy contract``: what torch does for a call for gradients: its exception or what it gives, why, and the fix."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gradwhy.catalog import render
from gradwhy.cli import _contract_telling as telling
from gradwhy.contract import answer as answering
from gradwhy.contract import axes, results
from gradwhy.report import delivery

if TYPE_CHECKING:
    from types import ModuleType

    from gradwhy.contract.answer import Answer
    from gradwhy.contract.axes import Combination

FORMATS = ("text", "json", "md", "csv")
SAME, OTHER, WRONG = 0, 1, 2


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """One option for each axis, in their order."""
    for name, axis in reversed(list(axes.axes().items())):
        values = ", ".join(axis.values)
        text = f"{telling.words(f'ask/{name}', 'en')} {values}."
        command = click.option(f"--{name}", f"axis_{name.replace('-', '_')}", metavar="VALUE", help=text)(command)
    return command


@click.command(
    "contract", short_help="Say what torch does for a call of backward or grad: its error, or what it gives."
)
@_options
@click.option("--table", is_flag=True, help="Show the 48 combinations of five questions.")
@click.option("--all", "everything", is_flag=True, help="Write all combinations, as CSV or in another --format; with --live, run "
              "and compare them.")  # fmt: skip
@click.option("--differences", metavar="OLD NEW", nargs=2, help="Show what changed between two versions of torch.")
@click.option("--live", is_flag=True, help="Run it on the torch that is installed, and compare.")
@click.option(
    "--torch", "version", metavar="VERSION", help="Answer for this version; default: the one that is installed."
)
@click.option("--format", "format_name", type=click.Choice(FORMATS), help="Default: text; csv with --all.")
@click.option("--lang", type=click.Choice(["en", "zh"]), help="Language of the answer; default from the locale.")
def command(
    table: bool,
    everything: bool,
    differences: tuple[str, str] | None,
    live: bool,
    version: str | None,
    format_name: str | None,
    lang: str | None,
    **given: str | None,
) -> int:
    """Answer what torch does with one combination of a call, an input, an output and arguments. Values that are not given are the
    usual ones. Without options, questions are asked.

    The answers were run on real versions of torch; torch is imported with --live alone.

    Exit code 1 where --live finds something else than what is stored, 2 where the question can't be answered, else 0.
    """
    language = render.language_of(lang)
    chosen = _chosen(given)
    if differences is not None:
        old, new = (_stored(each, language) for each in differences)
        _say(_tables().differences(old, new, format_name or "text", language))
        return SAME
    wanted = _wanted(version, language)
    if live and everything:
        return _live_all(format_name or "text", language)
    if everything:
        _say(_tables().everything(results.nearest(wanted), format_name or "csv", language))
        return SAME
    if table:
        _say(_tables().classic(wanted, format_name or "text", language))
        return SAME
    if not chosen:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise click.UsageError(telling.words("say/not-a-terminal", language))
        from gradwhy.cli import _contract_asking

        chosen = _contract_asking.ask(chosen, language)
    combination = _combination(chosen, language)
    answer = answering.answer(combination, wanted)
    ran = _run(combination, language) if live else None
    if ran is not None and version is None and answer.used != results.nearest(ran.used):
        answer = answering.answer(combination, ran.used)
    if format_name == "csv":
        raise click.UsageError("--format csv goes with --table, --all and --differences")
    _say(telling.written(answer, format_name or "text", language, ran))
    return OTHER if ran is not None and answer.outcome is not None and ran.outcome != answer.outcome else SAME


def _chosen(given: Mapping[str, str | None]) -> dict[str, str]:
    """The axes that were given, their values spelt as the table has them: ``no_grad`` and ``true`` are understood."""
    chosen: dict[str, str] = {}
    for name, axis in axes.axes().items():
        value = given[f"axis_{name.replace('-', '_')}"]
        if value is None:
            continue
        alike = {_plain(each): each for each in axis.values}
        if "True" in axis.values:
            # Where it is not a value of its own, False is what torch takes unasked.
            alike.setdefault("false", axis.default)
        chosen[name] = alike.get(_plain(value), value)
    return chosen


def _plain(value: str) -> str:
    return value.lower().replace("_", "-").replace(" ", "")


def _combination(chosen: Mapping[str, str], language: str) -> Combination:
    try:
        return axes.combination(chosen)
    except axes.NotValid as error:
        name, value = error.args
        call = chosen.get("call", axes.axes()["call"].default)
        if call in axes.axes()["call"].values and name not in ("call", *axes.of_call(call)):
            raise click.UsageError(telling.words("say/no-axis", language, call=call, axis=f"--{name}")) from error
        values = ", ".join(axes.axes()[name].values)
        told = telling.words("say/not-valid", language, axis=f"--{name}", value=value, values="{values}")
        # The list is longer than a value may be.
        raise click.UsageError(told.replace("{values}", values)) from error


def _wanted(version: str | None, language: str) -> str:
    """The version to answer for: the one asked for, else the one that is installed, else the newest."""
    if version is not None:
        return _stored(version, language)
    return _installed() or results.versions()[-1]


def _installed() -> str | None:
    """The version of the torch that is installed, read and not imported; ``importlib.metadata`` takes longer than the answer."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).parent / "version.py"
    found = re.search(r"^__version__ = ['\"]([\d.]+)", file.read_text("utf-8"), re.M) if file.is_file() else None
    return found[1] if found is not None else None


def _stored(version: str, language: str) -> str:
    found = results.version_of(version)
    if found is None:
        known = ", ".join(results.versions())
        raise click.UsageError(telling.words("say/no-version", language, version=version, versions=known))
    return found


def _runner(language: str) -> ModuleType:
    try:
        from gradwhy.runtime import contract
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        raise click.UsageError(telling.words("say/torch-missing", language)) from error
    return contract


def _run(combination: Combination, language: str) -> Answer:
    runner = _runner(language)
    version = runner.version()
    return answering.of_run(combination, version, version, runner.run(combination))


def _live_all(format_name: str, language: str) -> int:
    """Run the whole table, and list what differs from the results of the nearest version."""
    runner = _runner(language)
    version = runner.version()
    stored = results.nearest(version)
    rows = results.load(stored).rows
    count = missing = 0
    other: list[Answer] = []
    for combination, outcome in runner.run_all(axes.table()):
        count += 1
        if combination not in rows:
            missing += 1
        elif rows[combination] != outcome:
            other.append(answering.of_run(combination, version, version, outcome))
    _say(_tables().compared(stored, version, count, missing, other, format_name, language))
    return OTHER if other else SAME


def _tables() -> ModuleType:
    from gradwhy.cli import _contract_tables

    return _contract_tables


def _say(text: str) -> None:
    delivery.say(text, sys.stdout)
