"""The questions of ``gradwhy contract``: with the arrow keys where prompt_toolkit is installed, else by number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

from gradwhy.cli._contract_telling import label, words
from gradwhy.contract import axes
from gradwhy.contract.axes import Combination


def ask(chosen: Mapping[str, str], language: str) -> dict[str, str]:
    """Ask for what was not given as an option, one question after the other. Only answers that the table has are offered, and
    a question with one answer is not put. Raises click.Abort where the user gives up."""
    answers = dict(chosen)
    for name in _questions(answers):
        if name in answers:
            continue
        values = _values(name, answers)
        if len(values) > 1:
            answers[name] = _choice(name, values, language)
    return answers


def _questions(answers: Mapping[str, str]) -> Iterator[str]:
    yield "call"
    for name in axes.of_call(answers["call"]):
        if axes.axes()[name].asked:
            yield name


def _values(name: str, answers: Mapping[str, str]) -> list[str]:
    """The answers that lead to a row of the table; what is not asked stays at its default."""
    open_ones = {"call", *(axes.of_call(answers["call"]) if "call" in answers else ())}
    asked = {each for each in open_ones if axes.axes()[each].asked}
    found = {row[name] for row in axes.table() if _fits(row, answers, asked)}
    return [value for value in axes.axes()[name].values if value in found]


def _fits(row: Combination, answers: Mapping[str, str], asked: set[str]) -> bool:
    if any(row[name] != value for name, value in answers.items()):
        return False
    return "call" not in answers or all(name in asked or name in answers for name, _ in row.values)


def _choice(name: str, values: list[str], language: str) -> str:
    question = words(f"ask/{name}", language)
    labels = [label(name, value, language) for value in values]
    default = axes.axes()[name].default
    try:
        from prompt_toolkit.shortcuts import choice
    except ImportError:
        return _numbered(question, values, labels, default, language)
    try:
        first = default if default in values else values[0]
        return str(choice(message=question, options=list(zip(values, labels)), default=first))
    except (KeyboardInterrupt, EOFError):
        raise click.Abort from None


def _numbered(question: str, values: list[str], labels: list[str], default: str, language: str) -> str:
    click.echo(question)
    for number, text in enumerate(labels, 1):
        click.echo(f"  {number:2}  {text}")
    first = values.index(default) + 1 if default in values else 1
    number = click.prompt(words("say/question", language), type=click.IntRange(1, len(values)), default=first)
    click.echo()
    return values[number - 1]
