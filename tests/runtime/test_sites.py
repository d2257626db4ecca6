"""From a code object and an instruction to a line, a node and a name: the same on each Python."""

from __future__ import annotations

import ast
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from gradwhy.runtime.sites import Site, is_user_file, user_chain

PROGRAM = """\
class Net:
    def forward(self, mark, x):
        return mark(x).sum(
            mark("second"), key=[mark(i) for i in range(1)])

def train(net, mark, manager):
    with manager(mark("open")):
        数 = net.forward(mark, 1) if mark(7) else mark("after 数")
    return 数
"""


@pytest.fixture
def seen(tmp_path: Path) -> dict[object, tuple[Site, ...]]:
    path = tmp_path / "net.py"
    path.write_text(PROGRAM, "utf-8")
    found: dict[object, tuple[Site, ...]] = {}

    class Value(int):
        def sum(self, *arguments: object, **options: object) -> Value:
            return self

    def mark(what: object) -> Value:
        found[what] = user_chain(sys._getframe(1))
        return Value(1)

    @contextmanager
    def manager(value: object):  # type: ignore[no-untyped-def]
        found["enter"] = user_chain(sys._getframe(2))
        yield

    module = ModuleType("net")
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    module.train(module.Net(), mark, manager)
    return found


def test_lines_and_expressions(seen: dict[object, tuple[Site, ...]]) -> None:
    assert seen[1][0].expression() == "mark(x)"
    assert (seen["second"][0].line, seen["second"][0].expression()) == (4, 'mark("second")')
    assert seen["open"][0].expression() == 'mark("open")'


def test_the_chain_goes_from_the_inside_out(seen: dict[object, tuple[Site, ...]]) -> None:
    assert [site.function for site in seen[1][:2]] == ["Net.forward", "train"]
    assert seen[1][1].expression() == "net.forward(mark, 1)"


def test_columns_count_code_points(seen: dict[object, tuple[Site, ...]]) -> None:
    place = seen[7][0].location()
    assert (place.line, place.column, place.function) == (8, PROGRAM.splitlines()[7].index("mark(7)") + 1, "train")


def test_entering_a_block_is_placed_on_its_context(seen: dict[object, tuple[Site, ...]]) -> None:
    site = next(site for site in seen["enter"] if site.file.endswith("net.py"))
    assert isinstance(site.node(), ast.Call)
    assert site.location().line == 7


def test_what_is_the_users(tmp_path: Path) -> None:
    assert is_user_file(str(tmp_path / "train.py"))
    assert not is_user_file(ast.__file__)
    assert not is_user_file("<frozen importlib._bootstrap>")
    assert not is_user_file("<string>")
    assert not is_user_file(str(tmp_path / "lib" / "site-packages" / "torch" / "x.py"))


def test_a_source_that_is_gone_gives_a_line_and_no_guess(tmp_path: Path) -> None:
    code = compile("x = 1\ny = x.real\n", str(tmp_path / "gone.py"), "exec")
    site = Site(code, code.co_code.__len__() - 2)
    assert site.node() is None
    assert site.expression() == ""
    assert site.location().line == 2
