"""A directory as one tar file, the way a workspace wants it. Called by ``engine.sources`` in a thread.

Names are relative, owners are dropped (files belong to whoever unpacks them), modes, times and symbolic
links are kept. Devices, sockets and pipes are left out, logins in files of git are taken out, and both
are told.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from moorage.engine.git_logins import LARGEST, is_repository, may_hold_logins, without_logins


@dataclass
class Packed:
    """Names, relative to the tree, of what is not in the tar as it is in the tree."""

    left_out: list[str] = field(default_factory=list)
    """What is neither file, directory nor link."""
    without_logins: list[str] = field(default_factory=list)
    """Files of git repositories from which a login was taken."""


def write_tar(tree: Path, target: Path, packed: Packed) -> None:
    """Write ``target`` (mode 0600) from all below ``tree``, sorted: equal trees give equal bytes. What is
    not packed as it is, is added to ``packed``."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with (
        os.fdopen(descriptor, "wb") as raw,
        tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        _Walk(tree, tar, packed).all()


class _Walk:
    """Adds a tree: parents before what is in them, neighbours by name."""

    def __init__(self, tree: Path, tar: tarfile.TarFile, packed: Packed) -> None:
        self._tree = tree
        self._tar = tar
        self._packed = packed

    def all(self) -> None:
        # A stack, not recursion: a tree may be deeper than Python's.
        waiting = self._inside("", None)
        while waiting:
            name, repository = waiting.pop()
            if self._add(name, repository):
                waiting += self._inside(name, repository)

    def _inside(self, folder: str, repository: str | None) -> list[tuple[str, str | None]]:
        """What is in ``folder``, last first, each with the repository it belongs to: the name of git's own
        directory, "" for the tree itself, None outside of any."""
        names = sorted(os.listdir(self._tree / folder), reverse=True)
        if repository is None and (PurePosixPath(folder).name == ".git" or is_repository(names)):
            repository = folder
        return [(f"{folder}/{name}" if folder else name, repository) for name in names]

    def _add(self, name: str, repository: str | None) -> bool:
        """Add one entry; is it a directory to go into?"""
        path = self._tree / name
        seen = path.lstat()
        if stat.S_ISREG(seen.st_mode) and repository is not None and seen.st_size <= LARGEST:
            inner = PurePosixPath(name).relative_to(repository)
            if may_hold_logins(inner):
                self._add_cleaned(path, name, inner)
                return False
        info = self._tar.gettarinfo(path, arcname=name) if not stat.S_ISSOCK(seen.st_mode) else None
        if info is None or not (info.isfile() or info.isdir() or info.issym() or info.islnk()):
            self._packed.left_out.append(name)
            return False
        if info.isreg():
            with path.open("rb") as content:
                self._tar.addfile(_plain(info), content)
        else:
            self._tar.addfile(_plain(info))
        return info.isdir()

    def _add_cleaned(self, path: Path, name: str, inner: PurePosixPath) -> None:
        content = path.read_bytes()
        kept = without_logins(inner, content)
        if kept != content:
            self._packed.without_logins.append(name)
        info = self._tar.gettarinfo(path, arcname=name)
        # Never a link to a file packed before: that one may hold the login.
        info.type, info.linkname, info.size = tarfile.REGTYPE, "", len(kept)
        self._tar.addfile(_plain(info), io.BytesIO(kept))


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode &= 0o777
    info.mtime = int(info.mtime)
    return info
