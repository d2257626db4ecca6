"""Takes out the lines that release a layer which is replaced afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.static.lines import alone
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import whole_lines_out


def remedies(fault: Fault) -> Iterable[Fix]:
    """The statement goes, with the loop that does nothing else; a block needs another statement to stay one."""
    source = fault.source
    statement = source.statement(fault.node)
    if statement is None:
        return
    parent = source.parents.get(statement)
    if isinstance(parent, ast.For) and parent.body == [statement] and not parent.orelse:
        statement = parent
    if len(source.block(statement)) < 2 or not alone(source, statement) or statement.end_lineno is None:
        return
    first = source.line(statement.lineno).strip()
    title = Message("head-replaced.fix", {"line": Code(first)})
    edit = whole_lines_out(fault, statement.lineno, statement.end_lineno)
    yield Fix(title=title, applicability="safe", edits=(edit,))
