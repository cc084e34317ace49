"""A workspace that a Pod has sent, as a work tree on this machine that git can look at. Used by
``engine.comparison``, in a worker thread.

The Pod may be hostile. Nothing is written outside ``into``: links are made last, when every directory is
there already as a real one, so nothing is ever written through one. Git's own directories are left out, at
any depth: no configuration, hook or object of the workspace comes here. Of modes only *executable* is kept.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from moorage.core.errors import HelperError
from moorage.engine.bounded_tar import Entry, entries, hostile

LIMIT = 4 << 30
"""Bytes of all files."""
_CHUNK = 1 << 20
_EXECUTABLE = 0o100


def checkout(tar: IO[bytes], into: Path, *, limit: int = LIMIT) -> None:
    """Unpack ``tar`` below the empty directory ``into``. Raises HelperError; OSError on a full disk."""
    root, left, links = os.fsencode(into), limit, []
    for entry in entries(tar):
        if any(part.lower() == b".git" for part in entry.name.split(b"/")):
            continue
        path = os.path.join(root, entry.name)
        left -= entry.size
        if left < 0:
            raise HelperError(
                f"the workspace holds more than {limit >> 30} GiB beside its history, and is not compared",
                hint="copy what you need: moorage cp NAME:/workspace/DIR .",
                details={"code": "limit"},
            )
        try:
            if entry.kind == "d":
                os.makedirs(path, 0o700, exist_ok=True)
                continue
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            if entry.kind == "l":
                links.append((path, entry))
            else:
                _file(path, entry)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise hostile("an entry that is a file and a directory") from error
    for path, entry in links:
        try:
            os.symlink(entry.target, path)
        except FileExistsError as error:
            raise hostile("a link where the archive has something else") from error


def _file(path: bytes, entry: Entry) -> None:
    mode = 0o700 if entry.mode & _EXECUTABLE else 0o600
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as file:
        assert entry.content is not None
        while chunk := entry.content.read(_CHUNK):
            file.write(chunk)
