"""A report goes to JSON and back without loss."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwhy.findings import (
    Code,
    Edit,
    Evidence,
    Finding,
    Fix,
    Location,
    Message,
    Report,
    Step,
    Verification,
    fingerprint,
    wire,
)

words = st.text(max_size=12)
numbers = st.integers(1, 10_000)
locations = st.builds(
    Location,
    file=words,
    line=numbers,
    column=numbers,
    end_line=st.none() | numbers,
    end_column=st.none() | numbers,
    function=words,
    cell=st.none() | numbers,
)
plain = words | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | st.builds(Code, words)
messages = st.builds(Message, words, st.dictionaries(words, plain | st.builds(Message, words), max_size=3))
facts = st.dictionaries(words, words | st.booleans() | st.none() | st.lists(numbers, max_size=3).map(tuple), max_size=3)
evidence = st.builds(
    Evidence,
    kind=st.just("tensor"),
    subject=words,
    facts=facts,
    claim=st.none() | messages,
    at=st.none() | locations,
)
edits = st.builds(Edit, file=words, line=numbers, column=numbers, end_line=numbers, end_column=numbers, new_text=words)
tried = st.builds(Verification, trained=numbers, trainable=numbers, changed=numbers, failure=st.none() | words)
fixes = st.builds(
    Fix,
    title=messages,
    applicability=st.just("unsafe"),
    edits=st.lists(edits, max_size=2).map(tuple),
    verification=st.none() | tried,
)
steps = st.builds(
    Step, at=locations, op=words, before=st.just("tracked"), after=st.just("cut"), note=st.none() | messages
)


def several(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(strategy, max_size=2).map(tuple)


def findings(related: st.SearchStrategy[tuple[object, ...]]) -> st.SearchStrategy[Finding]:
    return st.builds(
        Finding,
        cause=words,
        symptom=st.none() | words,
        engine=st.just("runtime"),
        severity=st.just("error"),
        certainty=st.just("proven"),
        subject=words,
        at=locations,
        message=messages,
        fingerprint=words,
        surfaces_at=st.none() | locations,
        path=several(steps),
        evidence=several(evidence),
        fixes=several(fixes),
        related=related,
        because_of=st.none() | words,
    )


reports = st.builds(
    Report,
    findings=several(findings(several(findings(st.just(()))))),
    examined=st.dictionaries(words, numbers, max_size=2),
    skipped=several(st.tuples(locations, messages)),
    notes=several(messages),
    environment=st.dictionaries(words, words, max_size=2),
)


@given(reports)
def test_there_and_back_again(report: Report) -> None:
    data = json.loads(json.dumps(wire.to_data(report, lambda message: "a sentence")))
    assert data["schema"] == 1
    assert wire.from_data(data) == report


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="schema 2"):
        wire.from_data({"schema": 2})


def test_a_fingerprint_survives_moved_lines_and_other_spaces() -> None:
    here, there = Location(file="a.py", line=3, function="f"), Location(file="a.py", line=30, function="f")
    assert fingerprint("detach", here, "y  = x.detach()") == fingerprint("detach", there, "    y = x.detach()")
    assert fingerprint("detach", here, "y = x.detach()") != fingerprint("item", here, "y = x.detach()")
