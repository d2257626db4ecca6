"""Recipes are right, and their mistakes are found: each program is run, and each wrong line is named by gradwhy.

``mistakes.toml`` beside a program has what goes wrong without its lines: ``line`` is written as ``instead`` (left out where that
is missing), and each of ``engines`` names ``cause`` at the line that reads ``at``, by default the new one.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gradwhy.catalog import answer, load, page
from gradwhy.source.text import SourceText
from gradwhy.static import checking
from gradwhy.torchapi import table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TESTS = Path(__file__).parents[1]
RECIPES = load.names("recipes")
HEADINGS = {
    "en": ["What it does", "The program", "The lines that matter", "Variations"],
    "zh": ["做什么", "程序", "关键的几行", "变体"],
}
Ask = Callable[[str, str, Path], dict[str, Any]]


def mistakes(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(load.raw(name, "mistakes.toml"))["mistakes"]
    return found


def mistaken(name: str, mistake: dict[str, Any]) -> str:
    """The program with the first line that reads ``line`` changed."""
    lines = page.program(name).splitlines()
    index = [line.strip() for line in lines].index(mistake["line"])
    indent = " " * (len(lines[index]) - len(lines[index].lstrip()))
    lines[index : index + 1] = [indent + mistake["instead"]] if "instead" in mistake else []
    return "\n".join(lines) + "\n"


def checked(code: str, strict: bool = False) -> list[list[Any]]:
    return [
        [found.cause, found.at.line] for found in checking.check(SourceText("recipe.py", code), "recipe.py", strict)
    ]


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """What an engine says of a program: causes and lines, and how it ended."""
    server = subprocess.Popen(
        [sys.executable, TESTS / "run_recipes.py"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert server.stdin is not None and server.stdout is not None
    asked, answered = server.stdin, server.stdout

    def ask(engine: str, code: str, folder: Path) -> dict[str, Any]:
        if engine.startswith("check"):
            return {"named": checked(code, engine.endswith("--strict")), "notes": [], "ended": None}
        (folder / "recipe.py").write_text(code, "utf-8")
        print(engine, folder / "recipe.py", file=asked, flush=True)
        told: dict[str, Any] = json.loads(answered.readline())
        return told

    yield ask
    asked.close()
    server.wait(timeout=60)


# -- the programs


@pytest.mark.parametrize("engine", ["python", "check", "run", "audit"])
@pytest.mark.parametrize("name", RECIPES)
def test_a_program_holds_what_it_asserts_and_no_engine_says_a_word(
    name: str, engine: str, ask: Ask, tmp_path: Path
) -> None:
    assert ask(engine, page.program(name), tmp_path) == {"named": [], "notes": [], "ended": None}


MISTAKES = [
    pytest.param(name, mistake, engine, id=f"{name} {number} {mistake['cause']} {engine}")
    for name in RECIPES
    for number, mistake in enumerate(mistakes(name))
    for engine in mistake["engines"]
]


@pytest.mark.parametrize(("name", "mistake", "engine"), MISTAKES)
def test_a_mistake_is_named_at_its_line(
    name: str, mistake: dict[str, Any], engine: str, ask: Ask, tmp_path: Path
) -> None:
    code = mistaken(name, mistake)
    at = [line.strip() for line in code.splitlines()].index(mistake.get("at", mistake.get("instead"))) + 1
    assert [mistake["cause"], at] in ask(engine, code, tmp_path)["named"]


# -- the files


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_has_all_its_parts(name: str) -> None:
    folder = Path(load.__file__).parent / "entries" / "recipes" / name
    assert {file.name for file in folder.iterdir() if file.is_file()} == {
        "entry.toml", "en.md", "zh.md", "recipe.py", "mistakes.toml"
    }  # fmt: skip
    entry = load.entry(name)
    assert entry is not None and entry.facts.keys() == {"keywords", "see_also"}
    assert {load.family(other) for other in entry.facts["see_also"]} <= {"causes", "symptoms"}


@pytest.mark.parametrize("language", load.LANGUAGES)
@pytest.mark.parametrize("name", RECIPES)
def test_a_page_has_its_headings_and_shows_its_program_once(name: str, language: str) -> None:
    text = load.text(name, language)
    assert text is not None
    assert text.sentences.keys() == {"title"} and text.page.startswith(f"# {text.sentences['title']}\n")
    assert re.findall(r"^## (.+)$", text.page, re.M) == HEADINGS[language]
    assert text.page.count(page.PROGRAM) == 1 and "```" not in text.page
    shown = page.markdown(answer.Answer(name), language)
    assert f"```python\n{page.program(name)}```\n" in shown and page.PROGRAM not in shown


def points(name: str, language: str) -> list[str]:
    """What the page says of the lines that matter, a line of the program each."""
    text = load.text(name, language)
    assert text is not None
    section = text.page.partition(f"## {HEADINGS[language][2]}\n")[2].partition("\n## ")[0]
    return [" ".join(item.split()) for item in section.split("\n- ")[1:]]


@pytest.mark.parametrize("language", load.LANGUAGES)
@pytest.mark.parametrize("name", RECIPES)
def test_the_lines_that_matter_are_in_the_program_and_each_mistake_is_told(name: str, language: str) -> None:
    program, told = page.program(name), points(name, language)
    about = [re.findall(r"`([^`]+)`", point)[0] for point in told]
    assert [part for part in about if part not in program] == []
    assert len(told) == len(points(name, "en"))
    bracketed = set(re.findall(r"[(（]`([\w-]+)`[)）]", " ".join(told)))
    assert {mistake["cause"] for mistake in mistakes(name)} <= bracketed
    assert all(load.family(cause) == "causes" for cause in bracketed)
    # What no mistake shows, the program does not make: it is told among the variations.
    assert bracketed == {mistake["cause"] for mistake in mistakes(name)} | (bracketed & NOT_SHOWN.get(name, set()))


NOT_SHOWN = {"logging-without-graphs": {"non-leaf-grad"}}
"""Causes that a page names beside a line, and that no single line of the program makes."""


@pytest.mark.parametrize("name", RECIPES)
def test_a_program_is_short_needs_torch_only_and_ends_with_its_proof(name: str) -> None:
    code = page.program(name)
    tree = ast.parse(code)
    assert 30 <= len(code.splitlines()) <= 90
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name) or ""
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert {module.partition(".")[0] for module in imported} - sys.stdlib_module_names == {"torch"}
    assert "torch.manual_seed(" in code
    *_, proof, last = tree.body
    assert any(isinstance(node, ast.Assert) for node in ast.walk(proof)) and ast.unparse(last).startswith("print(")
    assert sum(isinstance(node, ast.Assert) for node in ast.walk(tree)) >= 2


@pytest.mark.parametrize("name", RECIPES)
def test_each_recipe_is_linked_from_an_entry(name: str) -> None:
    named = [
        other for family in ("causes", "symptoms") for other in load.names(family)  # type: ignore[arg-type]
        if name in load.entry(other).facts.get("see_also", ())  # type: ignore[union-attr]
    ]  # fmt: skip
    assert named


def test_keywords_lead_to_one_recipe() -> None:
    seen: dict[str, str] = {}
    operations = table.load()
    for name in RECIPES:
        for word in load.entry(name).facts["keywords"]:  # type: ignore[union-attr]
            assert word == word.lower() and word not in seen and load.family(word) is None
            assert operations.op(word) is None
            seen[word] = name
            for asked in (word, word.upper(), word.replace(" ", "-")):
                found = answer.by_name(asked)
                assert found is not None and found.entry == name
