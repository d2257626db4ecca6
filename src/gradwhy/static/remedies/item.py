"""Keeps tensors as tensors."""

from gradwhy.static.tensors_kept import remedies

__all__ = ["remedies"]
