"""``gradwhy explain``: what a name, a message or a pasted traceback means, and what to do. Reads the catalogue, runs nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from gradwhy.catalog import answer as answers
from gradwhy.catalog import likely, load, page, render
from gradwhy.catalog.answer import Answer
from gradwhy.cli import _page
from gradwhy.findings import Code, Message
from gradwhy.report import delivery

FOUND, NOTHING = 0, 1
_BYTES_AT_MOST = 4_000_000


@click.command("explain", short_help="Say what a cause, a message or a pasted traceback means, and what to do.")
@click.option(
    "--file", "file", metavar="FILE", type=click.Path(path_type=Path), help="Read the message or traceback from FILE."
)
@click.option("--format", "format_name", type=click.Choice(["json", "md", "text"]), default="text", show_default=True)
@click.option("--lang", type=click.Choice(["en", "zh"]), help="Language of the page; default from the locale.")
@click.option("--all", "all_causes", is_flag=True, help="Name every cause of a symptom, not only the first ones.")
@click.option("--list", "listed", is_flag=True, help="List all entries with their titles.")
@click.option("--search", "searched", is_flag=True, help="List the entries that have all these words.")
@click.argument("asked", metavar="NAME | TEXT | -", nargs=-1)
def command(
    file: Path | None,
    format_name: str,
    lang: str | None,
    all_causes: bool,
    listed: bool,
    searched: bool,
    asked: tuple[str, ...],
) -> int:
    """Explain a symptom, cause or recipe by NAME (argmax, no-graph, torch.max, pinn), a message or traceback by its
    TEXT, or what stands on standard input (-). Exits 0 where it is known, 1 where nothing matches, 2 on a usage error.
    """
    language = render.language_of(lang)
    if (
        listed + searched + (file is not None) > 1
        or (asked and (listed or file is not None))
        or (searched and not asked)
    ):
        raise click.UsageError("give one of: NAME or TEXT, -, --file FILE, --list, --search WORDS")
    if listed or searched:
        words = [word for each in asked for word in each.split()]
        return _list(answers.search(words, language) if searched else list(answers.every_name()), format_name, language)
    if not asked and file is None:
        raise click.UsageError(
            "what is to be explained? A name, a message, or - for standard input; --list shows the names"
        )
    text = _read(file) if file is not None or asked == ("-",) else " ".join(asked)
    if not text.strip():
        delivery.say(f"gradwhy: {render.sentence(Message('words.explain-empty'), language)}")
        return NOTHING
    by_name = answers.by_name(text) if file is None and asked != ("-",) else None
    found = by_name or answers.by_text(text)
    if found is None:
        _not_found(text, language)
        return NOTHING
    if format_name == "json":
        delivery.say(json.dumps(_facts(found, language), indent=2, ensure_ascii=False), sys.stdout)
        return FOUND
    _show(page.markdown(found, language, all_causes), format_name, language)
    return FOUND


def _read(file: Path | None) -> str:
    """A file or standard input, in UTF-8, or UTF-16 where its first bytes say so (as PowerShell writes it)."""
    try:
        if file is not None:
            with file.open("rb") as opened:
                content = opened.read(_BYTES_AT_MOST)
        else:
            content = sys.stdin.buffer.read(_BYTES_AT_MOST)
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror or error}") from None
    return content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "replace")


def _show(markdown: str, format_name: str, language: str) -> None:
    if format_name == "text":
        words = load.words(language)
        labels = {kind: words[f"explain-{kind}"] for kind in ("wrong", "right")}
        markdown = _page.draw(markdown, delivery.columns(sys.stdout), delivery.in_colour(sys.stdout), labels)
    delivery.say(markdown, sys.stdout)


def _list(names: list[str], format_name: str, language: str) -> int:
    rows = [(load.family(name), name, likely.title(name, language)) for name in names]
    if format_name == "json":
        data = [{"name": name, "family": family, "title": title} for family, name, title in rows]
        delivery.say(json.dumps({"schema": 1, "entries": data}, indent=2, ensure_ascii=False), sys.stdout)
        return FOUND if rows else NOTHING
    width = max((len(name) for name in names), default=0)
    lines: list[str] = []
    for family in load.FAMILIES:
        mine = [row for row in rows if row[0] == family]
        if not mine:
            continue
        heading = load.words(language)[f"explain-list-{family}"]
        lines += ["", f"## {heading}"] if format_name == "md" else ["", heading]
        for _, name, title in mine:
            lines.append(f"- `{name}` {title}" if format_name == "md" else f"  {name:<{width}}  {title}")
    if format_name == "text" and sys.stdout.isatty():
        lines = [_page.cut(line, delivery.columns(sys.stdout)) for line in lines]
    if lines:
        delivery.say("\n".join(lines[1:]), sys.stdout)
    return FOUND if rows else NOTHING


def _not_found(text: str, language: str) -> None:
    from gradwhy.catalog.pasted import endings

    last = endings(text)[-1]
    whole = bool(last.lines)
    key = "words.explain-not-ours" if whole else "words.explain-nothing"
    shown = Code(render.one_line(last.whole if whole else text, 200))
    delivery.say(f"gradwhy: {render.sentence(Message(key, {'text': shown}), language)}")
    near = [] if whole else answers.near(text)
    if near:
        told = Message("words.explain-near", {"list": load.words(language)["comma"].join(near)})
        delivery.say(f"gradwhy: {render.sentence(told, language)}")
    if len(text) < 200 and "\n" not in text and Path(text).is_file():
        delivery.say(f"gradwhy: {render.sentence(Message('words.explain-is-file', {'file': text}), language)}")


def _facts(answer: Answer, language: str) -> dict[str, Any]:
    found = answer.recognised
    entry = load.entry(answer.entry)
    assert entry is not None
    causes = likely.causes_of(answer.entry) if answer.is_symptom else ()
    return {
        "schema": 1,
        "entry": _named(answer.entry, language),
        "recognised": None if found is None else {
            "exception": found.ending.kind or None,
            "text": found.ending.text,
            "certain": found.certain,
            "message": found.key or None,
            "cause": found.cause or None,
            "means": page.said(answer, "means", language) or None,
            "fix": page.said(answer, "fix", language) or None,
            "programs": page.programs(answer) or None,
            "needs": page.needs(answer) or None,
        },
        "seen": [
            {"cause": each.cause, "title": likely.title(each.cause, language), "file": each.shown.file or None,
             "line": each.shown.line or None, "subject": each.subject, "source": each.shown.source}
            for each in answer.seen
        ],
        "question": page.question(answer.entry, language) or None,
        "causes": [_named(name, language) for name in causes],
        "symptoms": [_named(name, language) for name in entry.facts.get("symptoms", ()) if load.family(name)],
        "see_also": list(entry.facts.get("see_also", ())),
        "program": page.program(answer.entry) or None,
        "page": page.markdown(answer, language),
    }  # fmt: skip


def _named(name: str, language: str) -> dict[str, Any]:
    return {"name": name, "family": load.family(name), "title": likely.title(name, language)}
