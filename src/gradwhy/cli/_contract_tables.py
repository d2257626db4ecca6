"""The tables of ``gradwhy contract``: the 48 combinations, all of them, and what changed between two versions of torch."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Iterator
from typing import Any

from gradwhy.cli._contract_telling import exception, hanging, headline, words
from gradwhy.contract import answer as answering
from gradwhy.contract import axes, results
from gradwhy.contract.answer import Answer, Change
from gradwhy.contract.outcomes import Step

_VALUES_SHOWN = 4


def classic(torch: str, format_name: str, language: str) -> str:
    """The 48 combinations of five questions, one line for each pair that differs in ``allow_unused`` alone."""
    given = axes.classic()
    *asked, last = given
    rows: list[tuple[tuple[str, ...], list[Answer]]] = []
    for values in itertools.product(*(given[name] for name in asked)):
        chosen = dict(zip(asked, values))
        pair = [answering.answer(axes.combination({**chosen, last: value}), torch) for value in given[last]]
        rows.append((values, pair))
    if format_name == "json":
        return json.dumps([each.wire() for _, pair in rows for each in pair], ensure_ascii=False, indent=2) + "\n"
    heads = [*asked, *(f"{last}={value}" for value in given[last])]
    cells = [[*values, *(_short(each) for each in pair)] for values, pair in rows]
    texts = {_short(each): headline(each, language) for _, pair in rows for each in pair}
    if format_name == "csv":
        return _csv([heads, *cells])
    lines = [words("say/table-title", language, version=rows[0][1][0].used), ""]
    lines += _grid(heads, cells, format_name == "md")
    lines += ["", words("say/text-is", language), ""]
    if format_name == "md":
        lines += [f"- `{name}`: {text}" for name, text in texts.items()]
    else:
        for name, text in texts.items():
            lines += hanging(f"  {name:13}", text)
    return "\n".join(lines) + "\n"


def _short(answer: Answer) -> str:
    """A word for an outcome: the check that decided, else what was missing."""
    verdict = answer.verdict
    return (verdict.decided or verdict.silence or "gradient") if verdict is not None else "?"


def everything(torch: str, format_name: str, language: str) -> str:
    """Each combination that was run on a version, one a row."""
    record = results.load(torch)
    names = list(axes.axes())
    if format_name == "json":
        rows = [{**dict(each.values), "outcome": outcome.wire()} for each, outcome in record.rows.items()]
        return json.dumps({"schema": 1, "torch": torch, "rows": rows}, ensure_ascii=False, indent=0) + "\n"
    cells = []
    for each, outcome in record.rows.items():
        made = answering.of_run(each, torch, torch, outcome)
        fitting = ("call", *axes.of_call(each["call"]))
        cells.append(
            [*(each[name] if name in fitting else "" for name in names), _short(made), _said(outcome.decisive)]
        )
    heads = [*names, "decided", "outcome"]
    return "\n".join(_grid(heads, cells, True)) + "\n" if format_name == "md" else _csv([heads, *cells])


def differences(old: str, new: str, format_name: str, language: str) -> str:
    """What changed from one version to another, the largest group first."""
    changes, common = answering.differences(old, new)
    if format_name == "json":
        data: dict[str, Any] = {"schema": 1, "old": old, "new": new, "combinations": common}
        data["changes"] = [
            {
                "count": len(change.combinations),
                "before": change.before.wire(),
                "after": change.after.wire(),
                "where": dict(change.where()),
            }
            for change in changes
        ]
        return json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    count = sum(len(change.combinations) for change in changes)
    if format_name == "csv":
        heads = ["combination", old, new]
        rows = [[str(each), *map(_said, change.steps())] for change in changes for each in change.combinations]
        return _csv([heads, *rows])
    lines = [words("say/differences", language, count=count, of=common, old=old, new=new)]
    for change in changes:
        lines += ["", *_told(change, old, new, format_name == "md")]
    return "\n".join(lines) + "\n"


def compared(
    stored: str, version: str, count: int, missing: int, other: list[Answer], format_name: str, language: str
) -> str:
    """What a run of the whole table found: how many combinations were run, and those that went otherwise than stored."""
    if format_name == "json":
        data: dict[str, Any] = {"schema": 1, "torch": version, "stored": stored, "run": count, "not_stored": missing}
        data["differing"] = [each.wire() for each in other]
        return json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    lines = [words("say/live-all", language, count=count, version=version, differing=len(other), stored=stored)]
    if missing:
        lines.append(words("say/live-missing", language, count=missing))
    rows = results.load(stored).rows
    for each in other:
        assert each.outcome is not None
        lines += ["", *_told(Change(rows[each.combination], each.outcome, (each.combination,)), stored, version, False)]
    return "\n".join(lines) + "\n"


def _told(change: Change, old: str, new: str, markdown: bool) -> Iterator[str]:
    where = "; ".join(f"{name}: {_some(values)}" for name, values in change.where().items())
    before, after = map(_said, change.steps())
    if markdown:
        yield f"- {len(change.combinations)} × {where}"
        yield f"  - {old}: `{before}`"
        yield f"  - {new}: `{after}`"
        return
    yield from hanging(f"{len(change.combinations):5}", where)
    for version, text in ((old, before), (new, after)):
        yield from hanging(f"       {version:7}", text)


def _some(values: list[str]) -> str:
    left = len(values) - _VALUES_SHOWN
    return ", ".join(values[:_VALUES_SHOWN]) + (f" +{left}" if left > 0 else "")


def _said(step: Step) -> str:
    """The exception, or what was given, as it is stored."""
    if step.raised is not None:
        return exception(step)
    return json.dumps(step.filled if step.filled is not None else step.returned)


def _grid(heads: list[str], cells: list[list[str]], markdown: bool) -> Iterator[str]:
    if markdown:
        yield "| " + " | ".join(heads) + " |"
        yield "|" + "---|" * len(heads)
        for row in cells:
            yield "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"
        return
    widths = [max(len(row[at]) for row in [heads, *cells]) for at in range(len(heads))]
    for row in [heads, *cells]:
        yield "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip()


def _csv(rows: list[list[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
