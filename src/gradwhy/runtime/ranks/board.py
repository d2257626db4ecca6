"""Where the ranks of a job leave word for each other: the job's own store, or a folder of the process that started them.

Nothing in here waits long, and nothing touches a key of the job's.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

_CONNECT = 2.0
# A store that has answered this short a time ago is there.
_SURE = 0.5
# Long for a store that is busy or has few cores; one that needs longer is not asked again.
_ANSWER = timedelta(seconds=10)


class Gone(Exception):
    """The board can't be reached, or not any more."""


class Board(Protocol):
    """Texts by key, counts by key, and claims that one rank alone gets. Everything raises Gone."""

    def post(self, key: str, text: str) -> None:
        """Leave a text under a key, in place of an earlier one."""

    def read(self, key: str) -> str | None:
        """The text under a key, None where there is none yet."""

    def claim(self, key: str) -> bool:
        """Whether we are the first to ask for this key."""

    def add(self, key: str, number: int) -> int:
        """Add to a count and return it; with 0, look at it."""


class StoreBoard:
    """A connection of our own to the ``TCPStore`` that the job itself uses, under a prefix of our own.

    It does not count as a worker (``wait_for_workers=False``), and does not need a process group. Threads may use it in turns.
    (torch/distributed/rendezvous.py: where a job's store is.)
    """

    def __init__(self, address: str, port: int, prefix: str) -> None:
        self._address, self._port, self._prefix = address, port, prefix
        self._store: Any = None
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._slow = False
        self._seen = float("-inf")

    @contextlib.contextmanager
    def _connected(self) -> Any:
        with self._lock:
            if self._slow:
                raise Gone("no answer in time")
            asked = time.monotonic()
            try:
                if asked - self._seen > _SURE:
                    # torch writes warnings of its own where a store that it was connected to is gone.
                    socket.create_connection((self._address, self._port), _CONNECT).close()
                if self._store is None or self._process != os.getpid():
                    self._process = os.getpid()
                    self._store = self._connect()
                yield self._store
                self._seen = time.monotonic()
            except Exception as fault:
                self._store = None
                self._slow = time.monotonic() - asked >= _ANSWER.total_seconds()
                raise Gone(f"{type(fault).__name__}: {fault}") from None

    def _connect(self) -> Any:
        if "torch" not in sys.modules:
            # A program that has not come to import it needs nothing of it from us.
            raise Gone("torch is not imported")
        from torch.distributed import PrefixStore, TCPStore

        store = TCPStore(self._address, self._port, is_master=False, timeout=_ANSWER, wait_for_workers=False)
        return PrefixStore(self._prefix, store)

    def post(self, key: str, text: str) -> None:
        with self._connected() as store:
            store.set(key, text)

    def read(self, key: str) -> str | None:
        with self._connected() as store:
            # ``get`` would wait for the key.
            return store.get(key).decode("utf-8") if store.check([key]) else None

    def claim(self, key: str) -> bool:
        return self.add(key, 1) == 1

    def add(self, key: str, number: int) -> int:
        with self._connected() as store:
            return int(store.add(key, number))


class FolderBoard:
    """A folder that all ranks can reach, for those that one process has started on its own machine."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def _path(self, key: str) -> Path:
        return self._folder / key.replace("/", ".")

    def post(self, key: str, text: str) -> None:
        part = self._path(f"{key}.part-{uuid.uuid4().hex}")
        try:
            part.write_text(text, "utf-8")
            part.replace(self._path(key))
        except OSError as fault:
            raise Gone(str(fault)) from None

    def read(self, key: str) -> str | None:
        try:
            return self._path(key).read_text("utf-8")
        except FileNotFoundError:
            if self._folder.is_dir():
                return None
            raise Gone(str(self._folder)) from None
        except OSError as fault:
            raise Gone(str(fault)) from None

    def claim(self, key: str) -> bool:
        try:
            self._path(key).touch(exist_ok=False)
        except FileExistsError:
            return False
        except OSError as fault:
            raise Gone(str(fault)) from None
        return True

    def add(self, key: str, number: int) -> int:
        try:
            for _ in range(number):
                self._path(f"{key}.one-{uuid.uuid4().hex}").touch()
            return sum(1 for _ in self._folder.glob(f"{self._path(key).name}.one-*"))
        except OSError as fault:
            raise Gone(str(fault)) from None
