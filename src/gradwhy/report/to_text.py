"""The report for people: what happened on which line, in the width that the terminal has."""

from __future__ import annotations

import io

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from gradwhy.catalog import load, render
from gradwhy.findings import Finding, Fix, Location, Message, Report, Step
from gradwhy.report import parameters, places, wording
from gradwhy.report.formats import Look
from gradwhy.source import edits
from gradwhy.source.locating import source_of
from gradwhy.source.snippet import printable

_NARROWEST_NOTE = 24
_LABEL = 6
_CHANGES_SHOWN = 12


def write(report: Report, look: Look) -> str:
    """The text, or "" where there is neither a finding nor a note."""
    page = _Page(look)
    for finding in report.findings:
        page.finding(finding)
    if report.parameters:
        page.table(report, look.every_row)
    for at, why in report.skipped if report.findings or report.notes else ():
        page.labelled(page.word("skipped"), page.claim(why, at), "dim")
    for note in report.notes:
        page.labelled(page.word("note"), Text(render.sentence(note, look.language)), "dim")
    return page.text()


class _Page:
    def __init__(self, look: Look) -> None:
        self.look = look
        self.width = max(look.width, 40)
        self.lines: list[Text] = []
        self.told: set[str] = set()  # causes whose page was named

    def text(self) -> str:
        out = io.StringIO()
        console = Console(
            file=out,
            width=self.width + 1,
            force_terminal=self.look.colour,
            # Inside a notebook's cell it would display each line by itself, wherever it is meant to go.
            force_jupyter=False,
            no_color=not self.look.colour,
            color_system="standard" if self.look.colour else None,
            highlight=False,
            emoji=False,
            markup=False,
        )
        for line in self.lines:
            line.rstrip()
            console.print(line, overflow="ignore", no_wrap=True, crop=False, soft_wrap=True)
        return out.getvalue()

    def word(self, key: str) -> str:
        return wording.word(key, self.look.language)

    def say(self, message: Message) -> Text:
        """A sentence with the user's own text set apart."""
        return _quoted(render.sentence(message, self.look.language))

    # -- one finding

    def finding(self, finding: Finding) -> None:
        self.headline(finding)
        self.path(finding)
        seen = [wording.facts_of(item.subject, item.facts) for item in finding.evidence if item.claim is None]
        if seen:
            self.labelled(self.word("seen"), Text("; ".join(seen)))
        for item in finding.evidence:
            if item.claim is not None:
                self.labelled(self.word("note"), self.claim(item.claim, item.at))
        for fix in finding.fixes:
            self.fix(fix)
        for other in finding.related:
            self.related(other)
        if finding.cause not in self.told and load.family(finding.cause):
            self.told.add(finding.cause)
            self.labelled(self.word("more"), Text(f"gradwhy explain {finding.cause}"), "dim")

    def headline(self, finding: Finding) -> None:
        likely = finding.certainty == "likely"
        style = {"error": "bold red", "warning": "bold yellow"}.get(finding.severity, "bold")
        head = Text()
        word = self.word("likely") if likely else self.word(finding.severity)
        head.append(f"{word}[{finding.cause}]", style)
        head.append(" ")
        head.append_text(self.say(finding.message))
        place = Text(places.place(finding.at, self.look.language), "dim")
        gap = self.width - head.cell_len - place.cell_len
        if gap >= 2:
            self.lines.append(head + Text(" " * gap) + place)
            return
        self.lines += _wrapped(head, self.width)
        self.lines.append(Text("  ") + place)

    def path(self, finding: Finding) -> None:
        shown = [(step, self.code_of(step.at)) for step in finding.path]
        gutter = max((len(str(step.at.line)) for step, _ in shown), default=1) + 2
        longest = max((cell_len(code) for _, code in shown), default=0)
        room = self.width - gutter - 3
        code_width = min(longest, max(room - _NARROWEST_NOTE - 10, room * 55 // 100))
        beside = room - code_width - 3 >= _NARROWEST_NOTE
        room_of = None
        several = len({places.room_key(step.at) for step, _ in shown}) > 1
        for step, code in shown:
            here = places.room_key(step.at)
            if several and here != room_of:
                name = places.room(step.at, finding.at, self.look.language)
                self.lines.append(Text(f"{'':{gutter}} . {name}", "dim"))
            room_of = here
            self.step(step, code, finding, gutter, code_width if beside else room, beside)

    def step(self, step: Step, code: str, finding: Finding, gutter: int, code_width: int, beside: bool) -> None:
        blamed = places.line_key(step.at) == places.line_key(finding.at)
        head = Text(f"{step.at.line:>{gutter}} | ", "bold blue" if blamed else "blue")
        cut = set_cell_size(code, code_width - 1) + "…" if cell_len(code) > code_width else code
        head.append(cut, "bold" if blamed else "")
        note = self.say(step.note) if step.note is not None else Text()
        note.stylize("red" if blamed else "dim")
        if beside:
            head.append(" " * (code_width - cell_len(cut) + 3))
            start = gutter + 3 + code_width + 3
            first, *rest = _wrapped(note, self.width - start) or [Text()]
            self.lines.append(head + first)
            marks = self.marks(step, code, code_width) if blamed else None
            below = f"{'':{gutter}} | "
            if marks is not None:
                line = Text(below, "blue")
                line.append(marks, "bold red")
                line.append(" " * (code_width - cell_len(marks) + 3))
                self.lines.append(line + (rest.pop(0) if rest else Text()))
            self.lines += [Text(f"{'':{gutter}} | ", "blue") + Text(" " * (code_width + 3)) + more for more in rest]
        else:
            self.lines.append(head)
            marks = self.marks(step, code, code_width) if blamed else None
            if marks is not None:
                self.lines.append(Text(f"{'':{gutter}} | ", "blue") + Text(marks, "bold red"))
            self.lines += [Text(f"{'':{gutter}}     ") + part for part in _wrapped(note, self.width - gutter - 5)]

    def code_of(self, at: Location) -> str:
        source = source_of(at)
        return printable(source.line(at.line).strip()) if source is not None else ""

    def marks(self, step: Step, code: str, code_width: int) -> str | None:
        """Carets under the expression at fault, counted in terminal cells."""
        at = step.at
        source = source_of(at)
        if source is None or at.end_column is None:
            return None
        raw = source.line(at.line)
        indent = len(raw) - len(raw.lstrip())
        end = at.end_column if at.end_line in (None, at.line) else len(raw.rstrip()) + 1
        before = cell_len(printable(raw[indent : max(at.column - 1, indent)]))
        length = cell_len(printable(raw[max(at.column - 1, indent) : end - 1]))
        length = min(length, code_width - before)
        return " " * before + "^" * length if length > 0 else None

    def claim(self, claim: Message, at: Location | None) -> Text:
        said = self.say(claim)
        return said.append(f" ({places.place(at, self.look.language, short=True)})") if at is not None else said

    def fix(self, fix: Fix) -> None:
        self.labelled(self.word("fix" if fix.edits else "try"), self.say(fix.title), "bold green")
        tried = fix.verification
        if tried is not None:
            self.labelled("", Text(wording.tried(tried, self.look.language), "green" if tried.passed else "yellow"))
        for place in dict.fromkeys((edit.file, edit.cell) for edit in fix.edits):
            mine = [edit for edit in fix.edits if (edit.file, edit.cell) == place]
            source = source_of(mine[0])
            if source is None:
                continue
            after = edits.apply(source.text, mine)
            changes = list(edits.changed_lines(source.text, after))
            for sign, number, line in changes[:_CHANGES_SHOWN]:
                shown = f"{number:>{_LABEL + 1}} {sign} {printable(line)}"
                cut = set_cell_size(shown, self.width - 1) + "…" if cell_len(shown) > self.width else shown
                self.lines.append(Text(cut, "green" if sign == "+" else "red"))
            if len(changes) > _CHANGES_SHOWN:
                self.lines.append(Text(f"{'':{_LABEL + 1}} … {len(changes) - _CHANGES_SHOWN}", "dim"))

    def related(self, other: Finding) -> None:
        said = Text(f"{places.place(other.at, self.look.language)} ", "dim")
        said.append(f"[{other.cause}] ", "bold")
        said.append_text(self.say(other.message))
        self.labelled(self.word("also"), said)

    # -- the audit's table

    def table(self, report: Report, every: bool) -> None:
        if self.lines:
            self.lines.append(Text())
        shown = list(parameters.rows(report.parameters, every))
        cells = [wording.table_line(row, self.look.language) for row in shown]
        head = [self.word(f"table-{key}") for key in wording.TABLE_HEAD]
        widths = [max(cell_len(line[i]) for line in [head, *cells]) for i in range(len(head))]
        spare = self.width - 2 - sum(widths[1:]) - 2 * (len(widths) - 1)
        widths[0] = max(min(widths[0], spare), 12)
        for number, line in enumerate([head, *cells]):
            style = "dim" if number == 0 else _STATUS_STYLE.get(shown[number - 1].status, "")
            if cell_len(line[0]) > widths[0]:
                line[0] = "…" + line[0][-(widths[0] - 1) :]
            text = "  ".join(set_cell_size(cell, width) for cell, width in zip(line, widths))
            self.lines.append(Text("  " + text, style))
        self.lines.append(Text())
        for said in wording.table_conclusion(report, self.look.language):
            self.lines += _wrapped(_quoted(said), self.width)

    def labelled(self, label: str, said: Text, style: str = "bold") -> None:
        parts = _wrapped(said, self.width - _LABEL - 2)
        for index, part in enumerate(parts):
            head = Text("  ")
            head.append(set_cell_size(label if index == 0 else "", _LABEL), style)
            self.lines.append(head + part)


_STATUS_STYLE = {
    "none": "red", "zero": "red", "not-finite": "red", "left-out": "red", "unchanged": "yellow", "frozen-changed": "yellow",
    "frozen": "dim", "idle": "dim",
}  # fmt: skip


def _quoted(sentence: str) -> Text:
    result = Text()
    for index, part in enumerate(sentence.split("`")):
        result.append(f"`{part}`" if index % 2 else part, "cyan" if index % 2 else "")
    return result


def _wrapped(said: Text, width: int) -> list[Text]:
    console = Console(width=max(width, 10), file=io.StringIO(), force_jupyter=False)
    return [line for line in said.wrap(console, max(width, 10)) if line.cell_len] if said.cell_len else []
