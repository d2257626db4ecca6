"""Every program of the catalogue runs on the installed torch, and does what its page says and what is stored of it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from gradwhy.catalog import load, match, observed, programs, versions
from gradwhy.catalog.programs import Program
from gradwhy.runtime.catalogue import Ended

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
RELEASES = tomllib.loads((ROOT / "torch-versions.toml").read_text("utf-8"))
INSTALLED = torch.__version__.partition("+")[0]
# Python marks places in a line since 3.11, and not in each release the same way.
MARKS = re.compile(r"^[ ~^]+\n", re.M)


def texts_of(program: Program) -> list[str]:
    """What the wrong program of an entry may say: a text of its symptoms; of one message: a text of that message."""
    entry = load.entry(program.entry)
    assert entry is not None
    if program.key:
        return [known.expression for known in match.known_of(program.entry) if known.key == program.key]
    symptoms = [program.entry] if entry.family == "symptoms" else entry.facts["symptoms"]
    return [known.expression for known in match.all_known() if known.entry in symptoms]


def test_programs_do_what_their_pages_say(
    ended: dict[Program, Ended], record_property: Callable[[str, object], None]
) -> None:
    """The right ones end well. The wrong ones raise or warn what the entry says, or hold their own assertion."""
    record_property("programs of the catalogue that were run", len(ended))
    assert len(ended) > 300
    for program, end in ended.items():
        said = " ".join(end.texts) if program.key else end.said.raised or " ".join(end.said.warned)
        asserts = program.code.strip().splitlines()[-1].startswith("assert") and not program.key
        if program.kind == "right" or asserts:
            assert not end.said.raised, program.id
        else:
            assert any(re.search(text, said, re.S) for text in texts_of(program)), f"{program.id}: {said}"


@pytest.mark.skipif(
    INSTALLED not in versions.all_versions(), reason="nothing is stored for this torch: make torch-matrix"
)
def test_what_is_stored_is_what_they_say(ended: dict[Program, Ended]) -> None:
    other = [
        program.id for program in programs.steady() if versions.said(program).get(INSTALLED) != ended[program].said
    ]
    assert not other, "make torch-matrix stores what they say now"


@pytest.mark.skipif(RELEASES["tested"] != INSTALLED, reason="tracebacks are stored of the tested release")
def test_a_symptom_has_the_traceback_of_its_program(ended: dict[Program, Ended]) -> None:
    for program in programs.steady():
        end = ended[program]
        if program.kind == "wrong" and not program.key and load.family(program.entry) == "symptoms":
            stored = load.raw(program.entry, observed.TRACEBACK)
            expected = observed.stored_traceback(INSTALLED, end.traceback) if end.traceback else ""
            assert MARKS.sub("", stored) == MARKS.sub("", expected), program.id


def test_the_releases_are_those_of_the_list() -> None:
    assert versions.all_versions() == RELEASES["stored"]
    assert RELEASES["tested"] in RELEASES["stored"]
    assert f"torch=={RELEASES['tested']}" in (ROOT / "pyproject.toml").read_text("utf-8")


def test_nearly_all_programs_were_run_on_every_release() -> None:
    """A program that was changed since shows no versions, until ``make torch-matrix`` runs it again."""
    every = list(programs.steady())
    stale = [each.id for each in every if list(versions.said(each)) != RELEASES["stored"]]
    assert len(stale) <= len(every) // 10, stale


def test_a_page_shows_programs_of_causes_that_were_seen_to_show_it() -> None:
    shown = {
        (symptom, cause)
        for symptom in load.names("symptoms")
        for cause in load.names("causes")
        if observed.programs_of(cause, symptom)
    }
    assert ("no-graph", "detach") in shown and ("inplace-saved", "inplace-op") in shown
    assert ("no-graph", "inplace-op") not in shown


def test_long_texts_are_cut_to_where_they_differ() -> None:
    same = "x" * 300
    first, second = observed.shortened([f"{same} word one and more", f"{same} word two and more"])
    assert "one" in first and "two" in second and first.startswith("…") and len(first) < 100
    assert list(observed.shortened(["", "it raises"])) == ["", "it raises"]
