"""Drives every session that nobody else drives, for as long as a server runs.

Made by ``main`` for a server. A launch or a wish is a row; the keeper of whichever server gets the lease acts
on it, and one that dies is followed by another's. It shows nothing to anybody and decides nothing:
``core.plans.session`` does. Letting go of a session never ends its agent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from moorage.core.errors import MoorageError
from moorage.core.session import Phase, Session
from moorage.ports.sessions import Attachment, Happening, Progress
from moorage.ports.store import Lease
from moorage.sessions import probe, removal
from moorage.sessions.contact import FOLLOWING
from moorage.sessions.owner import LEASE_TTL, Owner
from moorage.sessions.parts import Parts

LOOK_EVERY = 2.0
"""Seconds between two looks at the records, where nobody says that something changed."""
SWEEP_EVERY = 60.0
"""Seconds between two looks for what killed commands and late answers left."""
FIRST_REST, LONGEST_REST = 1.0, 60.0
"""Seconds for which a session that could not be driven is let be; twice as long each time."""

_QUIET = (Phase.PRESERVED, Phase.FAILED, Phase.LOST, Phase.ARCHIVED, Phase.DELETED)
_log = logging.getLogger("moorage.keeper")


def to_be_driven(session: Session) -> bool:
    """Whether something is still to be done for it, or may become so by itself (a running agent ends)."""
    return session.state.phase not in _QUIET or session.seen_intent < session.intent.number


@dataclass
class _Rest:
    """``intent``: the wish with which it could not be driven; a newer one is tried at once."""

    until: float
    seconds: float
    intent: int


class Keeper:
    """One server's. Implements ``ports.serving.Driving``."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._driven: dict[str, asyncio.Task[None]] = {}
        self._rests: dict[str, _Rest] = {}
        self._nudged = asyncio.Event()
        self._swept = 0.0
        self._running: asyncio.Task[None] | None = None

    @property
    def driven(self) -> frozenset[str]:
        """Ids of the sessions that this keeper drives at the moment."""
        return frozenset(self._driven)

    async def start(self) -> None:
        """``run``, beside the caller."""
        self._running = asyncio.create_task(self.run())

    async def close(self) -> None:
        """Let go of all sessions; agents run on."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    def follow(self, session_id: str) -> None:
        """See the port."""
        self._nudged.set()

    def attachment(self, session_id: str) -> Attachment | None:
        """See the port. A keeper drives without one."""
        return None

    def nudge(self) -> None:
        """Something was launched or wished: look at once."""
        self._nudged.set()

    async def run(self) -> None:
        """Until cancelled; then all sessions are let go of. A store that cannot be read is asked again."""
        try:
            while True:
                self._nudged.clear()
                try:
                    await self._look()
                except MoorageError as error:
                    _log.warning("the records cannot be read: %s", error.message)
                await self._pause()
        finally:
            tasks = tuple(self._driven.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _pause(self) -> None:
        waits = {
            asyncio.ensure_future(self._nudged.wait()),
            asyncio.ensure_future(self._parts.clock.sleep(LOOK_EVERY)),
        }
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _look(self) -> None:
        now = self._parts.clock.monotonic()
        if now - self._swept >= SWEEP_EVERY:
            self._swept = now
            await removal.sweep(self._parts)
            await probe.sweep(self._parts)
        known = await self._parts.store.sessions.list_all()
        for session in known:
            if to_be_driven(session) and session.id not in self._driven and self._is_due(session, now):
                task = asyncio.create_task(self._keep(session), name=f"keep {session.name}")
                self._driven[session.id] = task
                task.add_done_callback(partial(self._gone, session.id))
        for gone in self._rests.keys() - {session.id for session in known}:
            del self._rests[gone]

    def _gone(self, session_id: str, _: asyncio.Task[None]) -> None:
        del self._driven[session_id]

    def _is_due(self, session: Session, now: float) -> bool:
        rest = self._rests.get(session.id)
        return rest is None or now >= rest.until or session.intent.number > rest.intent

    async def _keep(self, session: Session) -> None:
        if await self._parts.store.leases.holder(session.id):
            return  # whoever has it goes on; asked again at the next look, without a write
        try:
            lease = await self._parts.store.leases.acquire(session.id, self._parts.owner, ttl=LEASE_TTL)
            if lease is not None:
                await self._drive(session, lease)
        except MoorageError as error:
            self._let_be(session, error)
        except Exception:  # a fault of ours in one session must not end the others
            _log.exception("session %s is let be for a while", session.name)
            self._let_be(session, None)
        else:
            self._rests.pop(session.id, None)

    async def _drive(self, session: Session, lease: Lease) -> None:
        try:
            cluster = await self._parts.executors.of(session)
        except BaseException:
            await self._parts.store.leases.release(lease)
            raise
        owner = Owner(self._parts, cluster, session, lease, _told(session), away=FOLLOWING)
        try:
            await owner.drive()
        finally:
            await owner.close()

    def _let_be(self, session: Session, error: MoorageError | None) -> None:
        before = self._rests.get(session.id)
        again = before is not None and before.intent == session.intent.number
        seconds = min(before.seconds * 2, LONGEST_REST) if before and again else FIRST_REST
        until = self._parts.clock.monotonic() + seconds
        self._rests[session.id] = _Rest(until, seconds, session.intent.number)
        if error is not None:
            _log.warning("session %s is let be for %.0f s: %s", session.name, seconds, error.message)


def _told(session: Session) -> Callable[[Happening], None]:
    """Output is in the transcript; what is said on the way goes to the log, where it is asked for."""

    def emit(happening: Happening) -> None:
        if isinstance(happening, Progress):
            _log.debug("session %s: %s: %s", session.name, happening.step, happening.message)

    return emit
