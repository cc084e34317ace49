"""Reads a container's log as ``kubectl logs`` wants it. Called by ``node.local``.

The files are the shim's (``shim.journal``): ``TIME STREAM TAG TEXT`` a line, the older half in ``log.1``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from moorage.embedded.node.pulse import Pulse
from moorage.embedded.seam import LogOptions

CHUNK = 256 << 10
MESSAGE_BYTES, MESSAGE_LINES = 2048, 80


class Line(NamedTuple):
    """``full``: it ends here, and is no piece of a longer one."""

    time: str
    text: bytes
    full: bool

    def shown(self, timestamps: bool) -> bytes:
        prefix = self.time.encode() + b" " if timestamps else b""
        return prefix + self.text + (b"\n" if self.full else b"")


def parse(data: bytes) -> Iterator[Line]:
    """The lines of a log file; what no writer of ours wrote is left out."""
    for raw in data.split(b"\n"):
        words = raw.split(b" ", 3)
        if len(words) == 4:
            yield Line(words[0].decode(), words[3], words[2] == b"F")


def read_all(path: Path) -> list[Line]:
    """Everything that is kept."""
    found: list[Line] = []
    for part in (path.with_name(path.name + ".1"), path):
        if part.exists():
            found += parse(part.read_bytes())
    return found


def select(lines: list[Line], options: LogOptions, now: datetime) -> list[Line]:
    """What ``since`` and ``tail`` leave."""
    if options.since_seconds is not None:
        since = (now - timedelta(seconds=options.since_seconds)).strftime("%Y-%m-%dT%H:%M:%S.%f")
        lines = [line for line in lines if line.time[:26] >= since]
    if options.tail_lines is not None:
        starts = [at for at in range(len(lines)) if at == 0 or lines[at - 1].full]
        wanted = starts[-options.tail_lines :] if options.tail_lines > 0 else []
        lines = lines[wanted[0] :] if wanted else []
    return lines


async def read_log(
    path: Path, options: LogOptions, output: Pulse, running: Callable[[], bool]
) -> AsyncIterator[bytes]:
    """The log as bytes. ``output`` beats when there is more; ``running`` tells whether more may come."""
    left = options.limit_bytes
    follower = _Follower(path)
    first = True
    while True:
        count, more = output.count, running()
        lines = follower.fresh(old=first)
        if first:
            lines, first = select(lines, options, datetime.now(UTC)), False
        data = b"".join(line.shown(options.timestamps) for line in lines)
        if left is not None:
            data = data[:left]
            left -= len(data)
        for at in range(0, len(data), CHUNK):
            yield data[at : at + CHUNK]
        if not options.follow or left == 0 or (not more and not lines):
            return
        if not lines:
            await output.after(count)


class _Follower:
    """Reads what was appended since; goes over to the next file when the writer does."""

    def __init__(self, path: Path) -> None:
        self._path, self._inode, self._offset = path, 0, 0

    def fresh(self, *, old: bool) -> list[Line]:
        found: list[Line] = []
        older = self._path.with_name(self._path.name + ".1")
        if old and older.exists():
            found += parse(older.read_bytes())
        if not self._path.exists():
            return found
        inode = self._path.stat().st_ino
        if self._inode and inode != self._inode and older.exists():
            found += self._rest(older)
            self._offset = 0
        self._inode = inode
        return found + self._rest(self._path)

    def _rest(self, path: Path) -> list[Line]:
        with path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return list(parse(whole))


def last_words(path: Path) -> str:
    """The end of a log, as a termination message falls back to it."""
    lines = read_all(path)[-MESSAGE_LINES:]
    text = b"".join(line.shown(False) for line in lines)
    return text[-MESSAGE_BYTES:].decode(errors="replace")
