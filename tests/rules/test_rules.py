"""The Markdown files of this folder: one a cause, with programs and what ``gradwhy check`` says of them.

A line that ends in ``# finds: cause`` is where a finding of that cause is, several separated by commas; one in
``# likely: cause`` where ``--strict`` tells it; a program without such a line has none. Each rule has a file here, and
finds the wrong program on its cause's page.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gradwhy.catalog import load
from gradwhy.source.text import SourceText
from gradwhy.static import checking, rules

HERE = Path(__file__).parent
CAUSES = [cause for cause in load.names("causes") if cause.replace("-", "_") in rules.load()]

ONLY_LIKELY = ("evaluation-tracked",)
"""Causes that are told under ``--strict`` only: nothing goes wrong, and they may be meant."""

SHOWN_BY_VALUES = ("custom-backward-wrong",)
"""Causes whose page begins with a program that is wrong in its shapes: the source shows another kind of the same."""


def found(code: str, strict: bool = False) -> list[tuple[int, str]]:
    findings = checking.check(SourceText("block.py", code), "block.py", strict) if checking.mentions_torch(code) else []
    return sorted((finding.at.line, finding.cause) for finding in findings)


def blocks() -> list[Any]:
    params = []
    for file in sorted(HERE.glob("*.md")):
        parts = re.split(r"```py(?:thon)?\n(.*?)```", file.read_text("utf-8"), flags=re.S)
        for prose, code in zip(parts[::2], parts[1::2]):
            heading = (re.findall(r"^#+ (.+)$", prose, re.M) or ["…"])[-1]
            params.append(pytest.param(code, id=f"{file.stem}: {heading} {len(params)}"))
    return params


@pytest.mark.parametrize("code", blocks())
def test_a_program_has_the_findings_that_it_is_marked_with(code: str) -> None:
    wanted: dict[str, list[tuple[int, str]]] = {"finds": [], "likely": []}
    for number, line in enumerate(code.split("\n"), start=1):
        match = re.search(r"# (finds|likely): (.+)$", line)
        if match is not None:
            wanted[match[1]] += [(number, cause.strip()) for cause in match[2].split(",")]
    assert found(code) == sorted(wanted["finds"])
    if wanted["likely"]:
        assert found(code, strict=True) == sorted([*wanted["finds"], *wanted["likely"]])


def test_what_is_only_likely_where_it_is_right_is_not_told_under_strict() -> None:
    for code in re.findall(r"```python\n(.*?)```", (HERE / "evaluation-tracked.md").read_text("utf-8"), flags=re.S):
        if "# likely:" not in code:
            assert found(code, strict=True) == []


def test_each_rule_is_a_cause_of_the_catalogue_and_has_programs() -> None:
    assert len(CAUSES) == len(rules.load())
    assert {file.stem for file in HERE.glob("*.md")} >= set(CAUSES)


@pytest.mark.parametrize("cause", CAUSES)
def test_a_rule_finds_the_wrong_program_on_its_page_and_nothing_in_the_right_one(cause: str) -> None:
    page = load.text(cause, "en")
    assert page is not None
    programs = dict(re.findall(r"```python (wrong|right)\n(.*?)```", page.page, re.S))
    if cause not in SHOWN_BY_VALUES:
        assert cause in [name for _, name in found(programs["wrong"], strict=cause in ONLY_LIKELY)]
    assert found(programs["right"]) == []


@pytest.mark.parametrize("name", [*load.names("causes"), *load.names("symptoms")])
def test_the_right_program_of_every_page_is_clean(name: str) -> None:
    page = load.text(name, "en")
    assert page is not None
    for code in re.findall(r"```python right\n(.*?)```", page.page, re.S):
        assert found(code) == []


SOMETIMES = """\
import random
import torch

w = torch.ones(3, requires_grad=True)
out = w * 2
if random.random() < 0.5:
    out = out.detach()
loss = out.sum()
loss.backward()
"""


def test_what_holds_on_some_paths_is_told_when_asked_for() -> None:
    source = SourceText("block.py", SOMETIMES)
    assert checking.check(source, "block.py") == []
    (finding,) = checking.check(source, "block.py", strict=True)
    assert (finding.cause, finding.at.line, finding.certainty) == ("detach", 7, "likely")
