"""The data folder: private to its user, opened by one process at a time. Called by ``open_store`` only.

The lock is held only while a store opens; it does not say who uses the folder afterwards.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from moorage.core.errors import StoreError
from moorage.store.database import BUSY_MS
from moorage.store.place import FREE_SPACE, disk_is_full

OPEN_TIMEOUT = 60.0
"""Seconds to wait for another process that opens (and perhaps migrates) the same store."""


def make_folder(folder: Path) -> None:
    """Create it with mode 0700, durably; an existing one is left as it is."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        for path in reversed(missing):
            path.mkdir(mode=0o700, exist_ok=True)
            sync_folder(path.parent)
    except OSError as problem:
        raise StoreError(
            f"the data folder {folder} cannot be made: {problem.strerror}",
            hint="choose another one with MOORAGE_DATA_DIR",
        ) from problem
    if not folder.is_dir():
        raise StoreError(f"the data folder {folder} is not a folder", hint="choose another: MOORAGE_DATA_DIR")


def sync_folder(folder: Path) -> None:
    """Make a new name in ``folder`` survive power loss."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@asynccontextmanager
async def opening(folder: Path) -> AsyncIterator[None]:
    """Be the only process that opens the store in ``folder``. The kernel lets go when we die."""
    try:
        descriptor = os.open(folder / "open.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:
        raise StoreError(
            f"the data folder {folder} cannot be written: {problem.strerror}",
            hint="it must belong to you; choose another one with MOORAGE_DATA_DIR",
        ) from problem
    try:
        await _take(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


async def _take(descriptor: int, folder: Path) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + OPEN_TIMEOUT
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if loop.time() > deadline:
                raise StoreError(
                    f"another process has been opening {folder} for {OPEN_TIMEOUT:.0f} s",
                    hint="find the process that holds open.lock there, and end it",
                ) from None
        await asyncio.sleep(0.02)


def prepare_sqlite(path: Path) -> None:
    """Make the database file with mode 0600 (its WAL inherits that) and switch it to WAL, once.

    Only under ``opening``: SQLite does not wait for others while it changes the journal mode.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(path, timeout=BUSY_MS / 1000)
        try:
            mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        finally:
            connection.close()
    except (OSError, sqlite3.Error) as problem:
        full = disk_is_full(path)
        raise StoreError(
            f"the database {path} cannot be opened: {'the disk is full' if full else problem}",
            hint=FREE_SPACE if full else "the file must be an SQLite database that you may write",
        ) from problem
    if mode != "wal":
        raise StoreError(
            f"the disk that holds {path} does not support SQLite's write-ahead log",
            hint="put the data folder on a local disk: MOORAGE_DATA_DIR",
        )
