"""gradwhy: why has my gradient gone? The line, the reason, and a fix."""

from gradwhy.version import VERSION as __version__

__all__ = ["__version__"]
