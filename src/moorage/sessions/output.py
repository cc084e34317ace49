"""Brings an agent's output from the link into the transcript, then to whoever watches.

Run by ``sessions.owner`` for as long as a link is open. Bytes are stored durably before they are shown and
before agentctl is told that it may drop them: a crash anywhere loses none and repeats none.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import NoReturn

from moorage.core.errors import LinkError
from moorage.ports.link import Gap, Link, Output
from moorage.ports.store import Lease, Store

Deliver = Callable[[Output | Gap], None]
BATCH = 1 << 20
BACKLOG = 256
QUIET = 15.0
"""Seconds without a new byte after which the end of an ended agent's output is no longer waited for."""
DRIP = 256 * 1024
"""Bytes that must come in each ``QUIET`` seconds then. An agent that has ended writes no more: what is left
lies in a journal, and an agentctl that hands it out slower than this lies, or its link is as good as dead."""


class OutputPump:
    """One link's output. ``start`` once a link; ``finish`` after the agent's exit; ``stop`` any time."""

    def __init__(self, store: Store, lease: Lease, deliver: Deliver) -> None:
        self._store = store
        self._lease = lease
        self._deliver = deliver
        self._task: asyncio.Task[None] | None = None
        self._stored = 0
        self._fault: Exception | None = None
        self._faulty = asyncio.Event()
        self.ended = asyncio.Event()
        self.failure: Exception | None = None

    @property
    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    async def start(self, link: Link) -> None:
        """Follow from the end of the stored transcript."""
        await self.stop()
        self.ended.clear()
        self.failure = None
        offset = await self._store.transcripts.end(self._lease.session_id)
        self._task = asyncio.create_task(self._follow(link, offset))

    async def fault(self) -> NoReturn:
        """Raises what keeps output from being stored (a full disk), once there is such a thing; a link that
        breaks is none. Nothing was acknowledged that is not stored, so the next owner gets it anew."""
        await self._faulty.wait()
        assert self._fault is not None
        raise self._fault

    async def _follow(self, link: Link, offset: int) -> None:
        """Receive and store side by side. The first that fails ends the other, which may wait for it."""
        queue: asyncio.Queue[Output | Gap | None] = asyncio.Queue(BACKLOG)
        receiving = asyncio.create_task(self._receive(link, offset, queue))
        try:
            await self._store_all(link, queue)
            await receiving
        except LinkError as error:
            self.failure = error
        except Exception as error:
            self._fault = error
            self._faulty.set()
        finally:
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)
            self.ended.set()

    async def _receive(self, link: Link, offset: int, queue: asyncio.Queue[Output | Gap | None]) -> None:
        """Ends the queue when the link does. Not when cancelled: nobody may be left who makes room in it."""
        try:
            async for item in link.output(offset):
                await queue.put(item)
        except Exception:
            await queue.put(None)
            raise
        await queue.put(None)

    async def _store_all(self, link: Link, queue: asyncio.Queue[Output | Gap | None]) -> None:
        while (item := await queue.get()) is not None:
            batch, last = _gather(item, queue)
            for part in batch:
                end = await self._store.transcripts.append(self._lease.session_id, part, self._lease)
                self._stored += len(part.data) if isinstance(part, Output) else 0
                self._deliver(part)
                await link.ack(end)
            if last:
                break

    async def finish(self) -> bool:
        """Wait until all that the agent wrote is stored (or the link broke). False when agentctl does not
        send the end: then less than ``DRIP`` bytes came in ``QUIET`` seconds. Raises as ``fault`` does."""
        before = -DRIP
        while self._task is not None and not self.ended.is_set() and self._stored - before >= DRIP:
            before = self._stored
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(QUIET):
                    await self.ended.wait()
        complete = self._task is None or self.ended.is_set()
        await self.stop()
        if self._fault is not None:
            raise self._fault
        return complete

    async def stop(self) -> None:
        """Let go. Repeatable."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def _gather(
    first: Output | Gap, queue: asyncio.Queue[Output | Gap | None]
) -> tuple[list[Output | Gap], bool]:
    """Join what is waiting already, so that a flood costs few transactions. True: the end was among it."""
    parts: list[Output | Gap] = [first]
    pieces: list[bytes] = [first.data] if isinstance(first, Output) else []
    size = len(pieces[0]) if pieces else 0
    while size < BATCH and not queue.empty():
        item = queue.get_nowait()
        if item is None:
            return _joined(parts, pieces), True
        if isinstance(item, Output) and pieces:
            pieces.append(item.data)
            size += len(item.data)
            continue
        parts = _joined(parts, pieces)
        parts.append(item)
        pieces = [item.data] if isinstance(item, Output) else []
    return _joined(parts, pieces), False


def _joined(parts: list[Output | Gap], pieces: list[bytes]) -> list[Output | Gap]:
    last = parts[-1]
    if len(pieces) > 1 and isinstance(last, Output):
        return [*parts[:-1], Output(last.offset, b"".join(pieces))]
    return parts
