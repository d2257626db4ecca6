"""What people see: the whole text, in several widths and languages."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

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
)
from gradwhy.report import formats
from gradwhy.report.formats import Look
from gradwhy.source import text

PROGRAM = """\
import torch

def train(model, x, y):
\tfor epoch in range(3):
\t\tlogits = model(x)
\t\tpred = logits.argmax(dim=1)
\t\tloss = criterion(pred, y)  # a comment that makes this line a good deal longer than most terminals are wide
\t\tloss.backward()

def 训练(模型, 输入):
    输出 = 模型(输入)  # 网络的输出
    预测 = 输出.detach()  # 断开
    损失 = 预测.mean()
    损失.backward()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(PROGRAM, "utf-8")
    monkeypatch.setattr(text, "STARTED_IN", str(tmp_path))


def at(line: int, column: int = 1, end: int | None = None, function: str = "train") -> Location:
    return Location(file="train.py", line=line, column=column, end_line=line, end_column=end, function=function)


def argmax() -> Finding:
    loss = Code("loss")
    edits = (Edit(file="train.py", line=7, column=20, end_line=7, end_column=24, new_text="logits"),)
    return Finding(
        cause="argmax",
        symptom="no-graph",
        engine="runtime",
        severity="error",
        certainty="proven",
        subject="logits.argmax(dim=1)",
        at=at(6, 10, 30),
        surfaces_at=at(8, 3, 18),
        message=Message("no-graph.headline", {"loss": loss}),
        fingerprint="0",
        path=(
            Step(at=at(5), note=Message("no-graph.tracked-from", {"count": 62, "owner": Code("model")})),
            Step(at=at(6, 10, 30), note=Message("argmax.cut", {"op": "argmax"})),
            Step(at=at(7), note=Message("no-graph.after")),
            Step(
                at=at(8), note=Message("no-graph.surfaces", {"error": "RuntimeError", "text": "element 0 of tensors …"})
            ),
        ),
        evidence=(
            Evidence(
                kind="tensor",
                subject="logits",
                facts={"requires_grad": True, "shape": (32, 10), "dtype": "torch.float32"},
            ),
            Evidence(
                kind="tensor", subject="pred", facts={"requires_grad": False, "shape": (32,), "dtype": "torch.int64"}
            ),
            Evidence(kind="source", subject="device", claim=Message("no-graph.device"), at=at(5)),
        ),
        fixes=(
            Fix(
                title=Message("argmax.fix", {"input": Code("logits"), "loss": Code("criterion")}),
                applicability="unsafe",
                edits=edits,
                verification=Verification(trained=62, trainable=62, changed=62),
            ),
            Fix(title=Message("argmax.advice", {"input": Code("logits"), "op": "argmax"}), applicability="display"),
        ),
    )


def wide() -> Finding:
    function = "训练"
    return Finding(
        cause="detach",
        symptom="no-graph",
        engine="runtime",
        severity="error",
        certainty="likely",
        subject="输出.detach()",
        at=at(12, 10, 21, function),
        message=Message("no-graph.headline", {"loss": Code("损失")}),
        fingerprint="1",
        path=(
            Step(at=at(11, function=function), note=Message("no-graph.tracked")),
            Step(at=at(12, 10, 21, function), note=Message("detach.cut", {"op": "detach"})),
            Step(
                at=at(14, function=function), note=Message("no-graph.surfaces", {"error": "RuntimeError", "text": "…"})
            ),
        ),
    )


def shown(report: Report, **look: object) -> str:
    return formats.load("text").write(report, Look(**look))  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [50, 80, 120])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_finding(width: int, language: str, snapshot: SnapshotAssertion) -> None:
    said = shown(Report(findings=(argmax(),)), width=width, language=language)
    assert said == snapshot
    assert max(map(cell_len, said.splitlines())) <= width


def test_wide_characters_keep_their_columns(snapshot: SnapshotAssertion) -> None:
    said = shown(Report(findings=(wide(),)), width=80)
    assert said == snapshot
    code, marks = said.splitlines()[2:4]
    start = cell_len(code[: code.index("输出.detach()")])
    assert marks[start:].startswith("^" * cell_len("输出.detach()"))


def test_what_follows_and_what_is_noted(snapshot: SnapshotAssertion) -> None:
    from dataclasses import replace

    other = replace(wide(), severity="note", certainty="proven")
    note = Message("words.own-fault", {"error": "LookupError: [bold]x[/bold]"})
    assert shown(Report(findings=(replace(argmax(), related=(other,)),), notes=(note,)), width=80) == snapshot


def test_plain_text_has_no_escapes_and_colour_has() -> None:
    report = Report(findings=(argmax(),))
    assert "\x1b" not in shown(report, width=80)
    assert "\x1b[" in shown(report, width=80, colour=True)


def test_an_empty_report_says_nothing() -> None:
    assert shown(Report(examined={"operations": 3})) == ""


def test_a_file_that_is_gone_still_gives_a_report(tmp_path: Path) -> None:
    (tmp_path / "train.py").unlink()
    assert "error[argmax]" in shown(Report(findings=(argmax(),)), width=80)


def test_formats_are_found_by_walking_the_folder() -> None:
    assert {"text", "json"} <= set(formats.names())
