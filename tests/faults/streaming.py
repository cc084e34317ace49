"""What strikes on exec and port-forward share: one struck stream, and the ways in which a connection ends."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

from moorage.embedded.api.calls import Call
from moorage.embedded.faults import Dropped, NoStreamFaults, StreamFaults

from .knob import Strike

SIZES = (0, 1, 100, 5_000, 70_000)
"""Bytes after which a stream is struck, where a run draws: before anything, in a greeting, in a transfer."""


class Struck(NoStreamFaults):
    """The faults of one stream that a strike was given. ``live`` until the strike has fired often enough."""

    def __init__(self, strike: Strike, call: Call) -> None:
        self._strike, self._call = strike, call
        self.fired = False

    @property
    def live(self) -> bool:
        return self.fired or self._strike.left > 0

    def fire(self) -> None:
        """Noted once a stream."""
        if not self.fired:
            self.fired = True
            self._strike.hit(self._call)


class StreamStrike(Strike):
    """Hands each stream it may hit its own faults."""

    def struck(self, call: Call) -> StreamFaults:
        raise NotImplementedError

    async def stream(
        self, call: Call, offered: tuple[str, ...]
    ) -> tuple[tuple[str, ...], StreamFaults | None]:
        return offered, self.struck(call)


class ResetAfter(StreamStrike):
    """The connection is reset once so many bytes have passed, in both directions together."""

    def __init__(self, rng: random.Random, times: int = 1, *, after: int | None = None) -> None:
        super().__init__(rng, times)
        self._after = rng.choice(SIZES) if after is None else after

    def struck(self, call: Call) -> StreamFaults:
        return _Reset(self, call, self._after)


class _Reset(Struck):
    def __init__(self, strike: Strike, call: Call, left: int) -> None:
        super().__init__(strike, call)
        self._left = left

    async def to_client(self, message: bytes) -> AsyncIterator[bytes]:
        async for part in self._passed(message):
            yield part

    async def from_client(self, message: bytes) -> AsyncIterator[bytes]:
        async for part in self._passed(message):
            yield part

    async def _passed(self, message: bytes) -> AsyncIterator[bytes]:
        room, self._left = self._left, self._left - (len(message) - 1)
        if self._left > 0 or not self.live:
            yield message
            return
        if room > 0:
            yield message[: 1 + room]
        self.fire()
        raise Dropped(reset=True)
