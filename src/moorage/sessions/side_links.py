"""The links that one process keeps open for exec, cp and ports: one a session, as long as it lives.

Made and used by ``sessions.verbs``. A link that has died is replaced at the next use; a Pod that does not
answer keeps nobody waiting but those who speak to it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from moorage.core.session import Session
from moorage.ports.link import Link
from moorage.sessions.parts import Parts
from moorage.sessions.side_link import side_link


class SideLinks:
    """By session id. ``drop`` and ``close`` may come at any time."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._links: dict[str, Link] = {}
        self._turns: dict[str, tuple[asyncio.Lock, int]] = {}

    async def to(self, session: Session) -> Link:
        """The open link, or a new one. Raises what ``side_link`` raises."""
        await self._forget_broken()
        async with self._turn(session.id):
            if session.id not in self._links:
                self._links[session.id] = await side_link(self._parts, session)
            return self._links[session.id]

    @contextlib.asynccontextmanager
    async def _turn(self, session_id: str) -> AsyncIterator[None]:
        """One opening at a time for each session. The lock goes with the last who wants it."""
        lock, waiting = self._turns.get(session_id, (asyncio.Lock(), 0))
        self._turns[session_id] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._turns.pop(session_id)
            if waiting > 1:
                self._turns[session_id] = (lock, waiting - 1)

    async def _forget_broken(self) -> None:
        """Of all sessions: nobody may ever ask for some of them again."""
        for session_id in [known for known, link in self._links.items() if link.broken]:
            await self.drop(session_id)

    async def replace(self, dead: Link) -> None:
        """Drop a link that failed, unless another one has taken its place."""
        for session_id in [known for known, link in self._links.items() if link is dead]:
            await self.drop(session_id)

    async def drop(self, session_id: str) -> None:
        """Close it and forget it. Repeatable."""
        link = self._links.pop(session_id, None)
        if link is not None:
            await link.close()

    async def close(self) -> None:
        for session_id in list(self._links):
            await self.drop(session_id)
