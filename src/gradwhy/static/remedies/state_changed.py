"""Switches a module back that ``eval()`` has left in another mode than the checkpoint's first run had."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace as changed

from gradwhy.findings import Fix, Message
from gradwhy.static.remedies import eval_decorated
from gradwhy.static.remedy import Fault


def remedies(fault: Fault) -> Iterable[Fix]:
    """As for a model that is left in evaluation mode; other changes of state have no edit that is sure."""
    for fix in eval_decorated.remedies(fault):
        yield changed(fix, title=Message("state-changed.fix", fix.title.args))
