"""Who works in the folder of prepared sources: many launches, or one sweep. For ``engine.sources`` only.

A file lock beside the folder: the kernel lets go of it when its holder is killed. Touches no other file.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

PAUSE = 0.02
"""Seconds between two tries, while a sweep (some reads and unlinks) is under way."""


@asynccontextmanager
async def launching(spool: Path) -> AsyncIterator[None]:
    """Be one of the launches; waits while somebody sweeps."""
    with _opened(spool) as descriptor:
        while True:
            if _taken(descriptor, fcntl.LOCK_SH):
                break
            await asyncio.sleep(PAUSE)
        yield


@contextmanager
def sweeping(spool: Path) -> Iterator[bool]:
    """Be the only one; False when that cannot be had now."""
    with _opened(spool) as descriptor:
        yield _taken(descriptor, fcntl.LOCK_EX)


@contextmanager
def _opened(spool: Path) -> Iterator[int]:
    # Never removed: a lock on a file that others cannot find any more would hold nobody back.
    descriptor = os.open(spool.with_name(f"{spool.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _taken(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
