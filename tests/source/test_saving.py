"""Writing a corrected file back: what stays the same, what is refused, and what a failure in the middle leaves behind."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwhy.source import notebook, saving, text

BOM = b"\xef\xbb\xbf"
LINES = st.lists(
    st.tuples(
        st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=8),
        st.sampled_from(["\n", "\r\n", "\r"]),
    )
)


def joined(lines: list[tuple[str, str]], last: str = "") -> bytes:
    return ("".join(line + end for line, end in lines) + last).encode()


@given(LINES, st.sampled_from(["", "end"]), st.booleans())
def test_no_edit_gives_the_same_bytes(lines: list[tuple[str, str]], last: str, marked: bool) -> None:
    data = (BOM if marked else b"") + joined([("x = 1", "\n"), *lines], last)
    try:
        before = text.decoded(data)
    except (SyntaxError, UnicodeDecodeError):
        return  # a line that looks like a declaration of another encoding
    assert saving.encoded(data, before) == data


@given(LINES, st.integers(0, 8))
def test_a_new_line_ends_as_its_neighbours_and_no_other_line_changes(lines: list[tuple[str, str]], place: int) -> None:
    lines = [
        ("a", "\n"),
        ("b", "\n"),
        *[(f"{n}{line.replace('coding', '')}", end) for n, (line, end) in enumerate(lines)],
    ]
    place = min(place, len(lines))
    data = joined(lines)
    rows = text.decoded(data).split("\n")
    after = "\n".join([*rows[:place], "NEW", *rows[place:]])
    kept = [line + end for line, end in lines]
    new = saving.encoded(data, after).decode()
    head, tail = "".join(kept[:place]), "".join(kept[place:])
    assert new in [f"{head}NEW{end}{tail}" for end in ("\n", "\r\n", "\r")]
    ends = {end for _, end in lines}
    assert new[len(head) + 3 : len(new) - len(tail)] in ends


@pytest.mark.parametrize(
    ("data", "old", "new", "expected"),
    [
        (b"# -*- coding: latin-1 -*-\na = '\xe9'\nb = 1\n", "b = 1", "b = 2", b"# -*- coding: latin-1 -*-\na = '\xe9'\nb = 2\n"),
        (BOM + b"a = 1\r\nb = 2\r\n", "b = 2", "b = 3\nc = 4", BOM + b"a = 1\r\nb = 3\r\nc = 4\r\n"),
        (b"a = 1\n\x0c\nb = 2\n", "b = 2", "b = 3", b"a = 1\n\x0c\nb = 3\n"),
        ("a = '\u2028'\nb = 2".encode(), "b = 2", "b = 3", "a = '\u2028'\nb = 3".encode()),
        (b"if a:\n\tb = 1  # \\\n\tc = 2\n", "b = 1", "b = 3", b"if a:\n\tb = 3  # \\\n\tc = 2\n"),
    ],
)  # fmt: skip
def test_encoding_mark_line_ends_and_tabs_stay(
    tmp_path: Path, data: bytes, old: str, new: str, expected: bytes
) -> None:
    file = tmp_path / "train.py"
    file.write_bytes(data)
    before = text.decoded(data)
    saving.save([saving.Change(str(file), before, before.replace(old, new))])
    assert file.read_bytes() == expected


def changed(file: Path, new: str = "a = 2\n") -> saving.Change:
    return saving.Change(str(file), "a = 1\n", new)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text("a = 1\n")
    return path


def test_mode_and_links_stay(file: Path, tmp_path: Path) -> None:
    file.chmod(0o750)
    link = tmp_path / "link.py"
    link.symlink_to(file)
    saving.save([changed(link)])
    assert link.is_symlink() and file.read_text() == "a = 2\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o750


def test_a_file_that_changed_meanwhile_is_left_alone(file: Path) -> None:
    file.write_text("a = 7\n")
    with pytest.raises(saving.CannotSave, match="changed meanwhile"):
        saving.save([changed(file)])
    assert file.read_text() == "a = 7\n"


def test_a_character_that_the_encoding_lacks_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_bytes(b"# coding: ascii\na = 1\n")
    with pytest.raises(saving.CannotSave, match="ascii"):
        saving.save([saving.Change(str(file), "# coding: ascii\na = 1\n", "# coding: ascii\na = '\u7ebf'\n")])
    assert file.read_bytes() == b"# coding: ascii\na = 1\n"


def test_all_files_or_none_are_prepared(file: Path, tmp_path: Path) -> None:
    with pytest.raises(saving.CannotSave):
        saving.save([changed(file), changed(tmp_path / "missing.py")])
    assert file.read_text() == "a = 1\n"
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


@pytest.mark.parametrize(
    "broken", ["os.fsync", "os.fdopen", "tempfile.mkstemp", "shutil.copymode", "pathlib.Path.replace"]
)
def test_a_full_disk_at_any_moment_loses_nothing(file: Path, tmp_path: Path, monkeypatch: Any, broken: str) -> None:
    other = tmp_path / "model.py"
    other.write_text("a = 1\n")

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(broken, full)
    with pytest.raises(saving.CannotSave, match="No space"):
        saving.save([changed(file), changed(other)])
    monkeypatch.undo()
    assert (file.read_text(), other.read_text()) == ("a = 1\n", "a = 1\n")
    assert {path.name for path in tmp_path.iterdir()} == {"train.py", "model.py"}


def test_a_power_cut_between_two_files_leaves_each_whole(file: Path, tmp_path: Path, monkeypatch: Any) -> None:
    other = tmp_path / "model.py"
    other.write_text("a = 1\n")
    real, done = Path.replace, []

    def once(path: Path, target: Path) -> Path:
        if done:
            raise KeyboardInterrupt
        done.append(path)
        return real(path, target)

    monkeypatch.setattr(Path, "replace", once)
    with pytest.raises(KeyboardInterrupt):
        saving.save([changed(file), changed(other)])
    assert (file.read_text(), other.read_text()) == ("a = 2\n", "a = 1\n")


# -- notebooks

SOURCES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=4
)


def as_notebook(sources: list[str], style: int) -> str:
    def lines(source: str) -> Any:
        return source if style == 0 else [line for line in re.split(r"(?<=\n)", source) if line]

    cells = [
        {"cell_type": "code", "source": lines(s), "outputs": [{"text": ["\u00e9 \\ \" source"]}], "metadata": {"source": 1}}
        for s in sources
    ]  # fmt: skip
    return json.dumps({"cells": cells, "nbformat": 4}, indent=[None, 1, 4][style], ensure_ascii=style == 2) + "\n"


@given(SOURCES, st.integers(0, 2), st.integers(0, 3), st.text(max_size=6))
def test_only_the_edited_cell_changes(sources: list[str], style: int, place: int, new: str) -> None:
    sources = [source.replace("\r", "") for source in sources]
    place, new = min(place, len(sources) - 1), new.replace("\r", "")
    raw = as_notebook(sources, style)
    assert notebook.rewritten(raw, {}) == raw
    after = notebook.rewritten(raw, {place + 1: new})
    expected = json.loads(raw)
    found = json.loads(after)
    assert notebook.source(after, place + 1) == new
    expected["cells"][place]["source"] = found["cells"][place]["source"]
    assert found == expected
    if new and sources[place]:
        assert notebook.rewritten(after, {place + 1: sources[place]}) == raw


def test_outputs_are_untouched(tmp_path: Path) -> None:
    file = tmp_path / "a.ipynb"
    raw = as_notebook(["a = 1\n%time\nb = 2\n", "c = 3"], 1)
    file.write_text(raw, "utf-8")
    saving.save([saving.Change(str(file), "c = 3", "c = 4\nd = 5", 2)])
    assert file.read_text("utf-8") == raw.replace('"c = 3"', '"c = 4\\n",\n    "d = 5"')
