"""What a pasted text holds: the exceptions in it, each with its class, its text and the lines that its traceback shows.

It may come from a terminal, a notebook, pytest, rich or a log: colours, frames of boxes, and what stands before each line (a
rank, a time, a level) are taken off. Nothing is opened and nothing is run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# Colour codes, whole, as JSON has them, or with their first character lost on the way.
_COLOUR = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|(?:\x1b|\\u001b|\\x1b|\\033|\\e)\[[0-?]*[ -/]*[@-~]|\x1b[@-_]|\[(?:\d{1,3};)*\d{1,3}m"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
# What launchers and logs put before a line. Only the start of a line is looked at, and what is left keeps its indent.
_BEFORE = re.compile(
    r"""
    \s*\[(?:rank|default|local_rank|proc|worker)?\s?:?\s?\d+\]:\s?     # torchrun: [rank0]: and [default0]:
    | \s*\[\d+,\d+\]<std(?:err|out)>:\s?                                # mpirun
    | \(\w+\s(?:pid|rank)=\d+(?:,\sip=[\d.]+)?\)\s                       # Ray
    | \d{1,3}:\s(?=\s*(?:Traceback|File\s|\w*Error|\w*Exception|\s{2}))  # srun --label
    | \[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?[\s:|-]*
    | [IWEF]\d{4}\s[\d:.]+\s+\d+\s[\w./-]+:\d+\]\s?                      # glog
    | \[[\w.]+\]\[(?:ERROR|CRITICAL|WARNING|INFO|DEBUG)\][\s:|-]*
    | \[?(?:ERROR|CRITICAL|WARNING|FATAL)\]?\s*(?::[\w.]*:|:|\||-)\s?
    | \s*[│┃|]\s?                                                        # the frame of a box, an exception group
    | [\w.-]+(?:_\d+|-\d+)?\s+\|\s                                        # docker compose
    """,
    re.X,
)
_BOX = re.compile(r"^\s*[╭╰┌└+][─━-].*$|\s*[│┃]\s*$")
_HEAD = re.compile(r"^\s*(?:Traceback \(most recent call last\)|-{20,}$|_{3,} .* _{3,}$)")
_CHAINED = re.compile(
    r"^\s*(?:During handling of the above exception|The above exception was the direct cause|from user code:$"
    r"|The following exception)"
)
_USER_CODE = "from user code:"
_FILE = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?')
_NOTEBOOK = re.compile(
    r"^(?:File (?P<file>\S.*?):(?P<line>\d+)|(?P<cell>(?:Cell |Input )?In ?\[\d+\])(?:, line (?P<cell_line>\d+)))?"
    r"(?:, in (?P<function>\S.*?)(?:\(.*)?)?$"
)
_OLD_NOTEBOOK = re.compile(r"^(?P<file><ipython-input-[^>]*>|[~/\w].*?\.py) in (?P<function>[\w<>.]+)\(?.*$")
_ARROW = re.compile(r"^\s*(?P<arrow>-+>|❱|)\s*(?P<line>\d+)(?P<source>\s.*|)$")
_PYTEST_AT = re.compile(r"^(?P<file>[^\s:][^:]*\.py):(?P<line>\d+):(?: (?P<rest>\S.*))?$")
_RICH_AT = re.compile(r"^(?P<file>\S.*\.py):(?P<line>\d+) in (?P<function>\S+)\s*$")
_MARKS = re.compile(r"^(?=\s*[~^])[\s~^]+$")
_CLASS = (
    r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Unsupported|Failed|Interrupt|Exit|Iteration|Group)"
    r"|(?:[a-z_]\w*\.)+[A-Z]\w*"
)
_RAISED = re.compile(rf"^\s*(?P<kind>{_CLASS})(?::\s?(?P<text>.*))?$")
_WARNING = re.compile(r"^(?P<file>\S.*?):(?P<line>\d+): (?P<kind>\w*Warning): (?P<text>.*)$")
_SUMMARY = re.compile(r"^(?:FAILED|ERROR) \S+ - (?P<rest>.+)$")
_LINES_AT_MOST = 20_000
_COLUMNS_AT_MOST = 4_000
_MESSAGE_LINES = 60
_NEAR = 8


@dataclass(frozen=True, slots=True)
class Shown:
    """A line of a program that a traceback shows; ``at`` where the program was at it, not only near."""

    file: str
    line: int
    function: str
    source: str
    at: bool = True


@dataclass(slots=True)
class Ending:
    """One exception or warning of a text: the name of its class ("" where none is given), its text, and its lines."""

    kind: str = ""
    text: str = ""
    lines: list[Shown] = field(default_factory=list)

    @property
    def whole(self) -> str:
        """As Python prints it."""
        return f"{self.kind}: {self.text}" if self.kind else self.text


def endings(pasted: str) -> list[Ending]:
    """The exceptions in a text, in the order in which they stand there. A text without any is a message by itself."""
    reader = _Reader()
    raw = [_COLOUR.sub("", line[:_COLUMNS_AT_MOST]) for line in pasted.splitlines()[-_LINES_AT_MOST:]]
    if all(line.startswith(">") for line in raw if line.strip()):
        raw = [line[2:] if line.startswith("> ") else line[1:] for line in raw]  # quoted in a mail
    lines = [_bare(line) for line in raw]
    for line in lines:
        reader.read(line)
    reader.end()
    if reader.found:
        return reader.found
    first = next((index for index, line in enumerate(lines) if (raised := _RAISED.match(line)) and raised["text"]), 0)
    alone = "\n".join(lines[first : first + _MESSAGE_LINES]).strip()
    match = _RAISED.match(alone.partition("\n")[0])
    kind = match["kind"].rpartition(".")[2] if match else ""
    return [Ending(kind, alone[match.start("text") :] if match and match["text"] is not None else alone, reader.lines)]


def _bare(line: str) -> str:
    """A line without what a launcher, a log or a box has put around it."""
    line = _BOX.sub("", line.replace("\r", ""))
    for _ in range(4):
        match = _BEFORE.match(line)
        if match is None or match.end() == 0:
            break
        line = line[match.end() :]
    return _CONTROL.sub("", line.replace("\t", "    ")).rstrip()


class _Reader:
    """Reads line by line: frames, their source lines, then the exception."""

    def __init__(self) -> None:
        self.found: list[Ending] = []
        self.lines: list[Shown] = []
        self.said: list[str] | None = None  # the text of the exception that is being read
        self.place: tuple[str, int, str] | None = None  # the frame whose source comes next
        self.fresh = False  # no line of that frame was read yet
        self.near: list[str] = []  # lines of a function, as pytest shows them before the one that failed
        self.tested = False  # in pytest's own form

    def read(self, line: str) -> None:
        if line.startswith("E   ") and self.pytest(line[4:].removeprefix("   ").lstrip(" ")):
            return
        if _HEAD.match(line) or _CHAINED.match(line):
            self.close(keep=line.strip() == _USER_CODE)
            self.place = None
            self.near = []
        elif not (self.frame(line) or self.source(line) or self.exception(line)) and self.said is not None:
            self.said.append(line)
            if len(self.said) > _MESSAGE_LINES:
                self.close()

    # -- frames

    def frame(self, line: str) -> bool:
        match = _FILE.match(line) or _RICH_AT.match(line)
        if match is not None:
            self.start(match["file"], int(match["line"]), match["function"] or "")
            return True
        match = _NOTEBOOK.match(line) if line.startswith(("File ", "Cell In", "In [", "Input In")) else None
        if match is not None and (match["file"] or match["cell"]):
            number = match["line"] or match["cell_line"] or "0"
            self.start(match["file"] or match["cell"], int(number), match["function"] or "")
            return True
        match = _OLD_NOTEBOOK.match(line)
        if match is not None:
            self.start(match["file"], 0, match["function"])
            return True
        match = _PYTEST_AT.match(line)
        if match is None or _WARNING.match(line):
            return False
        rest = match["rest"] or ""
        if rest.startswith("in "):
            self.start(match["file"], int(match["line"]), rest.removeprefix("in "))
        else:
            self.name_place(match["file"], int(match["line"]))
        return True

    def name_place(self, file: str, number: int) -> None:
        """pytest names the place under its lines, and under the exception."""
        self.close()
        lines = self.lines or (self.found[-1].lines if self.found else [])
        nameless = [index for index, shown in enumerate(lines) if not shown.file]
        for index in nameless:
            shown = lines[index]
            lines[index] = Shown(file, number + index - nameless[-1], shown.function, shown.source, shown.at)

    def start(self, file: str, line: int, function: str) -> None:
        if self.said is not None:
            # What a compiler writes under its message: where it was in the user's program.
            self.close(keep=True)
        self.place, self.fresh = (file, line, function), True

    def source(self, line: str) -> bool:
        if line.startswith(">  ") and line[1:].strip():
            self.close()
            self.lines += [Shown("", 0, "", near, False) for near in self.near[-_NEAR:]]
            self.lines.append(Shown("", 0, "", line[1:].strip()))
            self.near = []
            return True
        if self.place is None:
            if line.startswith("    ") and self.said is None:
                self.near.append(line.strip())
            return False
        file, number, function = self.place
        match = _ARROW.match(line)
        if match is not None and (match["source"].strip() or match["arrow"]):
            at = bool(match["arrow"]) or int(match["line"]) == number
            self.lines.append(Shown(file, int(match["line"]), function, match["source"].strip(), at))
            return True
        if _MARKS.match(line):
            return True
        if number and line.startswith("  "):
            # A statement may be shown on several lines, the first of them by its number.
            further = self.lines[-1].line + 1 if self.lines and self.continues(self.lines[-1]) else number
            self.lines.append(Shown(file, further, function, line.strip()))
            self.fresh = False
            return True
        if line.strip():
            self.place = None
        return False

    def continues(self, shown: Shown) -> bool:
        return not self.fresh and (shown.file, shown.function) == (self.place or ("", 0, ""))[::2]

    # -- exceptions

    def exception(self, line: str) -> bool:
        warning = _WARNING.match(line)
        if warning is not None:
            self.close()
            self.place = (warning["file"], int(warning["line"]), "")
            self.found.append(Ending(warning["kind"], warning["text"]))
            self.lines = self.found[-1].lines
            self.said = None
            return True
        summary = _SUMMARY.match(line)
        raised = _RAISED.match(summary["rest"] if summary else line)
        if raised is None or (line.startswith("  ") and self.said is not None):
            return False
        if not (self.lines or self.place or self.found or summary or self.said is not None):
            return False
        if summary and self.found:
            return True  # the same again, shortened
        self.close()
        self.open(raised["kind"], raised["text"] or "")
        return True

    def pytest(self, said: str) -> bool:
        if not self.tested:
            raised = _RAISED.match(said)
            self.close()
            self.open(raised["kind"] if raised else "", (raised["text"] or "") if raised else said)
            self.tested = True
        elif self.said is not None:
            self.said.append(said)
        return True

    def open(self, kind: str, first: str) -> None:
        self.found.append(Ending(kind.rpartition(".")[2], "", self.lines))
        self.said, self.lines, self.place = [first], [], None

    def close(self, keep: bool = False) -> None:
        """The exception that was being read is complete; with ``keep``, the lines that follow are its own too."""
        self.tested = False
        if self.said is not None:
            self.found[-1].text = "\n".join(self.said).strip()
            self.said = None
            if keep:
                self.lines = self.found[-1].lines
        elif not keep and self.found and self.lines is self.found[-1].lines:
            self.lines = []

    def end(self) -> None:
        self.close(keep=True)
