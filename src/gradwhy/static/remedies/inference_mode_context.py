"""Moves what needs gradients out of the block or decorator."""

from gradwhy.static.gradients_on import remedies

__all__ = ["remedies"]
