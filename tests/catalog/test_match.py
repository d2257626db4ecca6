"""Texts and the entries that answer for them: every message of torch's autograd, however it was pasted, and nothing else.

``texts.toml`` has the messages, ``pastes.md`` the ways in which they are pasted, ``unrelated.txt`` what is not ours.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradwhy.catalog import answer, likely, load, match, page
from gradwhy.catalog.pasted import Shown
from gradwhy.torchapi import table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
TEXTS: list[dict[str, Any]] = tomllib.loads((HERE / "texts.toml").read_text("utf-8"))["message"]
PROGRAMS = tomllib.loads((HERE.parent / "messages.toml").read_text("utf-8"))["message"]
UNRELATED = [line for line in (HERE / "unrelated.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
PASTES = re.findall(r"^## (.+?)\n```text\n(.*?)\n```\n(.+?)$", (HERE / "pastes.md").read_text("utf-8"), re.M | re.S)


def bare(text: str) -> str:
    """Without the class in front."""
    return re.sub(r"^[\w.]+(?:Error|Warning|Unsupported|Failed): ", "", text)


def in_a_traceback(text: str) -> str:
    return (
        'Traceback (most recent call last):\n  File "/w/train.py", line 7, in <module>\n    main()\n'
        f'  File "/w/train.py", line 5, in main\n    step(model)\n{text}\n'
    )


def coloured(text: str) -> str:
    head, _, rest = text.partition(" ")
    return f"\x1b[0;31m{head}\x1b[0m {rest}"


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "without its class": bare,
    "wrapped between words": lambda text: "\n".join(textwrap.wrap(text, 50, break_on_hyphens=False)),
    "coloured": coloured,
    "of rank 3": lambda text: "\n".join(f"[rank3]: {line}" for line in text.split("\n")),
    "of a logger": lambda text: "\n".join(f"2026-01-31 10:20:30,123 - ERROR - {line}" for line in text.split("\n")),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_message_is_recognised(form: str) -> None:
    missed = []
    for message in TEXTS:
        found = match.recognise(FORMS[form](message["text"]))
        # KeyError and an empty text are known by their class.
        if (found is None or found.entry != message["entry"]) and not (
            form == "without its class" and known_by_class(message)
        ):
            missed.append((message["id"], found and found.entry))
    assert not missed
    assert len(TEXTS) >= 457


def known_by_class(message: dict[str, Any]) -> bool:
    return message["id"] in ("optim-group-without-params", "distribution-no-rsample")


def test_every_message_is_recognised_under_a_traceback() -> None:
    """Texts that Python says of many things want more than this traceback shows; all others are known."""
    asking = {(known.symptom, known.key) for known in match.all_known() if known.shown}
    for message in TEXTS:
        found = match.recognise(in_a_traceback(message["text"]))
        alone = match.recognise(message["text"])
        assert alone is not None
        if (alone.entry, alone.key) in asking:
            assert not alone.certain
            assert found is None or found.key != alone.key, message["id"]
        else:
            assert found is not None and found.entry == message["entry"], message["id"]


def test_every_message_is_recognised_broken_in_the_middle_of_words() -> None:
    """As copied from a narrow terminal. Python's own texts are too short for it."""
    for message in TEXTS:
        alone = match.recognise(message["text"])
        assert alone is not None
        if not alone.certain or "\n" in message["text"]:
            continue
        text = message["text"]
        broken = "\n".join(text[at : at + 61] for at in range(0, len(text), 61))
        found = match.recognise(in_a_traceback(broken))
        assert found is not None and found.entry == message["entry"], message["id"]


def test_a_further_line_of_a_message_is_recognised_alone() -> None:
    """Each of those that entries list, and none of them speaks of two entries."""
    for known in match.all_known():
        if known.further:
            found = match.recognise(known.says.replace(match.ANYTHING, "[0]"))
            assert found is not None and found.entry == known.entry, known.says


# First sentences that other programs say as well.
ANYBODY = ("fn-instantiated", "ddp-comm-hook-bad-return", "compile-fake-tensor-error")


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text["id"])
def test_a_first_sentence_is_recognised_alone(text: dict[str, Any]) -> None:
    """As it is typed into a search box."""
    sentence = re.split(r"(?<=[.!?])\s|\n", bare(text["text"]))[0]
    if len(sentence) >= 35 and text["id"] not in ANYBODY:
        found = match.recognise(sentence)
        assert found is not None and found.entry == text["entry"]


def test_each_text_is_what_its_program_raises() -> None:
    """The programs are run in tests/runtime/probes/test_messages.py."""
    programs = {message["id"]: message for message in PROGRAMS}
    ids = [message["id"] for message in TEXTS]
    assert len(set(ids)) == len(ids)
    for message in TEXTS:
        program = programs.get(message["id"])
        if program is None or len(message["text"]) > 400:
            continue
        said = " ".join(message["text"].split())
        assert program["says"] in said or program["says"] in said.replace("\\n", " "), message["id"]
        if program["symptom"]:
            assert message["entry"] in (program["symptom"], *program.get("besides", ())), message["id"]


