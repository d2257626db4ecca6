"""An answer as a page of Markdown: what the message means, what the lines show, the entry's page, where to go on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gradwhy.catalog import likely, load, observed, render, versions
from gradwhy.catalog.answer import Answer
from gradwhy.catalog.match import Known, known_of
from gradwhy.findings import Argument, Code, Message

_SHOWN = 12
_WITH_PROGRAMS = 3
_LINES = 6
_MESSAGE = 240
PROGRAM = "{program}"
"""Where the page of a recipe shows its program, which is the same in all languages and a file of its own."""
_TITLE = re.compile(r"^# .*\n+")
_BACKTICKS = re.compile(r"`+")
_CHOICE = re.compile(r"\((?:\?:)?([^()|]*)\|?[^()]*\)\??")
_ANCHORS = re.compile(r"\\b|\\W\*|^\^|\$$")
_CLASS = re.compile(r"\[([^]\\^])[^]]*\]")
_VARIES = re.compile(r"(?:\[[^]]*\])?(?:\\[wdsS]|\.)[*+]\??")
# What a pattern must not have beside it.
_NOT = re.compile(r"\(\?<?![^()]*\)")
_SYMBOLS = re.compile(r"\\([^\w\s])")


def markdown(answer: Answer, language: str, all_causes: bool = False) -> str:
    """The whole page."""
    parts = [f"# {likely.title(answer.entry, language)}"]
    if answer.recognised is not None:
        parts += _recognised(answer, language)
    if answer.recognised is None or not answer.recognised.key:
        body = _body(answer.entry, language)
        if answer.recognised is None:
            # Who has pasted a traceback has one.
            body = observed.with_traceback(
                body, answer.entry, lambda torch: _word("explain-traceback", language, version=torch)
            )
        parts += [body, *_messages(answer.entry, language)]
    elif not answer.is_one_of_many and not programs(answer):
        parts.append(_body(answer.entry, language))
    elif answer.recognised.cause and not programs(answer):
        parts.append(_body(answer.recognised.cause, language))
    else:
        parts.append(_word("explain-kin", language, command=command("explain", answer.entry)))
    parts += _versions(answer, language)
    parts += _onward(answer, language, all_causes)
    parts += _sources(answer.entry, language)
    return "\n\n".join(part for part in parts if part) + "\n"


def _body(name: str, language: str) -> str:
    """The page of an entry, without its title."""
    text = load.text(name, language) or load.text(name, "en")
    body = _TITLE.sub("", text.page, count=1).strip() if text is not None else ""
    return body.replace(PROGRAM, fenced(program(name).splitlines(), "python")) if PROGRAM in body else body


def program(name: str) -> str:
    """The program of a recipe; "" where the entry is none."""
    return load.raw(name, "recipe.py")


def said(answer: Answer, part: str, language: str) -> str:
    """What the recognised message means (``part`` "means") or what to do ("fix"); "" where its entry's page tells both."""
    key = answer.recognised.key if answer.recognised is not None else ""
    return render.sentence(Message(f"{answer.entry}.{part}-{key}"), language) if key else ""


def programs(answer: Answer) -> dict[str, str]:
    """A program that makes torch say the recognised message ("wrong") and its correction ("right"); empty where it has none."""
    found = {kind: _beside(answer, f"{kind}.py") for kind in ("wrong", "right")}
    return found if all(found.values()) else {}


def needs(answer: Answer) -> str:
    """What those programs need that not every machine has ("cuda", "gpus"): without it they are not run; mostly ""."""
    row = answer.row
    return str(row.get("needs", "")) if row is not None else ""


def own_page(answer: Answer, language: str) -> str:
    """Why the recognised message comes, what is like it and what prevents it: for those that are often seen, else ""."""
    return (_beside(answer, f"{language}.md") or _beside(answer, "en.md")).strip()


def _beside(answer: Answer, ending: str) -> str:
    """A file of the recognised message."""
    key = answer.recognised.key if answer.recognised is not None else ""
    return load.raw(answer.entry, f"messages/{key}.{ending}") if key else ""


def question(entry: str, language: str) -> str:
    """What to find out to tell the causes apart; "" where there is no such question."""
    id = f"{entry}.question"
    return render.sentence(Message(id), language) if render.has_sentence(id) else ""


