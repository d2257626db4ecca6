"""Which rank of which job this process is: from the variables that torchrun and other launchers set."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from gradwhy.runtime.ranks.board import Board, StoreBoard


@dataclass(frozen=True, slots=True)
class Member:
    """One rank of a job of ``size`` ranks, and where they leave word for each other."""

    rank: int
    size: int
    board: Board
    spawned: bool = False
    """Whether another process of the program's started this one and tells of it."""


_here: list[Member] = []
"""What this process is; set for the program that is watched, not for what it starts."""


def here() -> Member | None:
    """The rank that this process is, None outside a job of several ranks."""
    return _here[0] if _here else None


def place(member: Member) -> None:
    """This process is that rank."""
    _here[:] = [member]


def leave() -> None:
    """The job is over for this process."""
    _here.clear()


def enter(environment: Mapping[str, str] | None = None) -> Member | None:
    """Take this process for the rank that its environment says, where that is one of several. Connects to nothing.

    (torch/distributed/rendezvous.py, ``_env_rendezvous_handler``; RUN_ID and RESTART_COUNT:
    torch/distributed/elastic/agent/server/local_elastic_agent.py.)
    """
    given = os.environ if environment is None else environment
    try:
        rank, size, port = (int(given[name]) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"))
        address = given["MASTER_ADDR"]
    except (KeyError, ValueError):
        return None
    if not 0 <= rank < size or size < 2:
        return None
    run = given.get("TORCHELASTIC_RUN_ID", "")
    attempt = given.get("TORCHELASTIC_RESTART_COUNT", "0")
    member = Member(rank, size, StoreBoard(address, port, f"gradwhy/{run}/{attempt}"))
    place(member)
    return member
