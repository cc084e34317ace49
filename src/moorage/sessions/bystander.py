"""While another process drives a session: can it be expected to act? Used by ``sessions.carry``.

What we cannot reach, it most likely does not either. Only looks; the other's lease is never touched.
"""

from __future__ import annotations

from moorage.core.observed import Unknown
from moorage.core.session import Session
from moorage.engine.observe import Observer
from moorage.ports.sessions import Progress, Report
from moorage.sessions.contact import Contact
from moorage.sessions.parts import Parts

LOOK_EVERY = 5.0
"""Seconds between two looks."""


class Bystander:
    """One wait for somebody else."""

    def __init__(self, parts: Parts, session: Session, report: Report) -> None:
        self._parts = parts
        self._session = session
        self._due = parts.clock.monotonic() + LOOK_EVERY
        self._contact = Contact(
            parts.clock,
            lambda step, message: report(Progress(step, message)),
            session.inventory.server_address,
            first=parts.patience,
            later=parts.patience,
            bears_refusal=True,  # the other process may have rights that we lack
            let_in=True,
        )

    async def look(self) -> None:
        """Now and then. Raises Unreachable or AccessDenied when nobody has answered for too long."""
        if self._parts.clock.monotonic() < self._due:
            return
        observer = Observer(await self._parts.executors.of(self._session), self._parts.clock)
        self._contact.asking()
        try:
            same = await observer.same_cluster(self._session.inventory)
        finally:
            self._contact.close()
        if isinstance(same, Unknown):
            self._contact.missed(observer.failure, same.why)
        else:
            self._contact.heard()
        self._due = self._parts.clock.monotonic() + LOOK_EVERY
