"""Somebody follows every session that runs: takes its lease where that is free, stores its output, restarts
what was interrupted. Where another server or command holds the lease, waits for it to come free.

One task a session. Leaving ends no agent. Started and ended by ``server.run``; routes tell it of new
sessions.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Final

from moorage.core.errors import (
    AccessDenied,
    ApiError,
    LinkError,
    MoorageError,
    StoreError,
    Unreachable,
)
from moorage.core.session import Phase, Session
from moorage.ports.clock import Clock
from moorage.ports.serving import Places
from moorage.ports.sessions import Attachment
from moorage.ports.store import Store

ENDED: Final = (Phase.PRESERVED, Phase.FAILED, Phase.LOST, Phase.ARCHIVED, Phase.DELETED)
PASSING: Final = (Unreachable, AccessDenied, ApiError, LinkError, StoreError)
"""What may be over in a while: it is tried again, ever more seldom."""
FIRST_WAIT: Final = 2.0
LONGEST_WAIT: Final = 60.0
_log = logging.getLogger(__name__)


class Drivers:
    """Of one server."""

    def __init__(self, store: Store, places: Places, clock: Clock) -> None:
        self._store = store
        self._places = places
        self._clock = clock
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._attachments: dict[str, Attachment] = {}

    async def start(self) -> None:
        """Follow what ran when the last server ended."""
        for session in await self._store.sessions.list_all():
            if needs_a_driver(session):
                self.follow(session.id)

    def follow(self, session_id: str) -> None:
        """Repeatable. To be told after a launch, a resume and a reset."""
        if session_id in self._tasks:
            return
        task = asyncio.create_task(self._follow(session_id))
        self._tasks[session_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(session_id, None))

    def attachment(self, session_id: str) -> Attachment | None:
        """By which this server follows it; its owner may do more than others (signal)."""
        return self._attachments.get(session_id)

    @property
    def followed(self) -> frozenset[str]:
        return frozenset(self._tasks)

    async def close(self) -> None:
        """Let go of all leases; agents go on."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, session_id: str) -> None:
        wait = FIRST_WAIT
        while True:
            try:
                await self._until_it_ends(session_id)
                return
            except PASSING as error:
                _log.warning("session %s is out of reach: %s", session_id, error.message)
            except MoorageError as error:  # it failed, was removed, or waits for a person: that is on record
                _log.info("session %s is followed no more: %s", session_id, error.message)
                return
            await self._clock.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT)

    async def _until_it_ends(self, session_id: str) -> None:
        attachment = self._places.sessions.attach(session_id, watching=True)
        self._attachments[session_id] = attachment
        try:
            async for _ in attachment.happenings():
                pass
        finally:
            self._attachments.pop(session_id, None)
            with contextlib.suppress(MoorageError):
                await attachment.close()


def needs_a_driver(session: Session) -> bool:
    """Whether anything is going on, or was wished and not yet done."""
    return session.state.phase not in ENDED or session.seen_intent < session.intent.number
