"""Binds imported names to the dotted names that they stand for."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradwhy.static.flow.values import Library, Unknown

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run

# Second homes of what torch documents elsewhere: (found under, filed under).
_HOMES = (
    ("torch.autograd.grad_mode.", "torch."),
    ("torch.nn.parameter.", "torch.nn."),
    ("torch.autograd.variable.", "torch.autograd."),
    ("torch.functional.", "torch."),
    ("torch.cuda.amp.GradScaler", "torch.amp.GradScaler"),
)


def filed(path: str) -> str:
    """The name that a row of the table has for an imported one."""
    for found, home in _HOMES:
        if path.startswith(found):
            return home + path[len(found) :]
    if path.startswith("torch.nn.modules."):
        return "torch.nn." + path.rpartition(".")[2]
    return path


def run_import(r: Run, node: ast.Import) -> None:
    for alias in node.names:
        if alias.asname:
            r.write(r.frame.env, alias.asname, Library(filed(alias.name)))
        else:
            root = alias.name.partition(".")[0]
            r.write(r.frame.env, root, Library(root))


def run_from(r: Run, node: ast.ImportFrom) -> None:
    for alias in node.names:
        if alias.name == "*":
            continue
        bound = alias.asname or alias.name
        if node.level or not node.module:
            r.write(r.frame.env, bound, Unknown(node))
        else:
            r.write(r.frame.env, bound, Library(filed(f"{node.module}.{alias.name}")))
