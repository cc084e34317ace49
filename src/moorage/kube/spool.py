"""A first-in-first-out buffer of chunks: memory first, then a bounded, unlinked file.

Called by the streams, which must drain a connection at full speed whatever their reader does: the node
drops the end of a command's output when the client is slow. Never blocks the writer; when the bound is
reached it says so, and what was kept can still be read.
"""

from __future__ import annotations

import asyncio
import struct
import tempfile
from collections import deque
from typing import IO

MEMORY = 4 * 1024 * 1024
LIMIT = 512 * 1024 * 1024
"""Bytes kept for a reader that does not read; beyond that a stream is given up."""

_HEADER = struct.Struct("<BI")


class SpoolFull(Exception):
    """The reader is further behind than the spool may hold."""


class Spool:
    """Chunks tagged with a channel number. One writer, one reader."""

    def __init__(self, memory: int = MEMORY, limit: int = LIMIT) -> None:
        self._memory_limit, self._limit = memory, limit
        self._chunks: deque[tuple[int, bytes]] = deque()
        self._held = 0
        self._file: IO[bytes] | None = None
        self._read_at = self._write_at = 0
        self._ended = False
        self._error: Exception | None = None
        self._wake = asyncio.Event()

    def put(self, channel: int, data: bytes) -> None:
        """Append a chunk. Raises SpoolFull."""
        spilled = self._write_at - self._read_at
        if self._held + spilled + len(data) > self._limit:
            raise SpoolFull(f"more than {self._limit} bytes wait for a reader")
        if spilled or self._held + len(data) > self._memory_limit:
            self._spill(channel, data)
        else:
            self._chunks.append((channel, data))
            self._held += len(data)
        self._wake.set()

    def end(self, error: Exception | None = None) -> None:
        """No more chunks; ``error`` is raised to the reader once all of them are read."""
        if not self._ended:
            self._ended, self._error = True, error
            self._wake.set()

    async def get(self) -> tuple[int, bytes] | None:
        """The next chunk in order, None at the end. Raises what ``end`` was given."""
        while True:
            if self._chunks:
                channel, data = self._chunks.popleft()
                self._held -= len(data)
                return channel, data
            if self._file is not None and self._read_at < self._write_at:
                return self._unspill(self._file)
            if self._ended:
                self.discard()
                if self._error is not None:
                    raise self._error
                return None
            self._wake.clear()
            await self._wake.wait()

    def discard(self) -> None:
        """Drop what is held and the file."""
        self._chunks.clear()
        self._held = self._read_at = self._write_at = 0
        if self._file is not None:
            self._file.close()
            self._file = None

    def _spill(self, channel: int, data: bytes) -> None:
        # Plain writes of 32 KiB into the page cache: a thread for each would cost more than it saves.
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="moorage-spool-", buffering=0)  # noqa: SIM115
        self._file.seek(self._write_at)
        record = _HEADER.pack(channel, len(data)) + data
        while record:
            record = record[self._file.write(record) :]
        self._write_at = self._file.tell()

    def _unspill(self, file: IO[bytes]) -> tuple[int, bytes]:
        file.seek(self._read_at)
        channel, length = _HEADER.unpack(_exactly(file, _HEADER.size))
        data = _exactly(file, length)
        self._read_at = file.tell()
        if self._read_at == self._write_at:
            file.truncate(0)
            self._read_at = self._write_at = 0
        return channel, data


def _exactly(file: IO[bytes], length: int) -> bytes:
    parts = []
    while length:
        part = file.read(length)
        if not part:
            raise OSError("the spool file was cut short")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
