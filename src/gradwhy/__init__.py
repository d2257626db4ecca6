"""gradwhy: why has my gradient gone? The line, the reason, and a fix."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gradwhy.version import VERSION as __version__

if TYPE_CHECKING:
    from gradwhy.integrations.block import watch
    from gradwhy.integrations.excepthook import install, uninstall
    from gradwhy.integrations.explaining import explain
    from gradwhy.integrations.ipython import load as load_ipython_extension
    from gradwhy.integrations.ipython import unload as unload_ipython_extension
    from gradwhy.runtime.audit.flowing import assert_gradients_flow
    from gradwhy.runtime.audit.inline import Audit as audit

__all__ = [
    "__version__",
    "assert_gradients_flow",
    "audit",
    "explain",
    "install",
    "load_ipython_extension",
    "uninstall",
    "unload_ipython_extension",
    "watch",
]

# Where each public verb is. Loaded when it is first used: ``import gradwhy`` imports no torch.
_VERBS = {
    "assert_gradients_flow": ("gradwhy.runtime.audit.flowing", "assert_gradients_flow"),
    "audit": ("gradwhy.runtime.audit.inline", "Audit"),
    "explain": ("gradwhy.integrations.explaining", "explain"),
    "install": ("gradwhy.integrations.excepthook", "install"),
    "load_ipython_extension": ("gradwhy.integrations.ipython", "load"),
    "uninstall": ("gradwhy.integrations.excepthook", "uninstall"),
    "unload_ipython_extension": ("gradwhy.integrations.ipython", "unload"),
    "watch": ("gradwhy.integrations.block", "watch"),
}


def __getattr__(name: str) -> Any:
    if name not in _VERBS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _VERBS[name]
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