def _recognised(answer: Answer, language: str) -> list[str]:
    recognised = answer.recognised
    assert recognised is not None
    parts = [inline(render.one_line(recognised.ending.whole.partition("\n\n")[0], _MESSAGE))]
    if not recognised.certain:
        parts.append(_word("explain-perhaps", language))
    for part in ("means", "fix"):
        sentence = said(answer, part, language)
        if sentence:
            parts.append(f"## {_word(f'explain-{part}', language)}\n{sentence}")
    parts += [f"```python {kind}\n{code}```" for kind, code in programs(answer).items()]
    if needs(answer):
        parts.append(_word(f"explain-needs-{needs(answer)}", language))
    parts.append(own_page(answer, language))
    if recognised.cause not in ("", answer.entry):
        title = likely.title(recognised.cause, language)
        parts.append(_word("explain-cause-stated", language, title=title, command=command("explain", recognised.cause)))
    parts += _shown(answer, language)
    asked = question(answer.entry, language)
    if asked and not (answer.is_one_of_many and recognised.cause):
        parts.append(f"## {_word('explain-question', language)}\n{asked}")
    parts += _next(answer, language)
    return parts


def _shown(answer: Answer, language: str) -> list[str]:
    if not answer.own:
        return []
    parts = [f"## {_word('explain-seen', language)}"]
    marked = [(each.shown, each.cause) for each in answer.seen]
    lines = list(dict.fromkeys([*(shown for shown, _ in marked), *answer.own[-_LINES:]]))
    lines.sort(key=lambda shown: (answer.own.index(shown) if shown in answer.own else -1, shown.line))
    rows = [f"{shown.file}:{shown.line}: {render.one_line(shown.source, 90)}" for shown in lines[-_LINES * 2 :]]
    parts.append(fenced(rows))
    if not answer.seen:
        return [*parts, _word("explain-seen-nothing", language)]
    listed = [
        f"- {inline(render.one_line(each.subject))}: {likely.title(each.cause, language)}. {command('explain', each.cause)}"
        for each in answer.seen
    ]
    return [*parts, _word("explain-seen-likely", language), "\n".join(listed)]


def _next(answer: Answer, language: str) -> list[str]:
    """What to run on the user's file: by its name as it is shown, where that is the name of a script."""
    files = [shown.file for shown in answer.own if re.fullmatch(r"[\w./~ \\:+-]+\.py", shown.file)]
    if not files:
        return []
    parts = [_word("explain-next-run", language, command=command("run", files[0]))]
    parts.append(_word("explain-next-check", language, command=command("check", files[-1])))
    return ["\n".join(parts)]


def _messages(entry: str, language: str) -> list[str]:
    """The messages of an entry that have a meaning and a fix of their own."""
    shown: dict[str, list[Known]] = {}
    for known in known_of(entry):
        if known.key and not known.stated:
            shown.setdefault(known.key, []).append(known)
    if not shown:
        return []
    parts = [f"## {_word('explain-messages', language)}"]
    if any(load.raw(entry, f"messages/{key}.wrong.py") for key in shown):
        # Their programs are on the page of each: here they would be too many.
        parts.append(_word("explain-messages-programs", language))
    for key, texts in shown.items():
        parts.append(fenced([_text(known) for known in texts]))
        sentences = [render.sentence(Message(f"{entry}.{part}-{key}"), language) for part in ("means", "fix")]
        parts.append("\n".join(sentences))
    return parts


def _text(known: Known) -> str:
    """A text as it is seen: of a pattern the first alternative of each choice, "…" for what varies."""
    if known.says:
        return known.says
    text = _ANCHORS.sub("", _NOT.sub("", known.pattern)).replace("\\(", "\0").replace("\\)", "\1")
    while text != (chosen := _CHOICE.sub(r"\1", text)):
        text = chosen
    return _SYMBOLS.sub(r"\1", _CLASS.sub(r"\1", _VARIES.sub("…", text)).replace("\0", "(").replace("\1", ")"))


def _sources(name: str, language: str) -> list[str]:
    """Where people have met a cause."""
    entry = load.entry(name)
    addresses = entry.facts.get("sources", ()) if entry is not None else ()
    listed = "\n".join(f"- {address}" for address in addresses)
    return [f"## {_word('explain-sources', language)}\n{listed}"] if listed else []


