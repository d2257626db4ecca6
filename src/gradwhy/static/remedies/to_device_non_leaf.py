"""Converts first and makes the leaf of the result."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Code, Fix, Message
from gradwhy.static.leaves import LEAF, flag_last, own_name, whole, with_suffix
from gradwhy.static.remedy import Fault


def remedies(fault: Fault) -> Iterable[Fix]:
    """``nn.Parameter(x).to(d)`` -> ``nn.Parameter(x.to(d))``, ``torch.randn(3, requires_grad=True).to(d)`` ->
    ``torch.randn(3).to(d).requires_grad_(True)``; a name that is bound to its own conversion becomes a new leaf."""
    value = whole(fault.source, fault.node)
    edits = flag_last(fault, value) if value is not None else []
    if edits:
        yield Fix(title=Message(f"{fault.cause}.fix"), applicability="unsafe", edits=tuple(edits))
    elif value is not None and (own := own_name(fault.source, value)):
        edits = with_suffix(fault, value, LEAF)
        title = Message(f"{fault.cause}.fix-leaf", {"name": Code(own)})
        yield Fix(title=title, applicability="unsafe", edits=tuple(edits))
