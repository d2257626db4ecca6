"""The claims in the Markdown files of this folder, against what the static engine thinks and against torch itself.

A claim is a comment at the end of a line: ``y = x.detach()  # grad: cut by detach`` is about the names that the line binds.

    tracked          requires_grad is True, with a grad_fn
    leaf             requires_grad is True, without one
    none             requires_grad is False
    cut by CAUSE     requires_grad is False, and this is why
    off by CAUSE     the same, by a block, decorator or call that switched recording off
    frozen           a parameter that does not require grad
    unknown          the static engine does not say
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from gradwhy.source.slicing import bound_names, targets
from gradwhy.source.text import SourceText
from gradwhy.static.flow.histories import MAYBE, NO, Value
from gradwhy.static.flow.run import Run
from gradwhy.static.flow.values import Tensor, plain

HERE = Path(__file__).parent
CLAIM = re.compile(r"# grad: (.+)$")
BUDGET = 50_000

pytestmark = pytest.mark.filterwarnings("ignore")


def blocks() -> list[Any]:
    found = []
    for file in sorted(HERE.glob("*.md")):
        parts = re.split(r"```py(?:thon)?\n(.*?)```", file.read_text("utf-8"), flags=re.S)
        for prose, code in zip(parts[::2], parts[1::2]):
            heading = (re.findall(r"^#+ (.+)$", prose, re.M) or ["…"])[-1]
            found.append(pytest.param(code, id=f"{file.stem}: {heading} {len(found)}"))
    return found


def claims(code: str) -> list[tuple[int, str, list[str]]]:
    """(line, claim, the names that the line binds)."""
    tree = ast.parse(code)
    found = []
    for number, line in enumerate(code.split("\n"), start=1):
        match = CLAIM.search(line)
        if match is None:
            continue
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno == number]
        names = [name for node in nodes for target in targets(node) for name in bound_names(target)]
        if not names and isinstance(nodes[0], ast.Expr) and isinstance(nodes[0].value, ast.Call):
            names = [ast.unparse(nodes[0].value.func.value)] if isinstance(nodes[0].value.func, ast.Attribute) else []
        assert names, f"line {number} binds no name"
        found.append((number, match[1].strip(), names))
    return found


class Watched(Run):
    """Notes what the names of a claim hold after its line, each time that it has run."""

    def __init__(self, source: SourceText) -> None:
        super().__init__(source, BUDGET)
        self.wanted = {line: names for line, _, names in claims(source.text)}
        self.seen: dict[int, list[list[str]]] = {}

    def block(self, body: list[ast.stmt]) -> bool:
        for statement in body:
            dead = super().block([statement])
            names = self.wanted.get(statement.lineno)
            if names is not None:
                held = [said(self.evaluate(ast.parse(name, mode="eval").body)) for name in names]
                self.seen.setdefault(statement.lineno, []).append(held)
            if dead:
                return True
        return False


def said(value: Value) -> str:
    """What the static engine thinks of a value, in the words of a claim."""
    value = plain(value)
    if not isinstance(value, Tensor):
        return type(value).__name__.lower()
    flow = value.flow
    if flow.grad == MAYBE:
        return "unknown"
    if flow.grad == NO:
        if flow.kind in ("cut", "off"):
            return f"{flow.kind} by {flow.cause}"
        return "frozen" if flow.kind == "frozen" else "none"
    return "leaf" if flow.kind == "leaf" else "tracked"


@pytest.mark.parametrize("code", blocks())
def test_the_static_engine_thinks_what_is_claimed(code: str) -> None:
    run = Watched(SourceText("block.py", code))
    run.whole_file()
    for line, claim, names in claims(code):
        for held in run.seen.get(line, [["never reached"]]):
            assert held == [claim] * len(names), f"line {line}: {code.split(chr(10))[line - 1]}"


def shown(tensor: Any) -> set[str]:
    """The claims that are true of a tensor."""
    if not isinstance(tensor, torch.Tensor):
        return {type(tensor).__name__}
    if not tensor.requires_grad:
        return {"none", "cut", "off", "frozen", "unknown"}
    return {"leaf" if tensor.grad_fn is None else "tracked", "unknown"}


@pytest.mark.parametrize("code", blocks())
def test_torch_says_the_same(code: str) -> None:
    lines = code.split("\n")
    wanted = claims(code)
    # The probes go behind the lines, so that line numbers stay.
    for number, claim, names in wanted:
        indent = ""
        calls = "; ".join(f"_claim({number}, {claim!r}, {name})" for name in names)
        head = lines[number - 1].split("  # grad:")[0]
        lines[number - 1] = f"{indent}{head}; {calls}"

    def _claim(number: int, claim: str, value: Any) -> None:
        assert claim.split(" by ")[0] in shown(value), (
            f"line {number}: {code.split(chr(10))[number - 1]} is {shown(value)}"
        )

    torch.manual_seed(0)
    mode = torch.is_grad_enabled()
    try:
        exec(compile("\n".join(lines), "block", "exec"), {"_claim": _claim, "__name__": "__main__"})
    finally:
        torch.set_grad_enabled(mode)