@pytest.mark.parametrize("text", UNRELATED)
def test_what_is_unrelated_is_not_matched(text: str) -> None:
    assert match.recognise(text) is None
    assert match.recognise(in_a_traceback(text)) is None
    message = text.partition(": ")[2]
    assert not message or match.recognise(message) is None


@pytest.mark.parametrize(("title", "text", "said"), PASTES, ids=[title for title, _, _ in PASTES])
def test_a_pasted_text(title: str, text: str, said: str) -> None:
    found = answer.by_text(text.replace("␛", "\x1b"))
    if said == "nothing":
        assert found is None
        return
    assert found is not None and found.recognised is not None
    head, _, seen = said.partition("; seen: ")
    entry, *key = re.findall(r"`([^`]+)`", head)
    assert (found.entry, [found.recognised.key] if found.recognised.key else []) == (entry, key)
    assert [f"`{each.cause}` at `{each.shown.file}:{each.shown.line}`" for each in found.seen] == [
        part for part in seen.split(", ") if part
    ]


@pytest.mark.parametrize(("title", "text", "said"), PASTES, ids=[title for title, _, _ in PASTES])
def test_a_torn_text_is_no_fault(title: str, text: str, said: str) -> None:
    """Cut off anywhere, without any one line, with lines in the wrong order."""
    text = text.replace("␛", "\x1b")
    lines = text.split("\n")
    torn = [text[:end] for end in range(0, len(text), 7)] + [text[start:] for start in range(0, len(text), 7)]
    torn += ["\n".join(lines[:index] + lines[index + 1 :]) for index in range(len(lines))]
    torn += ["\n".join(reversed(lines)), "\n".join(sorted(lines)), text * 3, "x = " + "-" * 900 + "1"]
    for each in torn:
        found = answer.by_text(each)
        assert found is None or page.markdown(found, "en")


