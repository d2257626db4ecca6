"""The report as HTML: the whole page once, and that nothing from outside gets to be markup."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from gradwhy.findings import (
    Code,
    Edit,
    Evidence,
    Finding,
    Fix,
    Location,
    Message,
    Parameter,
    Report,
    Step,
    Verification,
)
from gradwhy.report import formats, to_html
from gradwhy.report.formats import Look
from gradwhy.source import text

PROGRAM = """\
def train(model, x, y):
    logits = model(x)
    pred = logits.argmax(dim=1) if 1 < 2 else "<script>alert('x')</script>"
    loss = criterion(pred, y)
    loss.backward()
"""
EVIL = "<img src=x onerror=alert(1)>&\"'`</div>"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(PROGRAM, "utf-8")
    monkeypatch.setattr(text, "STARTED_IN", str(tmp_path))


def at(line: int, column: int = 1, end: int | None = None, **more: object) -> Location:
    return Location(file="train.py", line=line, column=column, end_line=line, end_column=end, **more)  # type: ignore[arg-type]


def report(name: str = "loss", file: str = "train.py") -> Report:
    finding = Finding(
        cause="argmax",
        symptom="no-graph",
        engine="runtime",
        severity="error",
        certainty="proven",
        subject=name,
        at=at(3, 12, 32),
        message=Message("no-graph.headline", {"loss": Code(name)}),
        fingerprint="0",
        path=(
            Step(at=at(2), note=Message("no-graph.tracked-from", {"count": 62, "owner": Code(name)})),
            Step(at=at(3, 12, 32), note=Message("argmax.cut", {"op": name})),
            Step(at=Location(file=file, line=5, function=name), note=Message("no-graph.after")),
        ),
        evidence=(
            Evidence(kind="tensor", subject=name, facts={"requires_grad": True, "shape": (32, 10), "dtype": name}),
            Evidence(kind="source", subject=name, claim=Message("no-graph.device"), at=Location(file=file, line=5)),
        ),
        fixes=(
            Fix(
                title=Message("argmax.fix", {"input": Code(name), "loss": Code("criterion")}),
                applicability="unsafe",
                edits=(Edit(file="train.py", line=4, column=22, end_line=4, end_column=26, new_text="logits"),),
                verification=Verification(trained=62, trainable=62, changed=62),
            ),
        ),
    )
    return Report(findings=(finding,), notes=(Message("words.own-fault", {"error": name}),))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, "tags are closed in order"


def tags(page: str) -> _Tags:
    parser = _Tags()
    parser.feed(page)
    assert not parser.open
    return parser


def test_the_page(snapshot: SnapshotAssertion) -> None:
    page = to_html.write(report(), Look("en")).replace("><", ">\n<")
    assert page == snapshot


def test_nothing_to_say_is_nothing() -> None:
    assert to_html.write(Report(), Look("en")) == to_html.fragment(Report(), Look("en")) == ""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_comes_from_outside_is_text(language: str) -> None:
    found = tags(to_html.write(report(EVIL, f"{EVIL}.py"), Look(language)))
    assert found.seen <= {
        "html",
        "head",
        "meta",
        "title",
        "body",
        "div",
        "table",
        "tr",
        "td",
        "th",
        "b",
        "span",
        "code",
    }
    assert found.attributes <= {"lang", "charset", "name", "content", "class", "style"}


def test_control_characters_are_marked() -> None:
    assert "\x1b" not in to_html.write(report("a\x1b[31m\u202eb"), Look("en"))


def test_the_fragment_is_one_division_and_the_audits_table_is_in_it() -> None:
    row = Parameter(
        name="model.1.weight", module="model.1", shape=(3, 3), requires_grad=True, group="", gradient="finite", norm=0.5,
        compared=3, relative=0.0, changed=0, steps=3, without=0, passes=3,
    )  # fmt: skip
    examined = {"steps": 3, "passes": 3, "parameters": 1}
    part = to_html.fragment(Report(parameters=(row,), examined=examined), Look("en", every_row=True))
    assert part.startswith('<div class="gradwhy"') and part.endswith("</div>") and "<script" not in part
    assert "in no optimizer" in part and "model.1.weight" in part and tags(part)


def test_it_is_a_format_like_the_others() -> None:
    assert "html" in formats.names()
