"""The files by which commands and the cluster's process find each other. Used by this package only.

Everything is a lock of the kernel, so a SIGKILL leaves nothing to clean up and no file can be out of date:

- ``lock`` (flock, see ``embedded.cluster``): held while the process has the folder.
- ``ready.lock`` (a record lock, which names its holder): held while it answers.
- ``users.lock`` (flock): shared by every command that uses the cluster; the process ends by itself only
  while it holds all of it.
- ``start.lock`` (flock): held by the one command that starts the process.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
from pathlib import Path
from typing import Final

FOLDER: Final = "lock"
READY: Final = "ready.lock"
USERS: Final = "users.lock"
START: Final = "start.lock"
POLL: Final = 0.02
"""Seconds between two tries for a lock: a blocking call could not be interrupted."""
_RECORD = struct.Struct("hhqqi4x")  # struct flock of 64-bit Linux: type, whence, start, length, pid


def open_lock(path: Path) -> int:
    """A descriptor that no program we start inherits; its folder is made when it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_flock(descriptor: int, *, shared: bool = False) -> bool:
    """Take the lock if nobody is in the way."""
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_UN)


async def take_flock(descriptor: int, *, shared: bool = False) -> None:
    """Take the lock, however long others hold it; may be cancelled."""
    while not try_flock(descriptor, shared=shared):  # noqa: ASYNC110  another process's doing
        await asyncio.sleep(POLL)


def is_free(path: Path) -> bool:
    """Whether nobody holds the flock at ``path``, which need not be there."""
    if not path.exists():
        return True
    descriptor = open_lock(path)
    try:
        return try_flock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def hold_record(path: Path) -> int:
    """Take the record lock, as the process ``holder`` will name. Only for whoever holds ``FOLDER``."""
    descriptor = open_lock(path)
    fcntl.lockf(descriptor, fcntl.LOCK_EX)
    return descriptor


def holder(path: Path) -> int | None:
    """The process that holds the record lock, None when nobody does."""
    if not path.exists():
        return None
    descriptor = open_lock(path)
    try:
        asked = _RECORD.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = _RECORD.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    finally:
        os.close(descriptor)
    return None if kind == fcntl.F_UNLCK else pid
