"""Uses the checkpoint that follows parameters too."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradwhy.findings import Fix, Message
from gradwhy.source.slicing import called
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import with_keyword

_CALLS = ("checkpoint", "checkpoint_sequential")


def remedies(fault: Fault) -> Iterable[Fix]:
    call = next((n for n in ast.walk(fault.node) if isinstance(n, ast.Call) and called(n) in _CALLS), None)
    if call is not None:
        edit = with_keyword(fault, call, "use_reentrant", "False")
        yield Fix(title=Message("checkpoint-frozen-input.advice"), applicability="unsafe", edits=(edit,))
