"""EXEC: how a command's stream ends without saying so, says the wrong thing, or loses bytes on its way."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

from moorage.core.wire.exec import V5
from moorage.embedded.api.calls import Call
from moorage.embedded.faults import Answer, Dropped, HungUp, StreamFaults

from .answering import instead
from .knob import Knob, Strike
from .streaming import SIZES, ResetAfter, StreamStrike, Struck

EXECS = frozenset({"get pods/exec"})
STDIN, STDOUT, STDERR, STATUS = 0, 1, 2, 3
GOING_AWAY, ABNORMAL = 1001, 1006
SUCCESS = b'\x03{"metadata":{},"status":"Success"}'
WITHOUT_CODE = (
    b"{}",
    b'{"metadata":{},"status":"","code":0}',
    b'{"metadata":{},"status":"Failure","reason":"NonZeroExitCode","message":"it failed"}',
    b'{"metadata":{},"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode"}]}}',
)
"""What may stand on the status channel and names no exit code."""


class NoStatusClose(StreamStrike):
    """All of the output, and then no word of how the command ended. ``code`` 1006: the connection is cut."""

    def __init__(self, rng: random.Random, times: int = 1, *, code: int = 1000) -> None:
        super().__init__(rng, times)
        self.code = code

    def struck(self, call: Call) -> StreamFaults:
        return _Unsaid(self, call, self.code)


class _Unsaid(Struck):
    def __init__(self, strike: Strike, call: Call, code: int) -> None:
        super().__init__(strike, call)
        self._code = code

    async def to_client(self, message: bytes) -> AsyncIterator[bytes]:
        if message[0] == STATUS and self.live:
            self.fire()
            raise Dropped if self._code == ABNORMAL else HungUp(self._code)
        yield message


class SuccessWithoutCode(StreamStrike):
    """A last word that tells no exit code."""

    def __init__(self, rng: random.Random, times: int = 1, *, said: bytes = b"") -> None:
        super().__init__(rng, times)
        self._said = said or rng.choice(WITHOUT_CODE)

    def struck(self, call: Call) -> StreamFaults:
        return _Reworded(self, call, self._said)


class _Reworded(Struck):
    def __init__(self, strike: Strike, call: Call, said: bytes) -> None:
        super().__init__(strike, call)
        self._said = said

    async def to_client(self, message: bytes) -> AsyncIterator[bytes]:
        if message[0] == STATUS and self.live:
            self.fire()
            yield bytes((STATUS,)) + self._said
        else:
            yield message


class CloseAfterUpgrade(Strike):
    """Upgraded and closed in good order; the command never ran."""

    async def stream(
        self, call: Call, offered: tuple[str, ...]
    ) -> tuple[tuple[str, ...], StreamFaults | None]:
        self.hit(call)
        raise HungUp


class DropTail(StreamStrike):
    """Only the first ``kept`` bytes of the output arrive; then the command is said to have succeeded."""

    def __init__(self, rng: random.Random, times: int = 1, *, kept: int | None = None) -> None:
        super().__init__(rng, times)
        self._kept = rng.choice(SIZES) if kept is None else kept

    def struck(self, call: Call) -> StreamFaults:
        return _Tailless(self, call, self._kept)


class _Tailless(Struck):
    def __init__(self, strike: Strike, call: Call, kept: int) -> None:
        super().__init__(strike, call)
        self._left = kept

    async def to_client(self, message: bytes) -> AsyncIterator[bytes]:
        room, data = self._left, len(message) - 1
        if message[0] not in (STDOUT, STDERR) or data <= room or not self.live:
            self._left -= data if message[0] in (STDOUT, STDERR) else 0
            yield message
            return
        self.fire()
        if room > 0:
            yield message[: 1 + room]
        yield SUCCESS
        raise HungUp


class OnlyV4(Strike):
    """A server of before 1.29: the end of stdin cannot be told."""

    async def stream(
        self, call: Call, offered: tuple[str, ...]
    ) -> tuple[tuple[str, ...], StreamFaults | None]:
        self.hit(call)
        return tuple(word for word in offered if word != V5), None


class SlowReader(StreamStrike):
    """What the client sends is taken in small bites, with a pause before each."""

    BITE, PAUSE = 16 * 1024, 0.001

    def struck(self, call: Call) -> StreamFaults:
        return _Bites(self, call)


class _Bites(Struck):
    async def from_client(self, message: bytes) -> AsyncIterator[bytes]:
        if not self.live:
            yield message
            return
        self.fire()
        channel, data = message[:1], message[1:]
        for start in range(0, max(len(data), 1), SlowReader.BITE):
            await asyncio.sleep(SlowReader.PAUSE)  # sleep: it is the fault itself
            yield channel + data[start : start + SlowReader.BITE]


class StdinDrop(StreamStrike):
    """Of what the client writes only the first ``kept`` bytes arrive."""

    def __init__(self, rng: random.Random, times: int = 1, *, kept: int | None = None) -> None:
        super().__init__(rng, times)
        self._kept = rng.choice(SIZES) if kept is None else kept

    def struck(self, call: Call) -> StreamFaults:
        return _Deaf(self, call, self._kept)


class _Deaf(Struck):
    def __init__(self, strike: Strike, call: Call, kept: int) -> None:
        super().__init__(strike, call)
        self._left = kept

    async def from_client(self, message: bytes) -> AsyncIterator[bytes]:
        if message[0] != STDIN or not self.live:
            yield message
            return
        room, self._left = self._left, self._left - (len(message) - 1)
        if self._left >= 0:
            yield message
            return
        self.fire()
        if room > 0:
            yield message[: 1 + room]


def _page(call: Call) -> Answer:
    return Answer(200, b"<html><title>Welcome</title></html>", "text/html")


KNOBS = (
    Knob("no_status_close_1000", "EXEC", EXECS, NoStatusClose),
    Knob("no_status_close_1001", "EXEC", EXECS, lambda rng, n: NoStatusClose(rng, n, code=GOING_AWAY)),
    Knob("no_status_close_1006", "EXEC", EXECS, lambda rng, n: NoStatusClose(rng, n, code=ABNORMAL)),
    Knob("success_without_code", "EXEC", EXECS, SuccessWithoutCode),
    Knob("101_then_close", "EXEC", EXECS, CloseAfterUpgrade),
    Knob("rst_after", "EXEC", EXECS, ResetAfter),
    Knob("drop_tail", "EXEC", EXECS, DropTail),
    Knob("v4_only", "EXEC", EXECS, OnlyV4),
    Knob("slow_reader", "EXEC", EXECS, SlowReader),
    Knob("200_not_101", "EXEC", EXECS, instead(_page)),
    Knob("stdin_drop", "EXEC", EXECS, StdinDrop),
)
