"""The words and figures that the reports for people share, as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gradwhy.catalog import load, render
from gradwhy.findings import Argument, Message, Report, Verification
from gradwhy.report import parameters
from gradwhy.source.snippet import printable

TABLE_HEAD = ("name", "what", "optimizer", "gradient", "change")


def word(key: str, language: str) -> str:
    """A word of the interface, in English where the language has none."""
    return load.words(language).get(key, load.words("en").get(key, key))


def facts_of(subject: str, facts: Mapping[str, object]) -> str:
    """What was seen of one value: ``logits: requires_grad True, shape (32, 10)``."""
    shown: list[str] = []
    for key, value in facts.items():
        if key == "requires_grad":
            shown.append(f"requires_grad {value}")
        elif key in ("shape", "dtype", "grad_fn"):
            shown.append(f"shape {_shape(value)}" if key == "shape" else str(value).removeprefix("torch."))
        else:
            shown.append(f"{key} {value}")
    return f"{render.one_line(subject, 40)}: {', '.join(shown)}"


def tried(verification: Verification, language: str) -> str:
    """What came of trying a fix."""
    key = "verified-ended" if verification.ended else "verified" if verification.passed else "failed"
    counts: dict[str, Argument] = {
        "trained": verification.trained,
        "trainable": verification.trainable,
        "changed": verification.changed,
        "failure": verification.failure or "no gradient arrived",
    }
    return render.sentence(Message(f"words.{key}", counts), language)


def table_line(row: parameters.Row, language: str) -> list[str]:
    """One line of the audit's table."""
    what = str(row.shape) if row.shape is not None else str(row.count)
    status = word(f"status-{row.status}", language)
    norm = _norms(row.norms) if row.status in ("trains", "unchanged") else ""
    if row.without and row.status == "trains":
        status = f"{row.steps - row.without}/{row.steps}"
    return [printable(row.name), what, row.group, norm or status, _changes(row.changes, row)]


def table_conclusion(report: Report, language: str) -> Iterator[str]:
    """What stands under the audit's table."""
    counts: dict[str, Argument] = dict(report.examined)
    key = "audited" if report.findings else "audited-clean"
    yield render.sentence(Message(f"words.{key}", counts), language)
    intended = [
        render.sentence(Message(f"words.intended-{kind}", counts), language)
        for kind in ("frozen", "unused", "in_no_optimizer")
        if report.examined.get(kind)
    ]
    if intended:
        yield render.sentence(Message("words.intended", {"list": word("comma", language).join(intended)}), language)


def _norms(values: tuple[float, float]) -> str:
    low, high = values
    return f"{high:.1e}" if low == high else f"{low:.1e} … {high:.1e}"


def _changes(values: tuple[float, float], row: parameters.Row) -> str:
    if row.status not in ("trains", "unchanged", "zero", "none", "frozen-changed") or not row.group:
        return ""
    low, high = (f"{value:.2%}" if value else "0" for value in values)
    return high if low == high else f"{low} … {high}"


def _shape(value: object) -> str:
    return str(value) if isinstance(value, tuple) else str(tuple(value) if isinstance(value, Iterable) else value)
