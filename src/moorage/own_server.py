"""The server of a data folder: whether one runs, where it is reached, and how it is ended.

Made by ``main`` for ``moorage up`` and ``moorage down``. Two files in the folder: ``server.lock``, a lock of
the kernel that names its holder, so that a SIGKILL leaves nothing that could be out of date; and
``server.json``, which says where the holder is reached and counts only while the lock is held. Serves
nothing itself, and knows no credential.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from moorage.core.errors import Conflict, StoreError
from moorage.embedded.process import locks

LOCK: Final = "server.lock"
PLACE: Final = "server.json"
END_LIMIT: Final = 60.0
"""Seconds that a server has to let go of its sessions."""


class Running(msgspec.Struct, frozen=True):
    """A server that runs. ``url``: "" while it starts."""

    pid: int
    url: str = ""


class OwnServer:
    """Implements ``cli.wiring.OwnServer``."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir

    def running(self) -> Running | None:
        """None when the folder has no server. Not for the holder itself: to look at a record lock lets go
        of it."""
        pid = locks.holder(self._folder / LOCK)
        if pid is None:
            return None
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            told = msgspec.json.decode((self._folder / PLACE).read_bytes(), type=Running)
            if told.pid == pid:
                return told
        return Running(pid)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Be the folder's server. Raises Conflict, and says where the other is, when there is one."""
        lock = locks.open_lock(self._folder / LOCK)
        try:
            if not locks.try_flock(lock):
                raise self.taken()
            with os.fdopen(locks.hold_record(self._folder / LOCK)):
                yield
                (self._folder / PLACE).unlink(missing_ok=True)
        finally:
            os.close(lock)

    def taken(self) -> Conflict:
        """What to tell who wants to be the second."""
        other = self.running()
        where = f" at {other.url}" if other and other.url else ""
        return Conflict(
            f"a server of this data folder runs already{where} (process {other.pid if other else 'unknown'})",
            hint="end it with: moorage down; or give another --data-dir",
        )

    def announce(self, url: str) -> None:
        """Say where we are reached. Only for the holder."""
        text = msgspec.json.encode(Running(os.getpid(), url))
        new = self._folder / f"{PLACE}.new"
        new.write_bytes(text)
        new.replace(self._folder / PLACE)

    async def end(self) -> bool:
        """End it; False when none ran. Agents run on. Raises StoreError when it stays."""
        found = self.running()
        if found is None:
            return False
        try:
            process = os.pidfd_open(found.pid)
        except ProcessLookupError:
            return False
        try:
            if locks.holder(self._folder / LOCK) == found.pid:  # still the one that we opened
                signal.pidfd_send_signal(process, signal.SIGTERM)
            async with asyncio.timeout(END_LIMIT):
                await _gone(process)
        except TimeoutError:
            raise StoreError(
                f"the server (process {found.pid}) has not ended within {END_LIMIT:.0f} s",
                hint=f"to force it: kill -9 {found.pid}; agents run on, and the next server goes on",
            ) from None
        finally:
            os.close(process)
        return True


async def _gone(process: int) -> None:
    """Wait for the end of a process by its pidfd."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(process, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process)
