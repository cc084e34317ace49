"""Transcript rows to what a reader gets. Used by ``store.transcripts``; pure, touches no database."""

from __future__ import annotations

from moorage.ports.link import Gap, Output


class Collector:
    """Takes rows in order and joins neighbours; stops at ``limit`` bytes, before any later gap."""

    def __init__(self, offset: int, limit: int):
        if limit < 1:
            raise ValueError("limit must be at least one byte")
        self._at = offset
        self._room = limit
        self._done: list[Output | Gap] = []
        self._parts: list[bytes] = []
        self._began = offset

    @property
    def full(self) -> bool:
        return self._room == 0

    def skip_to(self, first: int) -> None:
        """Bytes below ``first`` are not held."""
        if first > self._at:
            self.take(self._at, first, None)

    def take(self, start: int, end: int, data: bytes | None) -> None:
        """One row: bytes, a gap (``data`` None), or one of unknown length (``start == end``). Rows that
        end below where we read are ignored, those that begin there are cut."""
        if self.full or end < self._at:
            return
        if data is not None:
            part = data[self._at - start :][: self._room]
            self._parts.append(part)
            self._room -= len(part)
            self._at += len(part)
        elif start == end:
            self._add_gap(Gap(self._at, None), end)
        elif end > self._at:
            self._add_gap(Gap(self._at, end - self._at), end)

    def items(self) -> list[Output | Gap]:
        """What was collected."""
        self._close_output()
        return self._done

    def _add_gap(self, gap: Gap, end: int) -> None:
        self._close_output()
        last = self._done[-1] if self._done else None
        if isinstance(last, Gap) and last.length is not None and gap.length is not None:
            self._done[-1] = Gap(last.offset, last.length + gap.length)
        else:
            self._done.append(gap)
        self._at = self._began = end

    def _close_output(self) -> None:
        if self._at > self._began:
            self._done.append(Output(self._began, b"".join(self._parts)))
        self._parts = []
        self._began = self._at
