"""Causes that the lines of a traceback show: a detach, an argmax, a number made of a loss, a write in place.

Only what stands there is read, by the table of torch's functions; nothing is opened and nothing is run. What is found is a
likely cause, never a proven one.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradwhy.catalog import load

if TYPE_CHECKING:
    from gradwhy.catalog.pasted import Shown
    from gradwhy.torchapi.table import OpRow, Table

# Not the user's own.
_PACKAGES = re.compile(
    r"[/\\](?:site-packages|dist-packages)[/\\]|[/\\]lib[/\\]python\d|^<frozen |^<string>|[/\\]Lib[/\\]\w+\.py$"
)
_SYMPTOMS = re.compile(r"^symptoms = \[(.*?)\]", re.M | re.S)
_TITLE = re.compile(r'^title = (".*")$', re.M)
_MODULES = {
    "F.": "torch.nn.functional.", "functional.": "torch.nn.functional.", "nn.": "torch.nn.", "np.": "numpy.",
}  # fmt: skip
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Gt: "gt", ast.GtE: "ge", ast.Lt: "lt", ast.LtE: "le", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
_COMPARES = re.compile(r"[<>]|[=!]=")
_WORD = re.compile(r"[A-Za-z]\w*")
_EFFECTS = frozenset(
    ("cut", "cut-outputs", "leaves", "builds", "detaches", "grad-mode", "sampling", "zero", "raises", "cast")
)
_INTEGERS = re.compile(r"\b(?:int\d*|long|bool|short|uint8)\b")
_NO_WRITES = frozenset(("requires_grad_", "share_memory_", "apply_"))
_SOURCE_AT_MOST = 1000
# What fails in the end, where a traceback does not show the frames of torch.
_LAST = ("backward", "grad", "step")
_NO_ENTRY = load.Entry("", "symptoms", {})
_WRITTEN = ("inplace-op", "view-inplace")
# Statements that need a body, or something before them, to be parsed alone.
_WRAPPED = (
    ("", ""),
    ("", "\n pass"),
    ("if 1:\n pass\n", "\n pass"),
    ("try:\n pass\n", "\n pass"),
    ("", "\ndef f(): pass"),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A cause, the line that shows it, and the part of the line that does."""

    cause: str
    shown: Shown
    subject: str


@functools.cache
def causes_of(symptom: str) -> tuple[str, ...]:
    """The causes that can show as a symptom: those that its entry names first, then the others."""
    entry = load.entry(symptom)
    named = list(entry.facts.get("see_also", ())) if entry is not None else []
    every = [name for name in load.names("causes") if f'"{symptom}"' in _listed(load.raw(name, "entry.toml"))]
    return tuple(dict.fromkeys([*(name for name in named if name in every), *every]))


def _listed(content: str) -> str:
    match = _SYMPTOMS.search(content)
    return match[1] if match else ""


def title(name: str, language: str) -> str:
    """The title of an entry, without reading the rest of it."""
    match = _TITLE.search(load.raw(name, f"{language}.md")) or _TITLE.search(load.raw(name, "en.md"))
    return str(ast.literal_eval(match[1])) if match else name


def is_own(shown: Shown) -> bool:
    """Whether a line is of the user's program, by its path."""
    return not _PACKAGES.search(shown.file)


def seen(lines: list[Shown], symptom: str) -> list[Seen]:
    """Causes of the symptom that the lines show, one a cause; the line nearest to the failure first.

    What was still running, such as the call that the next frame is in, and what stands after it, has done nothing yet.
    """
    possible = set(causes_of(symptom))
    words = {word for line in lines if is_own(line) for word in _WORD.findall(line.source)}
    if any(_COMPARES.search(line.source) for line in lines):
        words.update(_COMPARED.values())
    # Most pages do without it.
    from gradwhy.torchapi import table

    torch = table.about(words)
    found: dict[str, Seen] = {}
    for statement in _statements(lines, bool((load.entry(symptom) or _NO_ENTRY).facts.get("cause_before"))):
        for cause, node, index in _in_statement(statement, torch):
            if cause in possible:
                found.setdefault(cause, Seen(cause, statement.lines[index], ast.unparse(node)))
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Statement:
    """Lines of one statement, and the function that the frame after it is in; "" where it raised by itself."""

    lines: tuple[Shown, ...]
    running: str = ""


def _statements(lines: list[Shown], before: bool) -> list[_Statement]:
    """The user's statements, the one that failed first; with ``before`` the ones that led there too, then the lines near them."""
    groups: list[list[Shown]] = []
    for line in lines:
        last = groups[-1][-1] if groups else None
        if last is not None and (last.file, last.function, last.at) == (line.file, line.function, line.at) and line.at:
            groups[-1].append(line)
        else:
            groups.append([line])
    at: list[_Statement] = []
    near: list[_Statement] = []
    for index, group in enumerate(groups):
        if not is_own(group[0]):
            continue
        if group[0].at:
            after = next((other[0] for other in groups[index + 1 :] if other[0].at), None)
            at.append(_Statement(tuple(group), after.function.rpartition(".")[2] if after is not None else ""))
        elif any(_runs_after(group[0], other[0]) for other in groups[index + 1 :]):
            near.append(_Statement(tuple(group)))
    return [*reversed(at), *reversed(near)] if before else at[-1:]


