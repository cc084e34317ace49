"""Unpacking a tar from a Pod, which may be hostile, below one local directory; and packing one for it.

Used by ``cli.transfer`` in a worker thread. Guarantee: nothing outside ``into`` is created, changed or
followed. Files are written here and not by tarfile: no link is ever walked through, neither ours nor the
archive's. tarfile's data filter, where this Python has one (3.11.4), is asked as well; alone it would not
do, since that of older releases can be fooled by links.
"""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import tarfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, cast

from moorage.core.errors import MoorageError

_CHUNK = 64 * 1024
MOST_BYTES = 64 << 30
"""Bytes of file contents in one archive, as for uploads."""
MOST_ENTRIES = 500_000
"""Entries of one archive, as in agentctl."""
_MOST_HEADER = 4 << 20
"""Bytes before one entry: tarfile keeps long names and pax records in memory, however long they are."""
_MOST_PADDING = 16 << 20
_MOST_NAME = 4096
# What tarfile lets out, beside its own errors, for headers that make no sense.
_BAD_HEADER = (ValueError, ArithmeticError, LookupError, AssertionError, EOFError, RecursionError)


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


class _Metered:
    """The stream as tarfile reads it: what comes before an entry, and after the last, has a limit."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.left = _MOST_HEADER
        self.content = False

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        if not self.content:
            self.left -= len(data)
            if self.left < 0:
                raise HostileArchive("the archive holds a header without end")
        return data


def unpack(stream: IO[bytes], into: Path) -> Unpacked:
    """Unpack ``stream`` below the empty directory ``into``. Raises HostileArchive, tarfile.TarError,
    OSError. Reads the stream to its end, so that its sender can finish."""
    done = Unpacked()
    links: list[Path] = []
    metered = _Metered(stream)
    try:
        _entries(metered, into, done, links)
    except _BAD_HEADER as error:
        raise tarfile.ReadError(f"a header that makes no sense ({type(error).__name__})") from error
    _drop_links_out(links, into, done)
    metered.left = _MOST_PADDING
    while metered.read(_CHUNK):
        pass
    return done


def _entries(metered: _Metered, into: Path, done: Unpacked, links: list[Path]) -> None:
    count = size = 0
    with tarfile.open(fileobj=cast("IO[bytes]", metered), mode="r|") as archive:
        while (member := archive.next()) is not None:
            vars(archive)["members"].clear()  # else it keeps every one of them
            if member.size < 0:
                raise HostileArchive(f"the archive holds a size below zero: {member.name[:200]!r}")
            count, size = count + 1, size + member.size
            if count > MOST_ENTRIES or size > MOST_BYTES:
                raise HostileArchive(f"the archive is over {MOST_ENTRIES} entries or {MOST_BYTES >> 30} GiB")
            metered.content = True
            _entry(archive, member, into, done, links)
            metered.content, metered.left = False, _MOST_HEADER


def _entry(
    archive: tarfile.TarFile, member: tarfile.TarInfo, into: Path, done: Unpacked, links: list[Path]
) -> None:
    if member.issparse():
        raise HostileArchive(f"the archive holds a file with holes: {member.name[:200]!r}")
    if len(member.name) > _MOST_NAME or len(member.linkname) > _MOST_NAME:
        raise HostileArchive(f"the archive holds a name that is too long: {member.name[:200]!r}")
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
    _ask_data_filter(member, into)
    if member.isdir():
        _directory(member, target)
        done.modes[name] = member.mode & 0o777
        return
    _make_way(member, target)
    if member.issym():
        target.symlink_to(member.linkname)
        links.append(target)
    elif member.islnk():
        os.link(_hard_link_source(member, into), target, follow_symlinks=False)
    else:
        _file(archive, member, target)
        done.size += member.size
    done.files += 1


def _ask_data_filter(member: tarfile.TarInfo, into: Path) -> None:
    if not hasattr(tarfile, "data_filter"):
        return
    try:
        tarfile.data_filter(member, str(into))
    except tarfile.FilterError as error:
        raise HostileArchive(f"the archive was refused: {error}") from error


def _directory(member: tarfile.TarInfo, target: Path) -> None:
    if target.is_symlink() or not target.is_dir():
        target.unlink(missing_ok=True)
        target.mkdir(0o700)


def _make_way(member: tarfile.TarInfo, target: Path) -> None:
    """A later entry of the same name replaces the earlier one, unless that is a directory."""
    if target.is_dir() and not target.is_symlink():
        raise HostileArchive(f"the archive holds {member.name!r} both as directory and as file")
    target.unlink(missing_ok=True)


def _file(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    """Content, permission bits and time; never an owner, never set-uid."""
    content = archive.extractfile(member)
    assert content is not None, "a regular file has content"
    with target.open("xb") as stream:
        shutil.copyfileobj(content, stream, _CHUNK)
        os.fchmod(stream.fileno(), member.mode & 0o777)
    if target.stat().st_size != member.size:
        raise tarfile.ReadError(f"{member.name!r} is cut short")
    with suppress(OverflowError, ValueError):  # a time that no file can have
        os.utime(target, (member.mtime, member.mtime))


def _drop_links_out(links: list[Path], into: Path, done: Unpacked) -> None:
    """Links that lead out only by way of other links: seen once all of them stand."""
    root = os.path.realpath(into)
    for link in links:
        if not link.is_symlink() or Path(os.path.realpath(link)).is_relative_to(root):
            continue
        done.skipped.append(f"{link.relative_to(into)} -> {os.readlink(link)}")
        link.unlink()


def _safe_name(name: str) -> str | None:
    """The name without ``.`` parts; None for the root itself. Raises HostileArchive for ``..``, ``/…``."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise HostileArchive(f"the archive holds a name that leads out: {name!r}")
    return str(path) if path.parts else None


def _stays_inside(name: str, target: str) -> bool:
    """Does the Pod take a symbolic link at ``name`` to ``target``? agentctl's rule: relative, ``..`` only in
    front, and no more of them than the link lies deep."""
    words = [part for part in target.split("/") if part not in ("", ".")]
    climbs = len(list(itertools.takewhile(lambda word: word == "..", words)))
    deep = len(PurePosixPath(name).parts) - 1
    return not target.startswith("/") and words.count("..") == climbs <= deep


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


def _hard_link_source(member: tarfile.TarInfo, into: Path) -> Path:
    """A hard link may only point to a file this archive brought, not through links."""
    name = _safe_name(member.linkname) or "."
    source = into / name
    _real_parents(into, PurePosixPath(name))
    if not source.exists() or not stat.S_ISREG(source.lstat().st_mode):
        raise HostileArchive(f"the archive links to {member.linkname!r}, which it does not hold")
    return source


@dataclass
class Omitted:
    """What ``pack`` left out: names of sockets, pipes and devices; links that lead out, with their target."""

    special: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


def pack(stream: IO[bytes], source: Path, name: str) -> Omitted:
    """Write ``source`` to ``stream`` as tar under ``name`` ("": only the contents of a directory).
    Returns what was left out. Links stay links, but for those that lead out: the Pod takes no archive
    with one."""
    omitted = Omitted()

    def clean(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            omitted.special.append(member.name)
            return None
        if member.issym() and not _stays_inside(member.name, member.linkname):
            omitted.links.append(f"{member.name} -> {member.linkname}")
            return None
        member.mode &= 0o777
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        if name:
            archive.add(source, arcname=name, filter=clean)
        else:
            for entry in sorted(os.listdir(source)):
                archive.add(source / entry, arcname=entry, filter=clean)
    return omitted
