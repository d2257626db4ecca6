"""Whether a condition is known, and what it says of the names in it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gradwhy.static.flow.histories import Value
from gradwhy.static.flow.values import NONE, Class, Const, Function, Instance, Layer, Mapping, Optional, Seq

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run


def truth(r: Run, value: Value, node: ast.AST | None = None) -> bool | None:
    """True or False where every path has that, else None."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Seq):
        return True if value.items else False if value.rest is None else None
    if isinstance(value, Mapping):
        return True if value.items else False if value.rest is None else None
    if isinstance(value, (Function, Class, Layer)):
        return True
    if isinstance(value, Instance):
        return True if value.cls.find("__len__") is None and value.cls.find("__bool__") is None else None
    return None


def is_none(value: Value) -> bool | None:
    """Whether a value is None, where that is known."""
    from gradwhy.static.flow.values import Data, Library, Unknown

    if isinstance(value, Const):
        return value.value is None
    if isinstance(value, (Unknown, Optional, Data, Library)):
        return None
    return False


def narrowed(r: Run, test: ast.expr, outcome: bool) -> bool:
    """In the branch of a test, a name that may be None is known to be or not to be. False: control goes on."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, outcome = test.operand, not outcome
    if isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) is outcome:
            for part in test.values:
                narrowed(r, part, outcome)
        return False
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
        if test.comparators[0].value is not None or not isinstance(test.ops[0], (ast.Is, ast.IsNot)):
            return False
        not_none = isinstance(test.ops[0], ast.IsNot) is outcome
        test = test.left
    else:
        not_none = outcome
        if not outcome:
            return False
    if isinstance(test, ast.Name):
        value = r.frame.env.get(test.id)
        if isinstance(value, Optional):
            r.write(r.frame.env, test.id, value.value if not_none else NONE)
    return False
