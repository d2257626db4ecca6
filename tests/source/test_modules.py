"""Which files import statements mean: found by a pattern in the text, resolved without importing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gradwhy.source.modules import Finder, Folders, Named, roots_of, statements

ROOT = Path(__file__).parents[2]

WRITTEN = [
    "import a",
    "import a.b as c, d",
    "from . import a",
    "from ..a.b import (\n    c,  # it (really) is\n    d as e,\n)",
    "from a import b, \\\n    c",
    "from a import *  # all",
    "import a; import b",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_imports_are_found_however_they_are_written(text: str) -> None:
    for indent in ("", "    "):
        code = "\n".join(indent + line for line in text.split("\n"))
        first = ast.unparse(ast.parse(text).body[0])
        assert ast.unparse(next(statements(f"x = 1\n{code}\ny = 2\n"))) == first


def test_the_pattern_finds_what_the_parser_finds_in_our_own_files() -> None:
    for file in sorted((ROOT / "src").rglob("*.py")):
        text = file.read_text("utf-8")
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]
        assert {ast.unparse(node) for node in nodes} <= {ast.unparse(node) for node in statements(text)}


@pytest.fixture
def finder(tmp_path: Path) -> Finder:
    for name in ("pyproject.toml", "src/lib/__init__.py", "src/lib/a/__init__.py", "src/lib/a/b.py", "twice.py", "src/twice.py",
                 "s/twice.py", "plain/x.py", "torch.py", "json.py"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return Finder(roots_of(str(tmp_path / "s" / "train.py"), ())[0], Folders())


@pytest.mark.parametrize(
    ("name", "script", "found"),
    [
        ("lib", "", "src/lib/__init__.py"), ("lib.a.b", "", "src/lib/a/b.py"), ("lib.a.c", "", None),
        ("plain.x", "", "plain/x.py"),
        ("twice", "", None), ("twice", "s", "s/twice.py"), ("torch", "", None), ("json", "", None), ("nothing", "", None),
    ],
)  # fmt: skip
def test_an_absolute_name_is_a_file_where_the_roots_agree(
    finder: Finder, tmp_path: Path, name: str, script: str, found: str | None
) -> None:
    named = finder.absolute(name, str(tmp_path / script) if script else "")
    assert (str(Path(named.file).relative_to(tmp_path)) if named is not None else None) == found


def test_a_relative_name_counts_folders_up(finder: Finder, tmp_path: Path) -> None:
    inside = str(tmp_path / "src/lib/a/b.py")
    assert finder.relative(inside, 1, "b", "") == Named(inside)
    package = tmp_path / "src/lib"
    assert finder.relative(inside, 2, "", "") == Named(str(package / "__init__.py"), str(package))


def test_a_file_in_a_package_is_looked_up_above_the_package(tmp_path: Path) -> None:
    for name in ("lib/__init__.py", "lib/a/__init__.py", "lib/a/b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    roots, script = roots_of(str(tmp_path / "lib/a/b.py"), ())
    assert [(root.folder, root.only) for root in roots if root.only] == [(str(tmp_path), "lib")]
    assert script == ""