def _runs_after(near: Shown, other: Shown) -> bool:
    return other.at and (near.file, near.function) == (other.file, other.function) and near.line < other.line


def _in_statement(statement: _Statement, torch: Table) -> Iterator[tuple[str, ast.AST, int]]:
    """Causes, the nodes that show them, and the index of the line that each stands in."""
    tree, offset = _parsed("\n".join(line.source.strip() for line in statement.lines))
    if tree is None:
        return
    left_out = _constants(tree, torch) | (_running(tree, statement.running, torch) if statement.lines[0].at else set())
    tests = {id(node.test) for node in ast.walk(tree) if isinstance(node, (ast.If, ast.While, ast.Assert, ast.IfExp))}
    for node in ast.walk(tree):
        if id(node) in left_out or not isinstance(node, (ast.expr, ast.stmt)):
            continue
        index = min(max(node.lineno - 1 - offset, 0), len(statement.lines) - 1)
        if isinstance(node, ast.Call):
            yield from ((cause, node, index) for cause in _call(node, torch))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr == "data":
            yield "data-attribute", node, index
        elif isinstance(node, ast.Compare) and id(node) not in tests:
            row = torch.op(f"torch.{_COMPARED.get(type(node.ops[0]), '')}")
            if row is not None and row.cause:
                yield row.cause, node, index
        elif isinstance(node, ast.AugAssign):
            yield from ((cause, node, index) for cause in (*_WRITTEN, "loss-accumulated"))
        elif isinstance(node, ast.Assign) and any(isinstance(target, ast.Subscript) for target in node.targets):
            yield from ((cause, node, index) for cause in _WRITTEN)


def _running(tree: ast.AST, function: str, torch: Table) -> set[int]:
    """What had not been done when the failure came: the call that was running, and all that wants its result."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = (function,) if function else _LAST
    running = {id(call) for call in calls if _last_name(call) in names}
    if not running and function:
        # A class, a module, a lambda: any call that the table of torch does not know.
        running = {id(call) for call in calls if not list(_call(call, torch))}
    return {id(node) for node in ast.walk(tree) if any(id(inner) in running for inner in ast.walk(node))}


def _last_name(call: ast.Call) -> str:
    function = call.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _constants(tree: ast.AST, torch: Table) -> set[int]:
    """What stands where no gradient is wanted, such as the target of a loss."""
    found: set[int] = set()
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            name, method = _named(call.func)
            given = [(arg, index + method, None) for index, arg in enumerate(call.args)]
            for arg, place, keyword in [*given, *((each.value, None, each.arg) for each in call.keywords)]:
                if torch.argument(name, place, keyword) is not None:
                    found |= {id(node) for node in ast.walk(arg)}
    return found


def _parsed(source: str) -> tuple[ast.AST | None, int]:
    """The tree of a statement, which may be the head of a block or an ``else``; and the lines put before it."""
    for before, after in _WRAPPED if len(source) <= _SOURCE_AT_MOST else ():
        try:
            return ast.parse(f"{before}{source.strip()}{after}"), before.count("\n")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None, 0


def _call(call: ast.Call, torch: Table) -> Iterator[str]:
    """The causes that a call is."""
    function = call.func
    if isinstance(function, ast.Name):
        row = torch.op(f"torch.Tensor.__{function.id}__") if function.id in ("float", "int", "complex") else None
        if row is not None and row.cause and call.args and not isinstance(call.args[0], ast.Constant):
            yield row.cause
        return
    if not isinstance(function, ast.Attribute):
        return
    name, method = _named(function)
    row = torch.op(name)
    if row is not None and row.cause and row.effect in _EFFECTS and _applies(row, call, method):
        yield row.cause
    if method and function.attr.endswith("_") and not function.attr.endswith("__") and function.attr not in _NO_WRITES:
        yield from _WRITTEN


def _named(function: ast.Attribute) -> tuple[str, bool]:
    """The full name of what is called, and whether it is a method of a value."""
    written = ast.unparse(function)
    for short, full in _MODULES.items():
        if written.startswith(short):
            return full + written[len(short) :], False
    if written.startswith(("torch.", "math.")):
        return written, False
    return f"torch.Tensor.{function.attr}", True


def _applies(row: OpRow, call: ast.Call, method: bool) -> bool:
    """Whether the call is of the kind that the row means."""
    keywords = {keyword.arg for keyword in call.keywords}
    if row.effect == "cast":
        return bool(_INTEGERS.search(" ".join(ast.unparse(arg) for arg in [*call.args, *call.keywords])))
    if row.when == "dim":
        return "dim" in keywords or len(call.args) > (0 if method else 1)
    if row.when == "one argument":
        return len(call.args) == 1
    if row.when == "False":
        return any(isinstance(arg, ast.Constant) and arg.value is False for arg in call.args)
    if row.when == "no create_graph":
        return "create_graph" not in keywords
    return row.when is None
