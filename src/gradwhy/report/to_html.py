"""The report as HTML: a page of its own, or a piece for a notebook. No script, no link to elsewhere, all text escaped."""

from __future__ import annotations

import html
from collections.abc import Iterator

from gradwhy.catalog import load, render
from gradwhy.findings import Finding, Fix, Location, Message, Report, Step
from gradwhy.report import parameters, places, wording
from gradwhy.report.formats import Look
from gradwhy.source import edits
from gradwhy.source.locating import source_of
from gradwhy.source.snippet import printable

# Colours that stand on white and on black. Styles are written on each tag: a notebook that is not trusted loses <style>.
_RED, _GREEN, _YELLOW = "#d1433a", "#2e9949", "#b8860b"
_SEVERITY = {"error": _RED, "warning": _YELLOW}
_BAD = frozenset({"none", "zero", "not-finite", "left-out"})
_CHANGES_SHOWN = 12
_CODE = "font-family:monospace;white-space:pre"
_QUIET = "opacity:0.7"


def write(report: Report, look: Look) -> str:
    """A whole page; "" where there is neither a finding nor a note."""
    body = fragment(report, look)
    if not body:
        return ""
    head = '<meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>gradwhy</title>'
    return f'<!doctype html>\n<html lang="{look.language}"><head>{head}</head>\n<body>{body}</body></html>\n'


def fragment(report: Report, look: Look) -> str:
    """One <div>; "" where there is neither a finding nor a note."""
    page = _Page(look)
    parts = [page.finding(finding) for finding in report.findings]
    if report.parameters:
        parts.append(page.table(report, look.every_row))
    rest = [
        page.labelled("skipped", f"{page.say(why)} ({page.place(at)})")
        for at, why in (report.skipped if report.findings or report.notes else ())
    ]
    rest += [page.labelled("note", page.say(note)) for note in report.notes]
    if rest:
        parts.append(_tag("table", "".join(rest), "border:0"))
    if not parts:
        return ""
    return _tag("div", "".join(parts), "font-size:90%;line-height:1.4;text-align:left", "gradwhy")


def escaped(text: str) -> str:
    """Text from outside as HTML, without control characters but for line ends."""
    return html.escape("\n".join(printable(line) for line in text.split("\n")), quote=True)


