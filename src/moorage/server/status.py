"""Looks at sessions, shared while they are in flight: whoever asks while the same Pod is being looked at
waits for that look, and whoever asks after it gets a new one. Nothing is remembered.

Each look is of one exact Pod, with the credentials of now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from moorage.ports.serving import Places
from moorage.ports.sessions import SessionView

AT_ONCE: Final = 16


class Looks:
    """Of one server."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._flying: dict[str, asyncio.Task[SessionView]] = {}
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def at(self, session_id: str) -> SessionView:
        """Raises what the look raises, to everybody who waits for it."""
        flying = self._flying.get(session_id)
        if flying is None:
            flying = asyncio.create_task(self._look(session_id))
            self._flying[session_id] = flying
            flying.add_done_callback(lambda _: self._flying.pop(session_id, None))
        return await asyncio.shield(flying)  # one who goes away takes the answer from nobody

    async def at_all(self, session_ids: Sequence[str]) -> list[SessionView]:
        return list(await asyncio.gather(*(self.at(session_id) for session_id in session_ids)))

    async def _look(self, session_id: str) -> SessionView:
        async with self._gate:
            return await self._places.sessions.view(session_id)
