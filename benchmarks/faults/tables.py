"""The tables of README.md, made of results.json: faults that raise, faults that don't, and both by kind."""

from __future__ import annotations

from typing import Any

from answers import Case

# gradwhy first, then what torch and Python have themselves, then other tools.
ORDER = (
    "gradwhy run",
    "gradwhy run --trace never",
    "gradwhy audit",
    "gradwhy check",
    "python",
    "detect_anomaly",
    "DebugMode",
    "torchtest2",
    "TorchLens",
    "torch-preflight",
    "TorchFix",
    "TorchFix --select=ALL",
)
COLUMNS = ("said", "line", "any", "shown", "cause", "among", "fix", "twin")
NOT = "not applicable"


def ways(results: dict[str, Any]) -> list[str]:
    return sorted(results, key=lambda way: (ORDER.index(way) if way in ORDER else len(ORDER), way))


def rows_of(record: dict[str, Any], cases: list[Case]) -> dict[str, list[str]]:
    """What held, by case; cases that the tool can't be used on are left out."""
    found = record["cases"]
    return {
        case.stem: found[case.stem].split()
        for case in cases
        if case.stem in found and not found[case.stem].startswith(NOT)
    }


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def overview(results: dict[str, Any], cases: list[Case]) -> str:
    """A row a way: of the cases that it can be used on, how many have each word."""
    named = {case.stem for case in cases if case.facts["cause"] != "other"}
    lines = []
    for way in ways(results):
        asked = rows_of(results[way], cases)
        if not asked:
            continue
        cells = [f"`{way}`", str(len(asked))]
        for word in COLUMNS:
            count = sum(word in held for held in asked.values())
            cells.append(f"{count} of {len(named & asked.keys())}" if word in ("cause", "among") else str(count))
        printed = [int(word[6:]) for held in asked.values() for word in held if word.startswith("lines:")]
        cells.append(f"{sum(printed) / len(printed):.0f}" if printed else "")
        lines.append(cells)
    return table(["tool", "cases", *COLUMNS, "lines printed"], lines)


def by_kind(results: dict[str, Any], cases: list[Case]) -> str:
    """For each kind: in how many cases the first line is right, and in how many anything is said."""
    scored = {stem for record in results.values() for stem in record["cases"]}
    shown = [way for way in ways(results) if way != "TorchFix"]
    lines = []
    for kind in sorted({case.kind for case in cases if case.stem in scored}):
        group = [case for case in cases if case.kind == kind and case.stem in scored]
        cells = [kind, str(len(group))]
        for way in shown:
            asked = rows_of(results[way], group).values()
            line, said = (sum(word in held for held in asked) for word in ("line", "said"))
            cells.append(f"{line} / {said}" if asked else "–")
        lines.append(cells)
    return table(["kind", "cases", *(f"`{way}`" for way in shown)], lines)


def versions(results: dict[str, Any]) -> str:
    lines = [[f"`{way}`", results[way]["version"], results[way]["date"]] for way in ways(results)]
    return table(["tool", "version", "run on"], lines)


def all_tables(results: dict[str, Any], cases: list[Case]) -> str:
    loud, silent = ([case for case in cases if case.loud is wanted] for wanted in (True, False))
    parts = [
        "### Faults that raise\n",
        overview(results, loud),
        "\n### Faults that raise nothing\n",
        overview(results, silent),
        "\n### By kind\n",
        by_kind(results, cases),
        "\n### Versions\n",
        versions(results),
    ]
    return "\n".join(parts)
