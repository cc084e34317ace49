"""The last lines of a long byte stream, without keeping all of it. Pure."""

from __future__ import annotations

_TRIM = 1 << 20
"""Bytes collected before what is surely not wanted is dropped."""


class LastLines:
    """Keeps what may belong to the last ``count`` lines; a last line without newline counts as one."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._kept = bytearray()
        self._next_trim = _TRIM

    def add(self, data: bytes) -> None:
        self._kept += data
        if len(self._kept) >= self._next_trim:
            del self._kept[: self._start()]
            self._next_trim = len(self._kept) + _TRIM

    def text(self) -> bytes:
        return bytes(self._kept[self._start() :])

    def _start(self) -> int:
        if self._count == 0:
            return len(self._kept)
        at = len(self._kept) - 1 if self._kept.endswith(b"\n") else len(self._kept)
        for _ in range(self._count):
            at = self._kept.rfind(b"\n", 0, at)
            if at < 0:
                return 0
        return at + 1