def _versions(answer: Answer, language: str) -> list[str]:
    """The versions of torch that the program ran on, and what each said."""
    key = answer.recognised.key if programs(answer) and answer.recognised is not None else ""
    program = observed.wrong_program(answer.entry, key)
    groups = observed.by_text(versions.said(program)) if program is not None else []
    if not groups:
        return []
    comma = load.words(language)["comma"]
    if len(groups) == 1:
        (ran, text) = groups[0]
        told = _word(f"explain-versions-{'same' if text else 'quiet'}", language, versions=comma.join(ran))
    else:
        texts = observed.shortened(text for _, text in groups)
        said = [inline(text) if text else _word("explain-versions-none", language) for text in texts]
        told = "\n".join(f"- torch {comma.join(ran)}: {text}" for (ran, _), text in zip(groups, said))
    return [f"## {_word('explain-versions', language)}\n{told}"]


def _onward(answer: Answer, language: str, all_causes: bool) -> list[str]:
    recognised = answer.recognised
    if recognised is not None and recognised.key and answer.is_one_of_many:
        # The causes of its kin are not its own.
        kin = load.entry(recognised.cause or answer.entry)
        return _links("explain-related", kin.facts.get("see_also", ()), language) if kin is not None else []
    entry = load.entry(answer.entry)
    if entry is None:
        return []
    parts: list[str] = []
    if answer.is_symptom:
        causes = list(likely.causes_of(answer.entry))
        shown = causes if all_causes else causes[:_SHOWN]
        with_programs = 0 if programs(answer) else len(causes) if all_causes else _WITH_PROGRAMS
        parts += _causes(answer.entry, shown, with_programs, language)
        if len(shown) < len(causes):
            rest = command("explain", answer.entry, "--all")
            parts.append(_word("explain-more-causes", language, count=len(causes) - len(shown), command=rest))
    else:
        parts += _links("explain-symptoms", entry.facts.get("symptoms", ()), language)
    linked = set(likely.causes_of(answer.entry)) if answer.is_symptom else set(entry.facts.get("symptoms", ()))
    parts += _links(
        "explain-related", (name for name in entry.facts.get("see_also", ()) if name not in linked), language
    )
    return parts


def _causes(symptom: str, causes: list[str], with_programs: int, language: str) -> list[str]:
    """The causes of a symptom, the first of them with the programs that were seen to show it and not to."""
    parts: list[str] = []
    rest: list[str] = []
    for name in causes:
        shown = observed.programs_of(name, symptom) if with_programs else None
        if shown is None:
            rest.append(name)
            continue
        with_programs -= 1
        parts.append(f"### {likely.title(name, language)}\n{command('explain', name)}")
        parts += [f"```python {each.kind}\n{each.code}```" for each in shown]
    if not parts:
        return _links("explain-causes", rest, language)
    listed = _links("explain-causes", rest, language)
    return [f"## {_word('explain-causes', language)}", *parts, *(text.partition("\n")[2] for text in listed)]


def _links(heading: str, names: Iterable[str], language: str) -> list[str]:
    listed = [f"- `gradwhy explain {name}` {likely.title(name, language)}" for name in names if load.family(name)]
    return [f"## {_word(heading, language)}\n" + "\n".join(listed)] if listed else []


def command(*words: str) -> str:
    """A command of gradwhy, to type."""
    return inline(" ".join(("gradwhy", *(f'"{word}"' if " " in word else word for word in words))))


def inline(text: str) -> str:
    """Text as code within a line, whatever backticks it has."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    marks = "`" * (longest + 1)
    return f"{marks} {text} {marks}" if longest else f"`{text}`"


def fenced(lines: list[str], language: str = "text") -> str:
    """Lines as a block, whatever backticks they have."""
    longest = max((len(run) for line in lines for run in _BACKTICKS.findall(line)), default=0)
    marks = "`" * max(3, longest + 1)
    return "\n".join((f"{marks}{language}", *lines, marks))


def _word(key: str, language: str, **args: Argument) -> str:
    # Commands come as code already, so their backticks stay as they are.
    template = load.words(language).get(key, load.words("en").get(key, key))
    for name, value in args.items():
        template = template.replace(f"{{{name}}}", inline(value.text) if isinstance(value, Code) else str(value))
    return template
