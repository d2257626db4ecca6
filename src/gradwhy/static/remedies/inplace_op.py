"""Makes a new tensor in place of the one that is changed, or changes a leaf with gradients off."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.static import leaf_writes
from gradwhy.static.fresh import rewritten
from gradwhy.static.remedy import Fault


def remedies(fault: Fault) -> Iterable[Fix]:
    """A write to a leaf that is an update goes under ``no_grad``; every other one becomes a new tensor."""
    if fault.headline == "headline-leaf" and leaf_writes.is_update(fault):
        edits = leaf_writes.without_gradients(fault)
        if edits:
            yield Fix(title=Message("inplace-op.fix-no-grad"), applicability="unsafe", edits=tuple(edits))
        return
    new = rewritten(fault)
    # A copy of a leaf in its own place would be no leaf.
    if new is not None and not (new.key == "fix-copy" and fault.headline == "headline-leaf"):
        title = Message(f"inplace-op.{new.key}", {"result": Code(new.result)})
        yield Fix(title=title, applicability="unsafe", edits=new.edits)
