"""One file as a tar stream, and back. Files travel so in both directions (``SessionVerbs.get_tar``,
``put_tar``).

Used by ``sdk.filesystem``. Holds no file in memory as a whole.
"""

from __future__ import annotations

import tarfile
from collections.abc import AsyncIterator
from typing import Final

from moorage.core.errors import IntegrityError

_BLOCK: Final = tarfile.BLOCKSIZE
_LONGEST: Final = 64 * 1024
"""Bytes of a header's own records (a long name, times): more is no honest header."""


async def packed(
    name: str, mode: int, size: int, mtime: float, chunks: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """A tar of one file. ``chunks`` hold ``size`` bytes; ``mtime``: seconds since the epoch."""
    info = tarfile.TarInfo(name)
    info.mode, info.size, info.mtime = mode, size, mtime
    yield info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")
    async for chunk in chunks:
        yield chunk
    yield b"\0" * (-size % _BLOCK + 2 * _BLOCK)


class _Reader:
    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._held = b""

    async def some(self, most: int) -> bytes:
        """At least one byte, at most so many."""
        while not self._held:
            chunk = await anext(self._chunks, None)
            if chunk is None:
                raise _broken("it ended early")
            self._held = chunk
        taken, self._held = self._held[:most], self._held[most:]
        return taken

    async def exactly(self, count: int) -> bytes:
        parts = []
        while count:
            parts.append(await self.some(count))
            count -= len(parts[-1])
        return b"".join(parts)

    async def rest(self) -> None:
        """To the end, where the sum is compared."""
        async for _ in self._chunks:
            pass


async def only_file(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The content of the file that a tar of one file holds. IntegrityError for any other archive."""
    reader, size = _Reader(chunks), None
    while True:
        header = await _header(reader)
        if header.type in (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
            if header.size > _LONGEST:
                raise _broken("a header without end")
            records = await reader.exactly(header.size + -header.size % _BLOCK)
            if header.type == tarfile.XHDTYPE:
                size = _size(records[: header.size])
        elif header.isreg():
            break
        else:
            raise _broken("it holds no file")
    left = header.size if size is None else size
    while left:
        part = await reader.some(left)
        left -= len(part)
        yield part
    await reader.rest()


async def _header(reader: _Reader) -> tarfile.TarInfo:
    try:
        return tarfile.TarInfo.frombuf(await reader.exactly(_BLOCK), "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise _broken(str(error)) from None


def _size(records: bytes) -> int | None:
    """``size`` among the records ``LENGTH KEY=VALUE\\n`` of a file above 8 GiB."""
    at = 0
    while at < len(records):
        length, _, _ = records[at:].partition(b" ")
        if not length.isdigit() or int(length) <= 0:
            raise _broken("a header that makes no sense")
        key, _, value = records[at : at + int(length)].removesuffix(b"\n").partition(b" ")[2].partition(b"=")
        if key == b"size" and value.isdigit():
            return int(value)
        at += int(length)
    return None


def _broken(why: str) -> IntegrityError:
    return IntegrityError(f"the file did not arrive as a tar of one file: {why}")
