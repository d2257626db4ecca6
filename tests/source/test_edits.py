"""Edits change what they name and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwhy.findings import Edit
from gradwhy.source import edits


def edit(line: int, column: int, end_line: int, end_column: int, new_text: str) -> Edit:
    return Edit(file="a.py", line=line, column=column, end_line=end_line, end_column=end_column, new_text=new_text)


@given(st.text())
def test_no_edit_gives_the_same_text(text: str) -> None:
    assert edits.apply(text, []) == text


def test_several_edits_in_any_order() -> None:
    text = "a = b\nc = d\n"
    assert edits.apply(text, [edit(2, 5, 2, 6, "D"), edit(1, 5, 1, 6, "B")]) == "a = B\nc = D\n"


def test_whole_lines_may_go() -> None:
    assert edits.apply("a\nb\nc\n", [edit(2, 1, 3, 1, "")]) == "a\nc\n"


def test_edits_that_meet_are_refused() -> None:
    with pytest.raises(edits.Overlap):
        edits.apply("abcdef", [edit(1, 1, 1, 4, "x"), edit(1, 3, 1, 5, "y")])


def test_changed_lines_have_the_numbers_of_their_own_text() -> None:
    assert list(edits.changed_lines("a\nb\nc\n", "a\nX\nc\n")) == [("-", 2, "b"), ("+", 2, "X")]
