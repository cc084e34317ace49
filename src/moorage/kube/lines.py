"""Splits a watch's bytes into lines. Pure; called by ``kube.reflector``.

The library's own ``readline`` fails on lines longer than its buffer, and a Pod may well be longer.
"""

from __future__ import annotations

from collections.abc import Iterator

MAX_LINE = 32 * 1024 * 1024


class LineTooLong(Exception):
    """A line exceeds what any Kubernetes object can be: the stream is no watch."""


class LineSplitter:
    """Feed chunks as they come; get complete lines without their newline."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max_line = max_line
        self._parts: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that ``chunk`` completes; empty ones are left out. Raises LineTooLong."""
        head, newline, rest = chunk.partition(b"\n")
        while newline:
            line = b"".join((*self._parts, head)) if self._parts else head
            self._parts.clear()
            self._length = 0
            if line.strip():
                yield line
            head, newline, rest = rest.partition(b"\n")
        if head:
            self._parts.append(head)
            self._length += len(head)
            if self._length > self._max_line:
                raise LineTooLong(f"a line of more than {self._max_line} bytes")

    @property
    def pending(self) -> bool:
        """Whether half a line is left: the stream was cut inside an event."""
        return bool(self._parts)
