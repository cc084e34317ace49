"""Unpacking a tar from a Pod, which may be hostile, below one local directory; and packing one for it.

Used by ``cli.transfer`` in a worker thread. Guarantee: nothing outside ``into`` is created, changed or
followed. tarfile's data filter is applied, and beside it our own checks, because the filter of older
Python releases can be fooled by links: no link is ever walked through, neither ours nor the archive's.
"""

from __future__ import annotations

import os
import stat
import tarfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from moorage.core.errors import MoorageError

_DRAIN = 64 * 1024


class HostileArchive(MoorageError):
    """An archive tried something that a copy of files never needs. Nothing of it is kept."""

    code = "hostile_archive"


@dataclass
class Unpacked:
    """What was unpacked. ``modes``: directories and the permission bits they shall get in the end (a
    read-only one could not be filled). ``skipped``: links that lead out, as they were named."""

    files: int = 0
    size: int = 0
    modes: dict[str, int] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


def unpack(stream: IO[bytes], into: Path) -> Unpacked:
    """Unpack ``stream`` below the empty directory ``into``. Raises HostileArchive, tarfile.TarError,
    OSError. Reads the stream to its end, so that its sender can finish."""
    if not hasattr(tarfile, "data_filter"):
        raise MoorageError(
            "this Python cannot unpack archives safely", hint="Python 3.11.4 or newer can; install it"
        )
    done = Unpacked()
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            _entry(archive, member, into, done)
    while stream.read(_DRAIN):
        pass
    return done


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo, into: Path, done: Unpacked) -> None:
    name = _safe_name(member.name)
    if name is None:
        return
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        raise HostileArchive(f"the archive holds a device or pipe: {member.name!r}")
    if member.issym() and _leads_out(name, member.linkname):
        done.skipped.append(f"{member.name} -> {member.linkname}")
        return
    target = into / name
    _real_parents(into, PurePosixPath(name))
    if member.islnk():
        _check_hard_link(member, into)
    if member.isdir():
        if target.is_symlink() or not target.is_dir():
            target.unlink(missing_ok=True)
            target.mkdir(0o700)
        done.modes[name] = member.mode & 0o777
        return
    if target.is_symlink() or target.exists():
        if target.is_dir() and not target.is_symlink():
            raise HostileArchive(f"the archive holds {member.name!r} both as directory and as file")
        target.unlink()
    member.name = name
    try:
        archive.extract(member, into, filter=_filter)
    except tarfile.FilterError as error:
        raise HostileArchive(f"the archive was refused: {error}") from error
    done.files += 1
    done.size += member.size


def _filter(member: tarfile.TarInfo, into: str) -> tarfile.TarInfo | None:
    """The data filter, but with the permission bits kept as they are in the Pod. A hard link brings none:
    they are the file's."""
    checked = tarfile.data_filter(member, into)
    kept = {"mode": member.mode & 0o777} if member.isreg() else {"mode": None}
    return checked.replace(**kept, deep=False)


def _safe_name(name: str) -> str | None:
    """The name without ``.`` parts; None for the root itself. Raises HostileArchive for ``..``, ``/…``."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise HostileArchive(f"the archive holds a name that leads out: {name!r}")
    return str(path) if path.parts else None


def _leads_out(name: str, target: str) -> bool:
    """Does a symbolic link at ``name`` point out of the archive's root, read word by word?"""
    if target.startswith("/"):
        return True
    depth = len(PurePosixPath(name).parts) - 1
    for part in target.split("/"):
        if part == "..":
            depth -= 1
        elif part not in ("", "."):
            depth += 1
        if depth < 0:
            return True
    return False


def _real_parents(into: Path, name: PurePosixPath) -> None:
    """Make the directories above ``name``; one that is a link or file is refused."""
    at = into
    for part in name.parts[:-1]:
        at = at / part
        try:
            mode = at.lstat().st_mode
        except FileNotFoundError:
            at.mkdir(0o755)
            continue
        if not stat.S_ISDIR(mode):
            raise HostileArchive(f"the archive writes through {part!r}, which is no directory")


def _check_hard_link(member: tarfile.TarInfo, into: Path) -> None:
    """A hard link may only point to a file this archive brought, not through links."""
    name = _safe_name(member.linkname)
    target = into / (name or "")
    _real_parents(into, PurePosixPath(name or "."))
    if name is None or not target.exists() or not stat.S_ISREG(target.lstat().st_mode):
        raise HostileArchive(f"the archive links to {member.linkname!r}, which it does not hold")
    member.linkname = name


def pack(stream: IO[bytes], source: Path, name: str) -> list[str]:
    """Write ``source`` to ``stream`` as tar under ``name`` ("": only the contents of a directory).
    Returns what was left out: sockets, pipes, devices. Links stay links."""
    skipped: list[str] = []

    def clean(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            skipped.append(member.name)
            return None
        return member.replace(mode=member.mode & 0o777, uid=0, gid=0, uname="", gname="", deep=False)

    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        if name:
            archive.add(source, arcname=name, filter=clean)
        else:
            for entry in sorted(os.listdir(source)):
                archive.add(source / entry, arcname=entry, filter=clean)
    return skipped
