"""A directory as one tar file, the way a workspace wants it. Called by ``engine.sources`` in a thread.

Names are relative, owners are dropped (files belong to whoever unpacks them), modes, times and symbolic
links are kept. Devices, sockets and pipes are left out, and told.
"""

from __future__ import annotations

import os
import tarfile
from pathlib import Path


def write_tar(tree: Path, target: Path) -> list[str]:
    """Write ``target`` (mode 0600) from all below ``tree``, sorted: equal trees give equal bytes. Returns
    the names of what was left out."""
    left_out: list[str] = []

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if not (info.isfile() or info.isdir() or info.issym() or info.islnk()):
            left_out.append(info.name)
            return None
        return _plain(info)

    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with (
        os.fdopen(descriptor, "wb") as raw,
        tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for entry in sorted(os.scandir(tree), key=lambda e: e.name):
            tar.add(entry.path, arcname=entry.name, filter=plain)
    return left_out


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode &= 0o777
    info.mtime = int(info.mtime)
    return info
