"""One open link as tasks: reads for ever, writes in order, pings, and tells every stream when it ends.

Used by ``engine.link.client`` and its streams. It knows bytes and windows, no operation of agentctl.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from moorage.core.errors import LinkError, MoorageError
from moorage.core.wire.mux import (
    MAX_STREAMS,
    Answered,
    ClientMux,
    Ended,
    Event,
    Granted,
    Received,
    SaidGoodbye,
)
from moorage.engine.link.failures import remote_error
from moorage.ports.streams import ByteStream

PING_EVERY = 20.0
DEAD_AFTER = 90.0
HIGH_WATER = 1 << 20
"""Bytes that may wait for the transport before senders wait too."""
WRITE_SIZE = 256 << 10
BROKEN_HINT = "the agent is not touched by that; run the command again"


class LinkConnection:
    """The connection that all streams share. ``start`` it once, ``close`` it any number of times."""

    def __init__(self, stream: ByteStream, mux: ClientMux):
        self.mux = mux
        self._stream = stream
        self._streams: dict[int, LinkStream] = {}
        self._pending: deque[bytes] = deque()
        self._pending_size = 0
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._slots = asyncio.Semaphore(MAX_STREAMS - 1)
        self._tasks: list[asyncio.Task[None]] = []
        self._error: LinkError | None = None

    def start(self) -> None:
        """Begin to read, write and ping."""
        for job in (self._read, self._write, self._ping):
            self._tasks.append(asyncio.create_task(self._guard(job)))

    async def open(self, request: dict[str, Any], *, bulk: bool = False) -> LinkStream:
        """Open a stream; waits while as many are open as agentctl allows. ``bulk``: much may come on it.
        LinkError when dead."""
        await self._slots.acquire()
        try:
            self.check()
            number, opening = self.mux.open(request)
            if bulk:
                opening += self.mux.widen(number)
        except BaseException:
            self._slots.release()
            raise
        stream = self._streams[number] = LinkStream(self, number)
        self.put(opening)
        return stream

    @property
    def broken(self) -> bool:
        return self._error is not None

    def check(self) -> None:
        """Raise the LinkError that ended the connection, if one did."""
        if self._error is not None:
            raise LinkError(self._error.message, hint=self._error.hint, details=self._error.details)

    def put(self, data: bytes) -> None:
        """Queue bytes behind all earlier ones. Frames count, so nothing may be dropped or reordered."""
        if data and self._error is None:
            self._pending.append(data)
            self._pending_size += len(data)
            if self._pending_size > HIGH_WATER:
                self._room.clear()
            self._wake.set()

    async def room(self) -> None:
        """Wait until the transport has taken enough. LinkError when dead."""
        await self._room.wait()
        self.check()

    def forget(self, number: int) -> None:
        """A stream is over; its place is free."""
        if self._streams.pop(number, None) is not None:
            self._slots.release()

    async def close(self) -> None:
        """Say goodbye, as far as the transport takes it at once, and end everything."""
        if self._error is None:
            self._pending.append(self.mux.goodbye())
            rest = b"".join(self._pending)
            self._fail(LinkError("the link was closed"))
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            try:
                async with asyncio.timeout(1.0):
                    await self._stream.write(rest)
            except (MoorageError, TimeoutError):
                pass  # whoever does not read any more needs no goodbye
        else:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stream.close()

    async def _guard(self, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await job()
        except LinkError as error:
            self._fail(error)
        except Exception as error:
            # Whatever it was: who waits on a stream must not wait for ever.
            self._fail(LinkError(f"the link broke: {error!r}"))

    def _fail(self, error: LinkError) -> None:
        if self._error is None:
            error.hint = error.hint or BROKEN_HINT
            self._error = error
            self._pending.clear()
            self._room.set()
            self._wake.set()
            for stream in list(self._streams.values()):
                stream.on_failure(error)

    async def _read(self) -> None:
        self._dispatch(self.mux.feed(b""))
        while self._error is None:
            try:
                async with asyncio.timeout(DEAD_AFTER):
                    data = await self._stream.read()
            except TimeoutError:
                raise LinkError(f"agentctl was silent for {DEAD_AFTER:.0f} seconds") from None
            if not data:
                raise LinkError("the connection to agentctl ended")
            self._dispatch(self.mux.feed(data))

    def _dispatch(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, SaidGoodbye):
                raise LinkError(f"agentctl closed the link: {event.message}")
            if isinstance(event, Received | Ended | Granted | Answered):
                stream = self._streams.get(event.stream)
                if stream is not None:
                    stream.on_event(event)

    async def _write(self) -> None:
        while self._error is None:
            await self._wake.wait()
            self._wake.clear()
            while self._pending:
                batch = [self._pending.popleft()]
                size = len(batch[0])
                while self._pending and size + len(self._pending[0]) <= WRITE_SIZE:
                    batch.append(self._pending.popleft())
                    size += len(batch[-1])
                await self._stream.write(b"".join(batch))
                self._pending_size -= size
                if self._pending_size <= HIGH_WATER:
                    self._room.set()

    async def _ping(self) -> None:
        while self._error is None:
            await asyncio.sleep(PING_EVERY)
            self.put(self.mux.ping())


class LinkStream:
    """One request and what flows for it. For one reader and one writer at a time."""

    def __init__(self, connection: LinkConnection, number: int):
        self._connection = connection
        self.number = number
        self._inbox: deque[tuple[int, bytes]] = deque()
        self._ended = False
        self._answer: Answered | None = None
        self._failure: LinkError | None = None
        self._incoming = asyncio.Event()
        self._credit = asyncio.Event()
        self._credit.set()

    def on_event(self, event: Received | Ended | Granted | Answered) -> None:
        """Called by the connection, in order."""
        if isinstance(event, Granted):
            self._credit.set()
            return
        if isinstance(event, Received):
            self._inbox.append((event.channel, event.data))
        elif isinstance(event, Ended):
            self._ended = True
        else:
            self._answer = event
            self._credit.set()
            self._connection.forget(self.number)
        self._incoming.set()

    def on_failure(self, error: LinkError) -> None:
        """The connection is gone."""
        self._failure = error
        self._incoming.set()
        self._credit.set()
        self._connection.forget(self.number)

    async def receive(self) -> tuple[int, bytes] | None:
        """The next (channel, bytes); None once there will be none. LinkError when the link is dead."""
        while not self._inbox:
            if self._answer is not None or self._ended:
                return None
            self._check()
            self._incoming.clear()
            await self._incoming.wait()
        channel, data = self._inbox.popleft()
        self._connection.put(self._connection.mux.grant(self.number, len(data)))
        return channel, data

    async def send(self, channel: int, data: bytes) -> None:
        """Send all of ``data``, waiting for window and transport. Stops early once the stream is answered:
        the answer (see ``result``) says why."""
        mux = self._connection.mux
        rest = memoryview(data)
        while rest:
            self._check()
            if self._answer is not None:
                return
            size = mux.sendable(self.number)
            if size < min(len(rest), 4096):  # no tiny frames while the window only trickles
                self._credit.clear()
                await self._credit.wait()
                continue
            self._connection.put(mux.data(self.number, channel, rest[:size]))
            rest = rest[size:]
            await self._connection.room()

    def end(self) -> None:
        """No more from us."""
        self._connection.put(self._connection.mux.end(self.number))

    @property
    def answered(self) -> bool:
        return self._answer is not None

    async def result(self) -> dict[str, Any]:
        """Wait for the answer. Raises what agentctl reported; unread DATA is dropped."""
        while self._answer is None:
            self._inbox.clear()
            self._check()
            self._incoming.clear()
            await self._incoming.wait()
        if self._answer.code:
            raise remote_error(self._answer.code, self._answer.message)
        answer: dict[str, Any] = self._answer.result
        return answer

    def reset(self) -> None:
        """Give the stream up, unless it is over already."""
        if self._answer is None and self._failure is None:
            self._connection.put(self._connection.mux.reset(self.number))
            self._connection.forget(self.number)
            self._failure = LinkError("the request was given up")
            self._incoming.set()
            self._credit.set()

    def _check(self) -> None:
        if self._answer is None and self._failure is not None:
            raise LinkError(self._failure.message, hint=self._failure.hint, details=self._failure.details)
