"""A container's output on disk, in the kubelet's format: ``TIME STREAM TAG TEXT``. Called by
``shim.containers``; read back by ``node.logs``.

Tag F ends a line, P is a piece of one. Two files of ``LIMIT`` bytes are kept.
"""

from __future__ import annotations

import os
import time

LIMIT = 10 << 20
PIECE = 16 << 10


class Journal:
    """Writes one container's log; ``path`` and ``path.1`` (older)."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._file).st_size
        self._open = {"stdout": b"", "stderr": b""}

    def put(self, stream: str, data: bytes) -> None:
        """Output as it came. Full lines, and pieces of over-long ones, are written at once."""
        lines = (self._open[stream] + data).split(b"\n")
        rest = lines.pop()
        for line in lines:
            self._line(stream, line, b"F")
        while len(rest) >= PIECE:
            self._write(stream, rest[:PIECE], b"P")
            rest = rest[PIECE:]
        self._open[stream] = rest

    def end(self, stream: str) -> None:
        """The stream has ended: what stands in a line without its end is written."""
        if self._open[stream]:
            self._line(stream, self._open[stream], b"F")
        self._open[stream] = b""

    def close(self) -> None:
        for stream in self._open:
            self.end(stream)
        os.close(self._file)

    def _line(self, stream: str, line: bytes, tag: bytes) -> None:
        while len(line) > PIECE:
            self._write(stream, line[:PIECE], b"P")
            line = line[PIECE:]
        self._write(stream, line, tag)

    def _write(self, stream: str, text: bytes, tag: bytes) -> None:
        line = b"%s %s %s %s\n" % (stamp(time.time_ns()).encode(), stream.encode(), tag, text)
        if self._size + len(line) > LIMIT:
            os.rename(self.path, self.path + ".1")
            os.close(self._file)
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._size = 0
        os.write(self._file, line)
        self._size += len(line)


def stamp(nanoseconds: int) -> str:
    """RFC 3339 with nanoseconds, UTC."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:09d}Z"
