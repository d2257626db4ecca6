"""Makes a tensor that is to be trained with requires_grad=True."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Fix, Message
from gradwhy.source.slicing import dotted_name
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import with_keyword

_MAKERS = frozenset({"randn", "rand", "zeros", "ones", "empty", "full", "tensor", "linspace", "arange", "eye"})


def remedies(fault: Fault) -> Iterable[Fix]:
    if isinstance(fault.node, ast.Call) and dotted_name(fault.node.func).rpartition(".")[2] in _MAKERS:
        edit = with_keyword(fault, fault.node, "requires_grad", "True")
        yield Fix(title=Message("requires_grad-missing.fix"), applicability="unsafe", edits=(edit,))
