"""Where an SQLite database lies: is the file still the one under its path, is its disk full? Asked by
``store.database`` and ``store.folder``.

A process goes on writing into a deleted file without noticing: what it then records, nobody ever reads.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from moorage.core.errors import StoreError
from moorage.ports.store import RECORD_GONE

ROOM: Final = 64 * 1024
"""Bytes that SQLite needs beside the database, at least: with less it speaks of an input or output error."""
FREE_SPACE: Final = "free some space on the disk that holds the data folder"


def disk_is_full(path: str | Path) -> bool:
    """Has the disk that holds the folder of ``path`` no room left? False where it cannot be told."""
    try:
        disk = os.statvfs(Path(path).parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < ROOM


class Place:
    """Of one open database. The file is known from its first use on; before that it may be yet to be made."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._known = self._look()

    def _look(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def check(self) -> None:
        """Raises StoreError once the file, or the folder with it, was removed or replaced."""
        now = self._look()
        if self._known is None:
            self._known = now
        elif now != self._known:
            raise StoreError(
                f"the data folder {Path(self._path).parent} was removed or replaced while it was in use; "
                "nothing more can be recorded there",
                hint="what runs in the cluster runs on; find it with: "
                "kubectl get pods,pvc -A -l app.kubernetes.io/managed-by=moorage",
                details={"state": RECORD_GONE},
            )
