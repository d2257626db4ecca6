"""Lets DDP look for the parameters that a step has not used, where that changes from step to step."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Fix, Message
from gradwhy.static import lines
from gradwhy.static.remedy import Fault
from gradwhy.static.rewrites import with_keyword


def remedies(fault: Fault) -> Iterable[Fix]:
    """``find_unused_parameters=True`` on the wrapper."""
    wrapped = fault.spot("wrapped")
    if fault.headline not in ("headline-conditional", "headline-branch") or wrapped is None:
        return
    call = next(lines.calls(wrapped.node, "DistributedDataParallel", "DDP"), None)
    if call is not None:
        edit = with_keyword(wrapped, call, "find_unused_parameters", "True")
        yield Fix(title=Message("module-unused.fix-wrapped"), applicability="unsafe", edits=(edit,))
