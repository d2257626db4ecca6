"""gradwhy: why has my gradient gone? The line, the reason, and a fix."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gradwhy.version import VERSION as __version__

if TYPE_CHECKING:
    from gradwhy.runtime.audit.flowing import assert_gradients_flow
    from gradwhy.runtime.audit.inline import Audit as audit

__all__ = ["__version__", "assert_gradients_flow", "audit"]

# Where each public verb is. Loaded when it is first used: ``import gradwhy`` imports no torch.
_VERBS = {
    "assert_gradients_flow": ("gradwhy.runtime.audit.flowing", "assert_gradients_flow"),
    "audit": ("gradwhy.runtime.audit.inline", "Audit"),
}


def __getattr__(name: str) -> Any:
    if name not in _VERBS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _VERBS[name]
    return getattr(importlib.import_module(module), attribute)