class _Page:
    def __init__(self, look: Look) -> None:
        self.language = look.language
        self._told: set[str] = set()

    # -- pieces

    def word(self, key: str) -> str:
        return escaped(wording.word(key, self.language))

    def say(self, message: Message) -> str:
        return _quoted(render.sentence(message, self.language))

    def place(self, at: Location) -> str:
        return escaped(places.place(at, self.language, short=True))

    def labelled(self, key: str, said: str, colour: str = "") -> str:
        label = _tag("td", self.word(key) if key else "", f"{_LABEL};color:{colour}" if colour else _LABEL)
        return _tag("tr", label + _tag("td", said, _CELL), _ROW)

    # -- one finding

    def finding(self, finding: Finding) -> str:
        lines = list(self._facts(finding))
        more = _tag("table", "".join(lines), "border:0;margin:0.3em 0") if lines else ""
        return _tag("div", self._headline(finding) + self._path(finding) + more, "margin:0.5em 0 1em 0")

    def _headline(self, finding: Finding) -> str:
        word = self.word("likely" if finding.certainty == "likely" else finding.severity)
        kind = _tag("b", f"{word}[{escaped(finding.cause)}]", f"color:{_SEVERITY.get(finding.severity, 'inherit')}")
        place = _tag("span", escaped(places.place(finding.at, self.language)), f"{_QUIET};margin-left:1em")
        return _tag("div", f"{kind} {self.say(finding.message)}{place}", "")

    def _path(self, finding: Finding) -> str:
        rows: list[str] = []
        several = len({places.room_key(step.at) for step in finding.path}) > 1
        room = None
        for step in finding.path:
            if several and places.room_key(step.at) != room:
                room = places.room_key(step.at)
                name = escaped(places.room(step.at, finding.at, self.language))
                cells = _tag("td", "", _CELL) + _tag("td", name, f"{_CELL};{_QUIET}") + _tag("td", "", _CELL)
                rows.append(_tag("tr", cells, _ROW))
            rows.append(self._step(step, finding))
        return _tag("table", "".join(rows), "border:0;margin:0.3em 0") if rows else ""

    def _step(self, step: Step, finding: Finding) -> str:
        blamed = places.line_key(step.at) == places.line_key(finding.at)
        number = _tag("td", str(step.at.line), f"{_CELL};{_QUIET};text-align:right")
        code = _tag("td", _marked(step.at, blamed), f"{_CELL};{_CODE}" + (";font-weight:bold" if blamed else ""))
        note = self.say(step.note) if step.note is not None else ""
        beside = _tag("td", note, f"{_CELL};" + (f"color:{_RED}" if blamed else _QUIET))
        return _tag("tr", number + code + beside, _ROW)

    def _facts(self, finding: Finding) -> Iterator[str]:
        seen = [wording.facts_of(item.subject, item.facts) for item in finding.evidence if item.claim is None]
        if seen:
            yield self.labelled("seen", escaped("; ".join(seen)))
        for item in finding.evidence:
            if item.claim is not None:
                where = f" ({self.place(item.at)})" if item.at is not None else ""
                yield self.labelled("note", self.say(item.claim) + where)
        for fix in finding.fixes:
            yield self.labelled("fix" if fix.edits else "try", self._fix(fix), _GREEN)
        for other in finding.related:
            place = escaped(places.place(other.at, self.language))
            yield self.labelled("also", f"{place} <b>[{escaped(other.cause)}]</b> {self.say(other.message)}")
        if finding.cause not in self._told and load.family(finding.cause):
            self._told.add(finding.cause)
            yield self.labelled("more", f"<code>gradwhy explain {escaped(finding.cause)}</code>")

    def _fix(self, fix: Fix) -> str:
        said = self.say(fix.title)
        if fix.verification is not None:
            colour = _GREEN if fix.verification.passed else _YELLOW
            said += _tag("div", escaped(wording.tried(fix.verification, self.language)), f"color:{colour}")
        for place in dict.fromkeys((edit.file, edit.cell) for edit in fix.edits):
            mine = [edit for edit in fix.edits if (edit.file, edit.cell) == place]
            source = source_of(mine[0])
            if source is not None:
                changes = list(edits.changed_lines(source.text, edits.apply(source.text, mine)))
                shown = [
                    _tag("div", f"{number:>4} {sign} {escaped(line)}", f"color:{_GREEN if sign == '+' else _RED}")
                    for sign, number, line in changes[:_CHANGES_SHOWN]
                ]
                if len(changes) > _CHANGES_SHOWN:
                    shown.append(_tag("div", f"… {len(changes) - _CHANGES_SHOWN}", _QUIET))
                said += _tag("div", "".join(shown), _CODE)
        return said

    # -- the audit's table

    def table(self, report: Report, every: bool) -> str:
        head = _tag("tr", "".join(_tag("th", self.word(f"table-{key}"), _CELL) for key in wording.TABLE_HEAD), _ROW)
        rows = []
        for row in parameters.rows(report.parameters, every):
            colour = f";color:{_RED}" if row.status in _BAD else ""
            cells = (_tag("td", escaped(cell), _CELL + colour) for cell in wording.table_line(row, self.language))
            rows.append(_tag("tr", "".join(cells), _ROW))
        said = "".join(_tag("div", _quoted(line), "") for line in wording.table_conclusion(report, self.language))
        return _tag("table", head + "".join(rows), "border:0;margin:0.5em 0") + said


_CELL = "border:0;padding:0 0.8em 0 0;text-align:left;vertical-align:top;background:none"
_LABEL = f"{_CELL};font-weight:bold;white-space:nowrap"
_ROW = "border:0;background:none"


def _tag(name: str, inner: str, style: str, kind: str = "") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    of_style = f' style="{style}"' if style else ""
    return f"<{name}{of_kind}{of_style}>{inner}</{name}>"


def _quoted(sentence: str) -> str:
    """A sentence whose quoted parts are the user's own text."""
    parts = sentence.split("`")
    return "".join(f"<code>{escaped(p)}</code>" if i % 2 else escaped(p) for i, p in enumerate(parts))


def _marked(at: Location, blamed: bool) -> str:
    """A line of the program, the expression at fault underlined."""
    source = source_of(at)
    if source is None:
        return ""
    raw = source.line(at.line)
    indent = len(raw) - len(raw.lstrip())
    if not blamed or at.end_column is None:
        return escaped(raw.strip())
    end = at.end_column if at.end_line in (None, at.line) else len(raw.rstrip()) + 1
    start = max(at.column - 1, indent)
    mark = _tag("span", escaped(raw[start : end - 1]), f"color:{_RED};text-decoration:underline")
    return escaped(raw[indent:start]) + mark + escaped(raw[end - 1 :].rstrip())