@pytest.mark.parametrize(
    "piece",
    [
        "x",
        " ",
        "~",
        "^ ",
        "a.",
        "A.a:",
        "[",
        "> ",
        "│ ",
        "\x1b]0;",
        "\x1b[",
        "a.py:1: ",
        '  File "',
        "E   ",
        "W",
        "1: ",
    ],
)
def test_a_long_text_is_read_in_the_time_of_its_length(piece: str) -> None:
    """A log may be long, and a line of it longer. A search that tries each place for each place would take hours."""
    line = piece * (200_000 // len(piece))
    text = f"{line}x\nRuntimeError: {line}\n" + f"{piece}\n" * 20_000 + in_a_traceback("KeyError: 'x'")
    assert match.recognise(text) is None


@pytest.mark.parametrize(
    ("line", "symptom", "causes"),
    [
        ("preds = logits.argmax(dim=1).float()", "no-graph", ["argmax"]),
        ("loss = F.mse_loss(out, target.detach())", "no-graph", []),  # a target needs no gradient
        ("loss = F.mse_loss(out.detach(), target)", "no-graph", ["detach"]),
        ("best, index = torch.max(out, 1)", "no-graph", ["index-output"]),
        ("best = torch.max(out)", "no-graph", []),
        ("x = x.to(device)", "no-graph", []),
        ("x = x.to(torch.int64)", "no-graph", ["integer-cast"]),
        ("with torch.no_grad():", "no-graph", ["no_grad-context"]),
        ("@torch.no_grad()", "no-graph", ["no_grad-context"]),
        ("torch.set_grad_enabled(True)", "no-graph", []),
        ("elif loss.item() > 3:", "no-graph", ["item"]),
        ("if x > 3:", "no-graph", []),
        ("mask = x > 3", "no-graph", ["comparison"]),
        ("loss = float(loss)", "no-graph", ["item"]),
        ("loss = float(3)", "no-graph", []),
        ("h[:, 0] = 0", "inplace-saved", ["inplace-op"]),
        ("h[:, 0] = 0", "no-graph", []),
        ("x.relu_()", "inplace-leaf", ["inplace-op"]),
        ("x.requires_grad_()", "inplace-leaf", []),
        ("total += loss", "second-backward", ["loss-accumulated"]),
        ("this is no Python (", "no-graph", []),
    ],
)
def test_causes_that_a_line_shows(line: str, symptom: str, causes: list[str]) -> None:
    shown = [Shown("train.py", 3, "main", line)]
    assert [each.cause for each in likely.seen(shown, symptom)] == causes


LIBRARY = "/env/lib/python3.12/site-packages/torch/"


def shown(*rows: tuple[str, str, str]) -> list[Shown]:
    """Frames as (file, function, source), each at a line of its own."""
    return [Shown(file, number, function, source) for number, (file, function, source) in enumerate(rows, 1)]


@pytest.mark.parametrize(
    ("rows", "causes"),
    [
        # The number is made of what dream() returns, and dream() is where it failed.
        (
            [("a.py", "main", "print(rough(dream(net)).item())"), ("a.py", "dream", "loss.backward()"),
             (LIBRARY + "_tensor.py", "backward", "torch.autograd.backward(")],
            [],
        ),
        # An argument was there before the call.
        (
            [("a.py", "main", "step(out.detach())"), ("a.py", "step", "loss.backward()"),
             (LIBRARY + "_tensor.py", "backward", "torch.autograd.backward(")],
            ["detach"],
        ),
        # The call that failed gave no gradient that could lack a history.
        (
            [("a.py", "main", "g, = torch.autograd.grad(y.sum(), x)"), (LIBRARY + "autograd/__init__.py", "grad", "_engine(")],
            [],
        ),
        ([("a.py", "main", "g, = torch.autograd.grad(y.sum(), x)")], []),
        # A module is called by another name than its own.
        (
            [("a.py", "main", "y = torch.tensor([model(x)])"), (LIBRARY + "nn/modules/module.py", "_call_impl", "return f()"),
             ("a.py", "forward", "x.sum().backward()"), (LIBRARY + "_tensor.py", "backward", "torch.autograd.backward(")],
            [],
        ),
        ([("a.py", "main", "mse_loss(x.detach(), y).backward()"), (LIBRARY + "_tensor.py", "backward", "x")], ["detach"]),
    ],
)  # fmt: skip
def test_what_was_still_running_has_done_nothing(rows: list[tuple[str, str, str]], causes: list[str]) -> None:
    assert [each.cause for each in likely.seen(shown(*rows), "no-graph")] == causes


def test_a_line_near_the_failure_counts_where_it_ran_before() -> None:
    before, failed, after = (Shown("a.py", 3, "f", "y = x.detach()", False), Shown("a.py", 4, "f", "y.sum().backward()"),
                             Shown("a.py", 5, "f", "i = x.argmax()", False))  # fmt: skip
    assert [each.cause for each in likely.seen([before, failed, after], "no-graph")] == ["detach"]


def test_a_failure_of_the_line_itself_has_its_cause_there() -> None:
    """A write in place is refused where it stands; what a caller wrote is nothing to it."""
    rows = shown(("a.py", "main", "h[:, 0] = 0"), ("a.py", "main", "step(h)"), ("a.py", "step", "w.zero_()"))
    (only,) = likely.seen(rows, "inplace-leaf")
    assert (only.cause, only.shown.line) == ("inplace-op", 3)


def test_a_statement_of_several_lines_is_read_whole() -> None:
    rows = [Shown("a.py", 7, "f", "loss = criterion("), Shown("a.py", 8, "f", "out.argmax(1),"), Shown("a.py", 9, "f", ")"),
            Shown("a.py", 12, "g", "loss.backward()")]  # fmt: skip
    (only,) = likely.seen(rows, "no-graph")
    assert (only.cause, only.shown.line) == ("argmax", 8)


def test_a_line_of_a_package_is_no_cause() -> None:
    path = "/env/lib/python3.12/site-packages/torch/optim/adam.py"
    assert likely.seen([Shown(path, 3, "step", "x = x.detach()")], "no-graph") == []


def test_the_table_about_some_words_says_what_the_whole_table_says() -> None:
    whole = table.load()
    for name in (name for row in whole.ops for name in row.names):
        word = next(part for part in reversed(name.split(".")) if part not in ("__get__", "default"))
        written = word[2:-2] if word.startswith("__") else word
        assert table.about([written]).op(name) == whole.op(name), name
    part = table.about(["argmax", "detach", "mse_loss"])
    for name in ("torch.argmax", "torch.Tensor.detach", "argmax"):
        assert part.op(name) == whole.op(name)
    assert part.argument("torch.nn.functional.mse_loss", 1, None) == whole.argument(
        "torch.nn.functional.mse_loss", 1, None
    )
    assert len(part.ops) < len(whole.ops)


def test_causes_of_a_symptom_are_those_that_list_it() -> None:
    for symptom in load.names("symptoms"):
        listing = {name for name in load.names("causes") if symptom in load.entry(name).facts["symptoms"]}  # type: ignore[union-attr]
        assert set(likely.causes_of(symptom)) == listing


def test_titles_are_read_as_they_are_written() -> None:
    for name in answer.every_name():
        for language in load.LANGUAGES:
            text = load.text(name, language)
            assert text is not None and likely.title(name, language) == text.sentences["title"]


@pytest.mark.parametrize(
    ("asked", "entry"),
    [
        ("argmax", "argmax"),
        ("No Grad-Context", "no_grad-context"),
        ("no_graph", "no-graph"),
        ("error[argmax]", "argmax"),
        ("# gradwhy: ignore[detach]", None),
        ("torch.argmax", "argmax"),
        ("torch.max", "index-output"),
        (".numpy()", "numpy-roundtrip"),
        ("torch.Tensor.data", "data-attribute"),
        ("no_grad", "no_grad-context"),
        ("matmul", None),
        ("../causes/argmax", None),
        ("", None),
    ],
)
def test_names(asked: str, entry: str | None) -> None:
    found = answer.by_name(asked)
    assert (found.entry if found else None) == entry


def test_every_entry_is_its_own_name() -> None:
    for name in answer.every_name():
        found = answer.by_name(name)
        assert found is not None and found.entry == name


def test_no_cause_and_symptom_share_a_name() -> None:
    """One page answers for it."""
    names = list(answer.every_name())
    assert len(names) == len(set(names))
