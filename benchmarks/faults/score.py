"""Scores tools on the cases in ``cases/``: the line to change, the reason, a correction that works, silence on the twin.

usage: python score.py [--tool NAME]... [--only PREFIX]... [--write]
       python score.py --table

Each tool is a file in ``tools/`` with ``ABOUT``, ``PACKAGE``, ``WAYS`` (the ways to use it), perhaps ``PRELOAD`` (modules
that are imported once and not for each program), and

    examine(program, case, way) -> Answer

which is asked about the faulty program and about its corrected twin. ``--write`` stores what held in ``results.json`` in place
of the tool's former results, ``--table`` prints the tables of README.md from it.

A word for each thing that held of a case (README.md says more):

    said    the tool said something of the rank of a warning or above of the faulty program
    line    its first statement names a line to change (one of ``cause_lines``)
    any     one of its statements does
    shown   a line to change is among those that it said or printed, with or without a verdict; ``lines:N``: N were printed
    cause   its first statement gives the case's cause and no other
    among   one of its statements has the case's cause among those that it gives
    fix     the program with the tool's first correction ends without an exception, and the case's ``check`` is false for it
    twin    nothing of the rank of a warning or above is said of the twin
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import platform
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import tables
from answers import HERE, WARM, Answer, Case, python

CASES = HERE / "cases"
RESULTS = HERE / "results.json"


def cases(folder: Path = CASES, only: Sequence[str] = ()) -> list[Case]:
    return [
        Case(
            meta.stem,
            json.loads(meta.read_text("utf-8")),
            meta.with_suffix(".py"),
            meta.with_name(f"{meta.stem}.fixed.py"),
        )
        for meta in sorted(folder.glob("*.json"))
        if meta.stem.startswith(tuple(only) or "")
    ]


def tools() -> Iterator[ModuleType]:
    for file in sorted((HERE / "tools").glob("[a-z]*.py")):
        spec = importlib.util.spec_from_file_location(f"faults_tool_{file.stem}", file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


def words(case: Case, found: Answer, twin: Answer, fixed: bool) -> list[str]:
    """What held of a case; a reason that the case calls "other" is not asked for."""
    lines, cause = case.facts["cause_lines"], case.facts["cause"]
    assert isinstance(lines, list)
    said = list(found.said)
    first = said[0] if said else None
    asked = cause != "other"
    held = {
        "said": any(each.grave for each in said),
        "line": first is not None and first.line in lines,
        "any": any(each.line in lines for each in said),
        "shown": any(each.line in lines for each in said) or bool(found.shown & set(lines)),
        "cause": asked and first is not None and first.causes == (cause,),
        "among": asked and any(cause in each.causes for each in said),
        "fix": fixed,
        "twin": not (twin.failed or twin.inapplicable) and not any(each.grave for each in twin.said),
    }
    return [word for word, holds in held.items() if holds] + ([f"lines:{len(found.shown)}"] if found.shown else [])


def works(case: Case, text: str) -> bool:
    """Whether a corrected program ends without an exception and, where the case has a check, without the fault."""
    check = case.facts.get("check")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "train.py")
        script.write_text(text, "utf-8")
        if check:
            return python(HERE / "observe.py", script.name, str(check), folder=script.parent).returncode == 0
        return python(script).returncode == 0


def score(tool: ModuleType, way: str, case: Case) -> str:
    """The words that held, or why the tool was not asked; then, after a bar, what it said."""
    found: Answer = tool.examine(case.program, case, way)
    if found.inapplicable:
        return f"not applicable: {found.inapplicable}"
    fixed = found.corrected is not None and works(case, found.corrected)
    twin: Answer = tool.examine(case.twin, case, way)
    return " ".join(words(case, found, twin, fixed)) + comment(found, twin)


def comment(found: Answer, twin: Answer) -> str:
    parts = [f"{each.line or '-'}: {each.text}" for each in list(found.said)[:1]]
    parts += [f"failed: {found.failed}"] if found.failed else []
    parts += [f"twin: {each.line or '-'}: {each.text}" for each in twin.said if each.grave][:1]
    parts += [f"twin failed: {twin.failed or twin.inapplicable}"] if twin.failed or twin.inapplicable else []
    return "".join(f" | {' '.join(part.split())[:140]}" for part in parts)


def missing(case: Case) -> list[str]:
    """The packages that a case needs and that aren't installed."""
    needs = case.facts.get("needs") or []
    assert isinstance(needs, list)
    return [name for name in needs if importlib.util.find_spec(name) is None]


def version(package: str | None) -> str:
    return platform.python_version() if package is None else metadata.version(package)


def run(tool: ModuleType, chosen: Iterable[Case]) -> dict[str, Any]:
    """The record of each way of a tool, by its name."""
    records = {}
    WARM.restart(getattr(tool, "PRELOAD", ()))
    for way in tool.WAYS:
        rows = {}
        for case in chosen:
            rows[case.stem] = score(tool, way, case)
            print(f"{way:28} {case.stem:42} {rows[case.stem]}", flush=True)
        records[way] = {"version": version(tool.PACKAGE), "date": datetime.date.today().isoformat(), "cases": rows}
    return records


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--tool", action="append", default=[])
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    if not asked.table:
        every = cases(only=asked.only)
        left_out = [case.stem for case in every if missing(case)]
        chosen = [case for case in every if case.stem not in left_out]
        print(
            f"{len(chosen)} cases; left out, since packages that they need are not installed: {', '.join(left_out) or 'none'}"
        )
        for tool in tools():
            if asked.tool and Path(str(tool.__file__)).stem not in asked.tool:
                continue
            records = run(tool, chosen)
            if asked.write:
                store(records)
    if asked.table or asked.write:
        print(tables.all_tables(json.loads(RESULTS.read_text("utf-8")), cases()))


def store(records: dict[str, Any]) -> None:
    """In place of the former results of the same ways and cases; comments are for the screen."""
    former = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    for way, record in records.items():
        kept = {stem: row.partition(" | ")[0] for stem, row in record["cases"].items()}
        about = {"torch": metadata.version("torch"), "python": platform.python_version()}
        former[way] = {**record, **about, "cases": former.get(way, {}).get("cases", {}) | kept}
    RESULTS.write_text(json.dumps(former, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
