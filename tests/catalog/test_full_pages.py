"""The pages of what is often seen: long enough to help, the same in both languages, and every entry that they name exists."""

from __future__ import annotations

import re

import pytest

from gradwhy.catalog import likely, load

OFTEN_SEEN = [
    name for name in load.names("symptoms") if (entry := load.entry(name)) and entry.facts.get("frequency") == "high"
]
CHINESE = ["你看到的", "原因", "改法", "如何区分", "常见建议", "如何预防"]
CODE = re.compile(r"`([^`\n]+)`")
# An entry's name has a hyphen; torch's and Python's own names have none.
ENTRY = re.compile(r"[a-z_]+(-[a-z_]+)+")


def page(name: str, language: str) -> str:
    """The prose of a page, without its programs."""
    text = load.text(name, language)
    assert text is not None
    return re.sub(r"^```.*?^```", "", text.page, flags=re.M | re.S)


def sections(name: str, language: str) -> list[str]:
    return re.split(r"^## .+$", page(name, language), flags=re.M)[1:]


def named(prose: str) -> set[str]:
    return {code for code in CODE.findall(prose) if ENTRY.fullmatch(code) or load.family(code)}


@pytest.mark.parametrize("name", OFTEN_SEEN)
def test_the_chinese_page_has_the_headings_too(name: str) -> None:
    assert re.findall(r"^## (.+)$", page(name, "zh"), re.M) == CHINESE


@pytest.mark.parametrize("name", OFTEN_SEEN)
def test_a_page_is_neither_a_note_nor_a_chapter(name: str) -> None:
    assert 250 <= len(page(name, "en").split()) <= 600


@pytest.mark.parametrize("name", OFTEN_SEEN)
def test_a_section_says_the_same_in_each_language(name: str) -> None:
    for english, chinese in zip(sections(name, "en"), sections(name, "zh"), strict=True):
        items = [re.findall(r"^- ", section, re.M) for section in (english, chinese)]
        assert len(items[0]) == len(items[1]), english
        assert named(english) == named(chinese), english


@pytest.mark.parametrize("name", OFTEN_SEEN)
@pytest.mark.parametrize("language", load.LANGUAGES)
def test_each_entry_that_a_page_names_exists(name: str, language: str) -> None:
    assert [each for each in named(page(name, language)) if load.family(each) is None] == []


@pytest.mark.parametrize("name", OFTEN_SEEN)
def test_the_causes_come_first_and_the_first_ones_have_their_fix(name: str) -> None:
    entry = load.entry(name)
    assert entry is not None
    causes = likely.causes_of(name)
    is_cause = [each in causes for each in entry.facts["see_also"]]
    assert is_cause == sorted(is_cause, reverse=True), "causes of this symptom, then its kin"
    fix = sections(name, "en")[2]
    assert [each for each in entry.facts["see_also"][:1] if each not in named(fix)] == []
