"""Draws with torch, whose random state the checkpoint keeps and sets again."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.source.slicing import dotted_name
from gradwhy.static.remedy import Fault, replace

_UNIT = ("random.random", "np.random.rand", "np.random.random", "numpy.random.rand", "numpy.random.random")


def remedies(fault: Fault) -> Iterable[Fix]:
    """``random.random()`` -> ``torch.rand(()).item()``, ``random.randint(a, b)`` -> ``torch.randint(a, b + 1, ()).item()``."""
    call = fault.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.keywords or not _torch(fault):
        return
    name = dotted_name(call.func)
    given = [fault.source.segment(part) for part in call.args]
    if name in _UNIT and not given:
        text = "torch.rand(()).item()"
    elif name == "random.randint" and len(given) == 2:
        text = f"torch.randint({given[0]}, {given[1]} + 1, ()).item()"
    else:
        return
    title = Message("random-in-checkpoint.fix", {"result": Code(text)})
    yield Fix(title=title, applicability="unsafe", edits=(replace(fault, call, text),))


def _torch(fault: Fault) -> bool:
    """Whether the file has torch by that name."""
    return fault.source.tree is not None and any(
        alias.name == "torch" and alias.asname is None
        for node in ast.walk(fault.source.tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    )
