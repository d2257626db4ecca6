"""A page of Markdown as text for a terminal of a given width, with or without colours.

It knows what the catalogue's pages use: headings, paragraphs, lists, `code` and fenced programs. rich could draw them too, but
importing it takes longer than everything else that a page needs.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gradwhy.source.snippet import printable

_FENCE = re.compile(r"^(`{3,})(.*)$")
_CODE = re.compile(r"(`+)(.+?)\1(?!`)")
_STYLES = {"title": "1;36", "heading": "1", "code": "36", "wrong": "31", "right": "32", "dim": "2"}
# Marks that may not begin a line.
_CLOSING = frozenset("，。、；：！？）》」』】”’…,.;:!?)]}")
# Marks that may not end one.
_OPENING = frozenset("（《「『【“‘([{")
_WIDEST = 100
_NARROWEST = 20
_KEPT_WHOLE = 45


@dataclass(frozen=True, slots=True)
class _Atom:
    """What is not broken over two lines: a word, or one Chinese character."""

    text: str
    style: str
    spaced: bool

    @property
    def width(self) -> int:
        return cells(self.text)


def cells(text: str) -> int:
    """The columns that a text takes."""
    return sum(0 if unicodedata.combining(char) else 2 if _wide(char) else 1 for char in text)


def cut(text: str, width: int) -> str:
    """The text, its end left out where it is wider."""
    if cells(text) <= width:
        return text
    while text and cells(text) > width - 1:
        text = text[:-1]
    return text + "…"


def _folded(text: str, width: int) -> Iterator[str]:
    """Lines of at most that width, broken at spaces where there are any; what goes on is indented."""
    while cells(text) > width:
        end = len(cut(text, width)) - 1
        end = text.rfind(" ", len(text) - len(text.lstrip()) + 1, end) + 1 or end
        yield text[:end].rstrip()
        text = "  " + text[end:].lstrip()
    yield text


def _wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in "WF"


def draw(markdown: str, width: int, colour: bool, labels: Mapping[str, str]) -> str:
    """The page, with a final newline; ``labels`` says "wrong" and "right" over the programs.

    Programs keep their lines, however long.
    """
    page = _Page(min(max(width, _NARROWEST), _WIDEST), colour, labels)
    page.read(markdown.split("\n"))
    return "\n".join(line.rstrip() for line in page.lines).strip("\n") + "\n"


class _Page:
    def __init__(self, width: int, colour: bool, labels: Mapping[str, str]) -> None:
        self.width, self.colour, self.labels = width, colour, labels
        self.lines: list[str] = []

    def read(self, lines: list[str]) -> None:
        paragraph: list[str] = []
        rest = iter(lines)
        for line in rest:
            fence = _FENCE.match(line)
            if fence is None and line.strip() and not line.startswith(("#", "- ")):
                paragraph.append(line.strip())
                continue
            self.paragraph(paragraph)
            paragraph = []
            if fence is not None:
                self.program(fence[1], fence[2], rest)
            elif line.startswith("#"):
                self.heading(line)
            elif line.startswith("- "):
                paragraph = [line]
            elif self.lines and self.lines[-1]:
                self.lines.append("")
        self.paragraph(paragraph)

    def styled(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.colour and style and text else text

    def heading(self, line: str) -> None:
        level, _, said = line.partition(" ")
        if self.lines and self.lines[-1]:
            self.lines.append("")
        style = "title" if level == "#" else "heading"
        self.lines += [self.styled(printable(part), style) for part in self.folded(said)]
        if level == "#":
            longest = max((cells(part) for part in self.folded(said)), default=0)
            self.lines += [self.styled("─" * longest, "dim"), ""]

    def folded(self, said: str) -> list[str]:
        plain = _Page(self.width, False, {})
        plain.paragraph([said.replace("`", "")])
        return plain.lines

    def program(self, end: str, info: str, rest: Iterator[str]) -> None:
        kind = next((word for word in info.split() if word in ("wrong", "right")), "")
        if kind:
            self.lines.append("  " + self.styled(self.labels.get(kind, kind), kind))
        for line in rest:
            if line.startswith(end) and not line.strip("`"):
                break
            style = "dim" if line.lstrip().startswith("#") else ""
            shown = printable(line)
            for part in _folded(shown, self.width - 4) if info == "text" else [shown]:
                self.lines.append("    " + self.styled(part, style))

    def paragraph(self, lines: list[str]) -> None:
        """Fills lines up to the width; a list's further lines stand under its first word."""
        if not lines:
            return
        item = lines[0].startswith("- ")
        text = lines[0][2:] if item else lines[0]
        for line in lines[1:]:
            text += ("" if _wide(text[-1:] or " ") and _wide(line[:1] or " ") else " ") + line
        indent = "    " if item else ""
        line, used = ("  - " if item else ""), len(indent)
        empty = True
        atoms = list(self.atoms(text))
        for index, atom in enumerate(atoms):
            gap = 1 if atom.spaced and not empty else 0
            needed = self.needed(atoms, index)
            if not empty and used + gap + needed > self.width and (atom.text not in _CLOSING or atom.spaced):
                self.lines.append(line)
                line, used, gap = indent, len(indent), 0
            line += " " * gap + self.styled(atom.text, atom.style)
            used += gap + atom.width
            empty = False
        self.lines.append(line)

    def needed(self, atoms: list[_Atom], index: int) -> int:
        """How many cells an atom wants, with what may not begin the next line, or would be left by a mark that opens."""
        closing = itertools.takewhile(lambda next: next.text in _CLOSING and not next.spaced, atoms[index + 1 :])
        width = atoms[index].width + sum(mark.width for mark in closing)
        opens = atoms[index].text[-1:] in _OPENING and index + 1 < len(atoms) and not atoms[index + 1].spaced
        return width + (self.needed(atoms, index + 1) if opens else 0)

    def atoms(self, text: str) -> Iterator[_Atom]:
        spaced = False
        for part, style in _parts(text):
            word = ""
            shown = f"`{part}`" if style and not self.colour else part
            if style and cells(shown) <= _KEPT_WHOLE:
                yield _Atom(printable(shown), style, spaced)
                spaced = False
                continue
            for char in shown:
                if char.isspace() or _wide(char):
                    if word:
                        yield _Atom(word, style, spaced)
                        word, spaced = "", False
                    if char.isspace():
                        spaced = True
                    else:
                        yield _Atom(printable(char), style, spaced)
                        spaced = False
                else:
                    word += printable(char)
            if word:
                yield _Atom(word, style, spaced)
                spaced = False


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Plain text and `code` in turn; the style of the latter is "code"."""
    at = 0
    for match in _CODE.finditer(text):
        if match.start() > at:
            yield text[at : match.start()], ""
        code = match[2]
        yield (code[1:-1] if len(match[1]) > 1 and code[:1] == code[-1:] == " " else code), "code"
        at = match.end()
    if at < len(text):
        yield text[at:], ""
