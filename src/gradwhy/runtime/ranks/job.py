"""Which rank of which job this process is: from the variables that launchers set, or the process group that the program made."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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


def join() -> Member | None:
    """The rank that this process is; where nothing says so yet, as its environment or its process group has it. Never raises."""
    if here() is None and enter() is None and (member := _of_group()) is not None:
        place(member)
    return here()


def _of_group() -> Member | None:
    """The rank in the default group, where its store can be reached by others.

    (torch/distributed/distributed_c10d.py, ``_get_default_store``; ``TCPStore.host`` and ``port``.)
    """
    try:
        dist = sys.modules["torch.distributed"]
        if not dist.is_initialized() or dist.get_world_size() < 2:
            return None
        store: Any = dist.distributed_c10d._get_default_store()
        while hasattr(store, "underlying_store"):
            store = store.underlying_store
        board = StoreBoard(store.host, store.port, "gradwhy/group")
        return Member(dist.get_rank(), dist.get_world_size(), board)
    except Exception:
        return None
