"""Messages that are often seen have two programs of their own, that are run, and the most frequent a page.

They lie beside their entry, ``messages/<key>.wrong.py``, ``.right.py``, ``.en.md`` and ``.zh.md``. ``frequency`` in the row of
``[[messages]]`` says how often the message is seen. Where a row ``needs`` what not every machine has, they are not run.
"""

from __future__ import annotations

import difflib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gradwhy.catalog import answer, load, match, page, programs
from gradwhy.catalog.pasted import Ending
from gradwhy.catalog.programs import Program
from gradwhy.runtime.catalogue import Ended

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ENTRIES = Path(load.__file__).parent / "entries"
TEXTS: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "texts.toml").read_text("utf-8"))["message"]
OFTEN = [text for text in TEXTS if text.get("frequency")]
NEEDS = ("cuda", "gpus")
HEADINGS = {"en": ["Why", "Tell apart", "Prevent"], "zh": ["原因", "如何区分", "如何预防"]}
# What this Python has other words for.
OTHER_WORDS = {"no-grad-without-call"} if sys.version_info < (3, 11) else set()


@dataclass(frozen=True)
class Row:
    entry: str
    facts: dict[str, Any]

    @property
    def key(self) -> str:
        return str(self.facts["key"])

    @property
    def frequency(self) -> str:
        return str(self.facts.get("frequency", ""))

    def file(self, ending: str) -> Path:
        return ENTRIES / str(load.family(self.entry)) / self.entry / "messages" / f"{self.key}.{ending}"

    @property
    def asked(self) -> answer.Answer:
        return answer.Answer(self.entry, match.Recognised(Ending(text="x"), self.entry, self.key))

    def __str__(self) -> str:
        return f"{self.entry}-{self.key}"


def all_rows() -> Iterator[Row]:
    for name in answer.every_name():
        entry = load.entry(name)
        assert entry is not None
        for facts in entry.facts.get("messages", ()):
            yield Row(name, facts)


ROWS = [row for row in all_rows() if row.frequency]
RUN = [row for row in ROWS if "needs" not in row.facts]


@pytest.fixture(scope="module")
def texts(ended: dict[Program, Ended]) -> dict[str, list[str]]:
    """What each program raises, then what it warns and logs; the first is "" where it ends well. By the program's name."""
    return {program.id: end.texts for program, end in ended.items()}


@pytest.fixture(scope="module")
def said(texts: dict[str, list[str]]) -> dict[Path, list[str]]:
    return {
        row.file(f"{kind}.py"): texts[f"{row.entry}/{row.key}.{kind}"] for row in RUN for kind in ("wrong", "right")
    }


def says_it(row: Row, texts: Sequence[str]) -> bool:
    known = [each for each in match.known_of(row.entry) if each.key == row.key and not each.stated]
    return any(re.search(each.expression, text, re.S) for each in known for text in texts)


@pytest.mark.parametrize("row", RUN, ids=str)
def test_the_wrong_program_says_the_message(row: Row, said: dict[Path, list[str]]) -> None:
    if row.key in OTHER_WORDS:
        pytest.skip("another Python says it in other words")
    assert says_it(row, said[row.file("wrong.py")])


@pytest.mark.parametrize("row", RUN, ids=str)
def test_the_message_is_recognised_as_this_row(row: Row, said: dict[Path, list[str]]) -> None:
    """As it was just said, and not as one that it is like; a text of Python's own wants the program's lines too."""
    if row.key in OTHER_WORDS:
        pytest.skip("another Python says it in other words")
    found = [match.recognise(text) for text in said[row.file("wrong.py")] if text]
    assert (row.entry, row.key) in [(each.entry, each.key) for each in found if each is not None]


@pytest.mark.parametrize("row", RUN, ids=str)
def test_the_right_program_does_not(row: Row, said: dict[Path, list[str]]) -> None:
    raised, *rest = said[row.file("right.py")]
    assert not raised
    assert not says_it(row, rest)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_programs_are_small_and_alike(row: Row) -> None:
    """As many lines as a reader takes in, and the right one is the wrong one corrected."""
    wrong, right = (row.file(f"{kind}.py").read_text("utf-8") for kind in ("wrong", "right"))
    for code in (wrong, right):
        lines = [line for line in code.splitlines() if line.strip()]
        assert 3 <= len(lines) <= 20
        assert max(map(len, lines)) <= 120
        assert "#" not in code, "the programs are the same in each language"
    assert wrong != right
    assert difflib.SequenceMatcher(None, wrong, right, autojunk=False).ratio() > 0.6


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_says_how_often_and_what_it_needs(row: Row) -> None:
    assert row.frequency in ("high", "medium")
    assert row.facts.get("needs", NEEDS[0]) in NEEDS


