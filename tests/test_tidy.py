"""Holds the house together: every cause has its texts in each language, every message its words, every page its proof."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import gradwhy
from gradwhy.catalog import load, render
from gradwhy.catalog.stated import Stated, all_stated
from gradwhy.findings import Message
from gradwhy.torchapi import table

SOURCE = Path(gradwhy.__file__).parent
# The catalogue's programs are data: they are run, and no part of the package.
MODULES = [file for file in SOURCE.rglob("*.py") if not file.is_relative_to(SOURCE / "catalog" / "entries")]
ENTRIES = [*load.names("causes"), *load.names("symptoms")]
FILLED = re.compile(r"\{(\w+)}")
PLACE = re.compile(r"\{(\w+)[|}]")
SHORT = ["What you see", "Why", "Fix", "If that is not it"]
FULL = ["What you see", "Why", "Fix", "Tell apart", "Often advised", "Prevent"]


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_has_the_same_sentences_in_each_language(name: str) -> None:
    english, chinese = load.text(name, "en"), load.text(name, "zh")
    assert english is not None and chinese is not None
    assert english.sentences.keys() == chinese.sentences.keys()
    assert "title" in english.sentences
    for key, sentence in english.sentences.items():
        here, there = sentence, chinese.sentences[key]
        extra = set(PLACE.findall(there)) - set(PLACE.findall(here)) - {"count"}
        # A number may only choose between "gets" and "get", which Chinese need not do.
        missing = set(FILLED.findall(here)) - set(PLACE.findall(there)) - {"count"}
        assert not extra and not missing, f"{key}: {extra or missing}"


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_has_its_headings_and_kin(name: str) -> None:
    entry, text = load.entry(name), load.text(name, "en")
    assert entry is not None and text is not None
    headings = re.findall(r"^## (.+)$", text.page, re.M)
    assert headings == (FULL if entry.facts.get("frequency") == "high" else SHORT)
    assert set(entry.facts.get("see_also", ())) <= {*ENTRIES, *load.names("recipes")}


@pytest.mark.parametrize("name", load.names("causes"))
def test_a_cause_that_an_entry_of_inputs_can_have_is_told_of_it(name: str) -> None:
    entry, text = load.entry(name), load.text(name, "en")
    assert entry is not None and text is not None
    if {"input-no-grad", "input-unused"} & set(entry.facts["symptoms"]):
        assert {"headline-entry", "advice-entry"} <= text.sentences.keys()


STABLE = [name for name in load.names("causes") if load.raw(name, "entry.toml").startswith('status = "stable"')]


@pytest.mark.parametrize("name", STABLE)
def test_a_stable_cause_has_been_met_and_is_found(name: str) -> None:
    """Somebody has reported it, and an engine is shown to find it: test_pages.py runs its page's programs."""
    import test_pages

    entry = load.entry(name)
    assert entry is not None
    assert entry.facts["sources"] and all(re.fullmatch(r"https://\S+", each) for each in entry.facts["sources"])
    assert name in test_pages.PAGES and name not in test_pages.MISSED


def test_what_is_met_is_stable() -> None:
    assert len(STABLE) > 30
    assert {name for name in load.names("causes") if "\nsources = [" in load.raw(name, "entry.toml")} == set(STABLE)


@pytest.mark.parametrize("row", all_stated(), ids=lambda row: f"{row.cause}-{row.key}")
def test_a_stated_message_has_its_sentences_and_its_symptom(row: Stated) -> None:
    entry, symptom, text = load.entry(row.cause), load.entry(row.symptom), load.text(row.cause, "en")
    assert entry is not None and symptom is not None and text is not None
    assert row.symptom in entry.facts["symptoms"]
    suffix = f"-{row.key}" if row.key else ""
    filled = {"subject", "failing", *row.pattern.groupindex}
    for key in (f"headline{suffix}", f"advice{suffix}"):
        assert set(PLACE.findall(text.sentences[key])) <= filled
    assert row.line.partition(" ")[0] in ("", "node", "call", "keyword", "grad-mode", "frozen", "backward")


@pytest.mark.parametrize("name", ENTRIES)
def test_each_message_of_an_entry_has_its_meaning_and_its_fix(name: str) -> None:
    entry, text = load.entry(name), load.text(name, "en")
    assert entry is not None and text is not None
    keys = [row["key"] for row in entry.facts.get("messages", ())]
    assert len(keys) == len(set(keys))
    told = {key for key in text.sentences if key.startswith(("means-", "fix-"))}
    assert {f"{part}-{key}" for key in keys for part in ("means", "fix")} <= told
    assert all(key.partition("-")[2] in keys for key in told if key.startswith("means-"))
    for row in entry.facts.get("messages", ()):
        assert row.keys() <= {"key", "says", "pattern", "shown", "raises", "cause", "frequency", "needs"}
        assert row.get("says") or row["pattern"]
        if "cause" in row:
            cause = load.entry(row["cause"])
            assert cause is not None
            # A collection of kin is no symptom of a cause: it is known by its texts alone.
            assert name == row["cause"] or name in cause.facts["symptoms"] or "patterns" not in entry.facts


def blocks(language: str) -> list[tuple[str, str, str]]:
    found = []
    for name in ENTRIES:
        text = load.text(name, language)
        assert text is not None
        found += [
            (name, kind, code) for kind, code in re.findall(r"```python (wrong|right)\n(.*?)```", text.page, re.S)
        ]
    return found


def test_each_entry_shows_a_wrong_and_a_right_program() -> None:
    for name in ENTRIES:
        kinds = [kind for entry, kind, _ in blocks("en") if entry == name]
        assert kinds.count("wrong") == kinds.count("right") == 1, name
    assert blocks("en") == blocks("zh"), "the programs are the same in each language"


def test_each_cause_in_the_table_of_torch_has_an_entry() -> None:
    named = {row.cause for row in table.load().ops if row.cause} | {row.cause for row in table.load().libraries}
    assert named <= set(load.names("causes")) | {"rounding"}


def message_ids() -> set[str]:
    """Every literal message id in the package; those made of a cause's name are covered by the cases."""
    ids: set[str] = set()
    for file in MODULES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Message" and node.args:
                if isinstance(node.args[0], ast.Constant):
                    ids.add(node.args[0].value)
    return ids


@pytest.mark.parametrize("id", sorted(message_ids()))
@pytest.mark.parametrize("language", load.LANGUAGES)
def test_each_message_has_words(id: str, language: str) -> None:
    assert render.has_sentence(id, language)
    assert render.sentence(Message(id), language)


def test_the_interface_has_the_same_words_in_each_language() -> None:
    assert load.words("en").keys() == load.words("zh").keys()


def test_modules_say_what_they_are_for_and_stay_small() -> None:
    for file in MODULES:
        tree = ast.parse(file.read_text("utf-8"))
        assert ast.get_docstring(tree), file
        assert len(file.read_text("utf-8").splitlines()) <= 400, f"{file} wants to be two"
        assert file.stem not in ("utils", "helpers", "common")


def test_no_two_test_files_have_one_name() -> None:
    """pytest imports them by their bare names: it would refuse the second."""
    found = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(found) == sorted(set(found))
