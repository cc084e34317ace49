"""Is the file of an open SQLite database still the one under its path? Asked by ``store.database``.

A process goes on writing into a deleted file without noticing: what it then records, nobody ever reads.
"""

from __future__ import annotations

import os
from pathlib import Path

from moorage.core.errors import StoreError
from moorage.ports.store import RECORD_GONE


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