@pytest.mark.parametrize("language", load.LANGUAGES)
@pytest.mark.parametrize("row", [row for row in ROWS if row.frequency == "high"], ids=str)
def test_what_is_most_often_seen_has_a_page(row: Row, language: str) -> None:
    text = row.file(f"{language}.md").read_text("utf-8")
    assert re.findall(r"^## (.+)$", text, re.M) == HEADINGS[language]
    prose = re.sub(r"^## .+$|`[^`]*`", "", text, flags=re.M)
    length = len(re.findall(r"[^\s\x00-\x7f]", prose)) if language == "zh" else len(text.split())
    assert 80 <= length <= (600 if language == "zh" else 250)
    for name in re.findall(r"`([a-z_]+(?:-[a-z_]+)+)`", text):
        assert load.family(name), f"{name} is no entry"


@pytest.mark.parametrize("language", load.LANGUAGES)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_explain_shows_them(row: Row, language: str) -> None:
    shown = page.markdown(row.asked, language)
    for kind in ("wrong", "right"):
        assert f"```python {kind}\n{row.file(f'{kind}.py').read_text('utf-8')}```" in shown
        assert not any(program.code in shown for program in programs.of(row.entry) if not program.key)
    assert (page.own_page(row.asked, language) in shown) and bool(page.own_page(row.asked, language)) == (
        row.frequency == "high"
    )


def test_the_json_has_them(gradwhy: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    row = next(row for row in ROWS if row.key == "scaler-unscale-twice")
    done = gradwhy("explain", "--format", "json", row.facts["says"][0])
    recognised = json.loads(done.stdout)["recognised"]
    assert recognised["message"] == row.key
    assert recognised["programs"] == {kind: row.file(f"{kind}.py").read_text("utf-8") for kind in ("wrong", "right")}
    assert recognised["needs"] is None


def test_programs_that_were_not_run_are_told_from_the_others() -> None:
    for row in ROWS:
        told = [load.words("en")[f"explain-needs-{need}"] in page.markdown(row.asked, "en") for need in NEEDS]
        assert told == [row.facts.get("needs") == need for need in NEEDS]


@pytest.mark.parametrize("entry", sorted({row.entry for row in ROWS}))
def test_the_page_of_an_entry_says_where_the_programs_are_and_has_none_of_them(entry: str) -> None:
    shown = page.markdown(answer.Answer(entry), "en").partition("\n## Causes\n")[0]
    assert not any(program.code in shown for program in programs.of(entry) if program.key)
    assert load.words("en")["explain-messages-programs"] in shown


def test_each_file_is_of_a_row_that_says_how_often() -> None:
    endings = {"high": ("wrong.py", "right.py", "en.md", "zh.md"), "medium": ("wrong.py", "right.py")}
    wanted = {row.file(ending) for row in ROWS for ending in endings[row.frequency]}
    assert {file for file in ENTRIES.glob("*/*/messages/*") if file.is_file()} == wanted


@pytest.mark.parametrize("text", OFTEN, ids=lambda text: text["id"])
def test_a_message_that_is_often_seen_has_programs(text: dict[str, Any], texts: dict[str, list[str]]) -> None:
    """Those of its row; or the entry's own, where these say what the message says."""
    found = match.recognise(text["text"])
    assert found is not None
    if found.key:
        row = next(row for row in all_rows() if (row.entry, row.key) == (found.entry, found.key))
        assert row.frequency == "high" or row.frequency == text["frequency"]
        return
    whole = " ".join(text["text"].split())
    fitting = [
        known for known in match.known_of(found.entry) if not known.further and re.search(known.expression, whole)
    ]
    assert any(re.search(known.expression, each) for known in fitting for each in texts[f"{found.entry}.wrong"])


def test_how_many_were_run(said: dict[Path, list[str]], record_property: Callable[[str, object], None]) -> None:
    """Every one but those that need another machine, which are few. The last lines of a test run say the number."""
    elsewhere = len(ROWS) - len(RUN)
    record_property("programs of messages that were run", len(said))
    assert len(said) == 2 * len(RUN)
    assert elsewhere <= 4
