"""Several processes that train one model: who they are, what each of them found, and where one waits for another."""

from __future__ import annotations

from gradwhy.runtime.ranks.job import Member, enter, here, join, leave, place

__all__ = ["Member", "enter", "here", "join", "leave", "place"]
