"""The entries of a tar that a Pod has sent, which may be hostile, read without ever writing one.

Used by ``engine.workspace_copy`` and ``engine.checkout`` in worker threads. Names are relative and have no
``..``; there are only files, directories and symbolic links; headers, names and the number of entries have
limits, since tarfile keeps what stands before an entry in memory, however long it is.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, cast

from moorage.core.errors import HelperError

MOST_ENTRIES = 500_000
"""Of one workspace, as in agentctl."""
_MOST_HEADER = 4 << 20
_MOST_NAME = 4096
_BAD = (ValueError, ArithmeticError, LookupError, AssertionError, EOFError, RecursionError)
"""What tarfile lets out, beside its own errors, for headers that make no sense."""
_NO_SET_ID = 0o777


@dataclass(frozen=True)
class Entry:
    """``kind``: ``d``, ``f`` or ``l``. ``name``: as the file system has it, without a slash at its end;
    ``mode``: permission bits; ``target``: of a link; ``content``: of a file, to be read before the next."""

    kind: str
    name: bytes
    mode: int
    size: int = 0
    target: bytes = b""
    content: IO[bytes] | None = None


class _Metered:
    """The stream as tarfile reads it; what comes before an entry has a limit."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.left = _MOST_HEADER
        self.content = False

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        if not self.content:
            self.left -= len(data)
            if self.left < 0:
                raise hostile("a header without end")
        return data


def entries(stream: IO[bytes]) -> Iterator[Entry]:
    """Each entry in the order of the archive. Raises HelperError (``hostile``), OSError."""
    metered = _Metered(stream)
    try:
        with tarfile.open(
            fileobj=cast("IO[bytes]", metered), mode="r|", encoding="utf-8", errors="surrogateescape"
        ) as archive:
            count = 0
            while (member := archive.next()) is not None:
                vars(archive)["members"].clear()  # else it keeps every one of them
                count += 1
                if count > MOST_ENTRIES:
                    raise hostile(f"more than {MOST_ENTRIES} entries")
                metered.content = True
                yield _entry(archive, member)
                metered.content, metered.left = False, _MOST_HEADER
    except tarfile.TarError as error:
        raise hostile("no tar stream") from error
    except _BAD as error:
        raise hostile(f"a header that makes no sense ({type(error).__name__})") from error


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Entry:
    name, target = os.fsencode(member.name), os.fsencode(member.linkname)
    if member.size < 0 or member.issparse() or max(len(name), len(target)) > _MOST_NAME:
        raise hostile(f"an entry of no use: {member.name[:200]!r}")
    if not name or name.startswith(b"/") or b"\0" in name or b".." in name.split(b"/"):
        raise hostile(f"a name of no use: {member.name[:200]!r}")
    mode = member.mode & _NO_SET_ID
    if member.isdir():
        return Entry("d", name, mode)
    if member.issym():
        return Entry("l", name, 0, target=target)
    if not member.isreg():
        raise hostile(f"neither file, directory nor link: {member.name[:200]!r}")
    return Entry("f", name, mode, member.size, content=archive.extractfile(member))


def hostile(what: str) -> HelperError:
    """What arrived is not what agentctl sends of a workspace."""
    return HelperError(f"the archive of the workspace holds {what}", details={"code": "hostile"})
