"""What lies in the cluster's folder is its user's alone: the folder, and files made by libraries that know
nothing of modes. Called by ``cluster`` before anything is written.

Whoever may read the store may read every Secret in it, so it is checked at each start, not the first alone.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from moorage.core.errors import StoreError

_OTHERS: Final = 0o077
_OURS: Final = frozenset(
    {"identity", "kubeconfig", "log", "log.1", "memory", "node", "port", "volumes"}
    | {"lock", "ready.lock", "start.lock", "users.lock"}
    | {"objects.db", "objects.db-shm", "objects.db-wal", "tokens.db", "tokens.db-journal"}
)


def private_folder(folder: Path) -> None:
    """Make it with mode 0700, or give that mode to one that holds nothing but a cluster.

    Raises StoreError for a folder that holds something else and that others may enter: closing it is not ours
    to do.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not folder.stat().st_mode & _OTHERS:
            return
        foreign = sorted(set(os.listdir(folder)) - _OURS)
        if not foreign:
            folder.chmod(0o700)
            return
    except OSError as error:
        raise StoreError(
            f"the embedded cluster cannot be in {folder}: {error.strerror}",
            hint="give a folder that belongs to you, or one that is not there yet",
        ) from error
    raise StoreError(
        f"{folder} can be entered by others and holds more than an embedded cluster ({foreign[0]})",
        hint=f"give a folder of its own, or close this one: chmod 700 {folder}",
    )


def private_database(path: Path) -> None:
    """See that an SQLite file is there, mode 0600: what is made beside it inherits that, and what is there
    already gets it."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    for ending in ("", "-wal", "-shm", "-journal"):
        beside = path.with_name(path.name + ending)
        if beside.exists():
            beside.chmod(0o600)
