"""PF: how a forwarded connection stalls, breaks, ends on one side, or is the only one that ever worked."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator

from moorage.embedded.api.calls import Call
from moorage.embedded.faults import Dropped, HungUp, StreamFaults

from .knob import Knob, Strike
from .streaming import SIZES, ResetAfter, StreamStrike, Struck

FORWARDS = frozenset({"get pods/portforward"})
DATA, ERROR = 0, 1


class AcceptStall(StreamStrike):
    """The connection is accepted, and nothing ever comes. ``announced``: but for the node's own greeting."""

    def __init__(self, rng: random.Random, times: int = 1, *, announced: bool | None = None) -> None:
        super().__init__(rng, times)
        self._announced = rng.random() < 0.5 if announced is None else announced

    def struck(self, call: Call) -> StreamFaults:
        return _Stalled(self, call, 2 if self._announced else 0)


class _Stalled(Struck):
    def __init__(self, strike: Strike, call: Call, passing: int) -> None:
        super().__init__(strike, call)
        self._passing = passing

    async def to_client(self, message: bytes) -> AsyncIterator[bytes]:
        if self._passing > 0 or not self.live:
            self._passing -= 1
            yield message
            return
        self.fire()
        await asyncio.Event().wait()


class HalfClose(StreamStrike):
    """The Pod's side ends after ``after`` bytes, while the client's bytes are still under way."""

    def __init__(self, rng: random.Random, times: int = 1, *, after: int | None = None) -> None:
        super().__init__(rng, times)
        self._after = rng.choice(SIZES[1:]) if after is None else after

    def struck(self, call: Call) -> StreamFaults:
        return _Half(self, call, self._after)


class _Half(Struck):
    def __init__(self, strike: Strike, call: Call, left: int) -> None:
        super().__init__(strike, call)
        self._left = left
        self._greetings = 2

    async def to_client(self, message: bytes) -> AsyncIterator[bytes]:
        if self._greetings > 0 or message[0] != DATA or not self.live:
            self._greetings -= 1
            yield message
            return
        room, self._left = self._left, self._left - (len(message) - 1)
        yield message[: 1 + room]
        if self._left <= 0:
            self.fire()
            raise HungUp


class IdleCut(StreamStrike):
    """A load balancer on the way: who says nothing for ``after`` seconds is cut off."""

    def __init__(self, rng: random.Random, times: int = 1, *, after: float = 0.05) -> None:
        super().__init__(rng, times)
        self._after = after

    def struck(self, call: Call) -> StreamFaults:
        return _Idle(self, call, self._after)


class _Idle(Struck):
    def __init__(self, strike: Strike, call: Call, after: float) -> None:
        super().__init__(strike, call)
        self._after = after
        self._heard = asyncio.Event()

    async def to_client(self, message: bytes) -> AsyncIterator[bytes]:
        self._heard.set()
        yield message

    async def from_client(self, message: bytes) -> AsyncIterator[bytes]:
        self._heard.set()
        yield message

    async def beside(self) -> None:
        while self.live:
            self._heard.clear()
            try:
                async with asyncio.timeout(self._after):
                    await self._heard.wait()
            except TimeoutError:
                self.fire()
                raise Dropped from None


class ErrorStreamTimeout(StreamStrike):
    """The node waits for the second of a connection's two streams, and gives it up: of the two, only the data
    channel is ever announced."""

    def struck(self, call: Call) -> StreamFaults:
        return _OneStream(self, call)


class _OneStream(Struck):
    async def to_client(self, message: bytes) -> AsyncIterator[bytes]:
        if message[0] == ERROR and self.live:
            self.fire()
            raise HungUp
        yield message


class FirstConnOnly(StreamStrike):
    """The first connection to a Pod works; each later one is refused by the node."""

    def __init__(self, rng: random.Random, times: int = 1) -> None:
        super().__init__(rng, times)
        self._seen: Counter[str] = Counter()

    async def stream(
        self, call: Call, offered: tuple[str, ...]
    ) -> tuple[tuple[str, ...], StreamFaults | None]:
        self._seen[call.path] += 1
        return offered, None if self._seen[call.path] == 1 else _Refused(self, call)


class _Refused(Struck):
    def __init__(self, strike: Strike, call: Call) -> None:
        super().__init__(strike, call)
        self._greetings = 2

    async def to_client(self, message: bytes) -> AsyncIterator[bytes]:
        yield message
        self._greetings -= 1
        if self._greetings == 0 and self.live:
            self.fire()
            yield bytes((ERROR,)) + b"error forwarding port: lost connection to pod"
            raise HungUp


KNOBS = (
    Knob("accept_stall", "PF", FORWARDS, AcceptStall),
    Knob("rst", "PF", FORWARDS, ResetAfter),
    Knob("half_close", "PF", FORWARDS, HalfClose),
    Knob("idle_cut", "PF", FORWARDS, IdleCut),
    Knob("error_stream_timeout", "PF", FORWARDS, ErrorStreamTimeout),
    Knob("first_conn_only", "PF", FORWARDS, FirstConnOnly),
)
