"""Following an agent: drive the session if its lease is free, else read along from the store.

Made by ``sessions.verbs.attach`` and used by ``run`` and ``attach``. Starts at the byte after the last one
delivered, also where a command that shows no output (resume, stop) stored more; leaving never ends the agent.
What is delivered is on record before it is shown: a client killed in between never causes a repeat.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from enum import Enum

from moorage.core.errors import AccessDenied, Conflict, LinkError, NotFound, StoreError, Unreachable
from moorage.core.session import AgentExit, Desired, Phase, Session
from moorage.ports.link import Gap, Link, Output
from moorage.ports.sessions import Exited, Happening, Progress
from moorage.ports.store import RECORD_GONE
from moorage.sessions.carry import POLL, raise_failed
from moorage.sessions.contact import FOLLOWING, going_on
from moorage.sessions.owner import LEASE_TTL, Owner
from moorage.sessions.parts import Parts
from moorage.sessions.side_link import side_link
from moorage.sessions.unreadable import find_command

SETTLED = (Phase.PRESERVED, Phase.ARCHIVED)
"""Nothing of it runs, and nothing is left to be cleaned up."""
ENDED = (Phase.PRESERVED, Phase.FAILED, Phase.LOST, Phase.ARCHIVED, Phase.DELETED)


class _Signal(Enum):
    MORE = "the transcript holds more"
    OVER = "the owner has ended"


class SessionAttachment:
    """Implements ``ports.sessions.Attachment``."""

    def __init__(self, parts: Parts, name: str, *, from_start: bool, watching: bool = False) -> None:
        self._parts = parts
        self._name = name
        self._from_start = from_start
        self._watching = watching
        self._offset = 0
        self._owner: Owner | None = None
        self._side: Link | None = None
        self._following: AsyncGenerator[Happening, None] | None = None
        self._queue: asyncio.Queue[Progress | _Signal] = asyncio.Queue()
        self._more = False

    def happenings(self) -> AsyncIterator[Happening]:
        """See the port."""
        self._following = self._follow()
        return self._following

    async def _follow(self) -> AsyncGenerator[Happening, None]:
        session = await self._parts.store.sessions.get(self._name)
        async with contextlib.aclosing(self._follow_from(session)) as following:
            try:
                async for happening in following:
                    yield happening
            except StoreError as error:
                if error.details.get("state") == RECORD_GONE:
                    error.hint = f"what it has in the cluster stays; find it with: {find_command(session)}"
                raise

    async def _follow_from(self, session: Session) -> AsyncGenerator[Happening, None]:
        if self._watching:
            self._offset = await self._parts.store.transcripts.end(session.id)
        elif not self._from_start:
            self._offset = await self._parts.store.transcripts.delivered(session.id)
        while True:
            async for item in self._stored(session.id):
                yield item
            if session.state.phase in SETTLED and _over(session):  # no cluster is needed to tell that
                yield self._outcome(session)
                return
            owner = await self._own(session)
            if owner is not None:
                async with contextlib.aclosing(self._drive(owner)) as driven:
                    try:
                        async for happening in driven:
                            yield happening
                    except (Unreachable, AccessDenied) as error:
                        how = f"nothing is lost by that, and it goes on with: moorage attach {session.name}"
                        raise going_on(error, how) from error.__cause__
                return
            session = await self._parts.store.sessions.get(session.id)
            if _over(session):
                async for item in self._stored(session.id):
                    yield item
                yield self._outcome(session)
                return
            await self._parts.clock.sleep(POLL)

    async def _stored(self, session_id: str) -> AsyncIterator[Happening]:
        """What the transcript holds from our offset on; moves the offset."""
        while items := await self._parts.store.transcripts.read(session_id, self._offset):
            for item in items:
                await self._mark(session_id, item)
                yield item
            if self._offset >= await self._parts.store.transcripts.end(session_id):
                return

    async def _mark(self, session_id: str, item: Output | Gap) -> None:
        length = len(item.data) if isinstance(item, Output) else (item.length or 0)
        self._offset = item.offset + length
        if not self._watching:
            await self._parts.store.transcripts.mark_delivered(session_id, self._offset)

    async def _own(self, session: Session) -> Owner | None:
        """The lease, if it is free, and an owner to drive with."""
        lease = await self._parts.store.leases.acquire(session.id, self._parts.owner, ttl=LEASE_TTL)
        if lease is None:
            return None
        try:
            _refuse_removal(await self._parts.store.sessions.get(session.id))
            cluster = await self._parts.executors.of(session)
        except BaseException:
            await self._parts.store.leases.release(lease)
            raise
        return Owner(self._parts, cluster, session, lease, self._tell, away=FOLLOWING)

    def _tell(self, happening: Happening) -> None:
        """Output only wakes us: it is read on from the transcript, so that a flood that nobody reads stays
        on the disk and does not pile up here."""
        if isinstance(happening, Progress):
            self._queue.put_nowait(happening)
        elif not self._more:
            self._more = True
            self._queue.put_nowait(_Signal.MORE)

    async def _drive(self, owner: Owner) -> AsyncGenerator[Happening, None]:
        self._owner, tasks = owner, []
        try:
            async for item in self._stored(owner.session.id):  # what the owner before us still brought
                yield item
            driving = asyncio.create_task(owner.drive())
            tasks.append(driving)
            driving.add_done_callback(lambda _: self._queue.put_nowait(_Signal.OVER))
            while (told := await self._queue.get()) is not _Signal.OVER:
                if isinstance(told, Progress):
                    yield told
                    continue
                self._more = False  # before the look: what is stored after it wakes us again
                async for item in self._stored(owner.session.id):
                    yield item
            outcome = self._outcome(await driving)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._owner = None
            await owner.close()
        yield outcome  # who is told of the end may drive it at once

    def _outcome(self, session: Session) -> Exited:
        if session.state.phase in (Phase.FAILED, Phase.LOST):
            raise_failed(session)
        ended = session.run.exit if session.run is not None else None
        removed = session.state.phase is Phase.DELETED
        if removed and ended is None:
            raise NotFound(
                f"session {session.name} was removed while it was followed", details={"state": "removed"}
            )
        return Exited(ended or AgentExit(), kept=not removed)

    async def _link(self) -> Link:
        if self._owner is not None:
            if self._owner.connection.link is None:
                raise LinkError("the agent is not reachable at the moment")
            return self._owner.connection.link
        if self._side is None:
            session = await self._parts.store.sessions.get(self._name)
            self._side = await side_link(self._parts, session)
        return self._side

    async def send_input(self, data: bytes) -> None:
        await (await self._link()).send_input(data)

    async def close_input(self) -> None:
        await (await self._link()).close_input()

    async def resize(self, cols: int, rows: int) -> None:
        await (await self._link()).resize(cols, rows)

    async def signal(self, number: int) -> None:
        await (await self._link()).signal(number)

    async def close(self) -> None:
        if self._following is not None:
            await self._following.aclose()  # lets go of the session now, not when memory is cleaned up
        if self._side is not None:
            await self._side.close()
            self._side = None


def _refuse_removal(session: Session) -> None:
    """Whoever only looks on does not carry out what would cost the workspace."""
    desired, phase = session.intent.desired, session.state.phase
    verb = {Desired.ARCHIVED: "archive", Desired.DELETED: "rm"}.get(desired)
    if verb is not None and phase not in (Phase.ARCHIVED, Phase.DELETED):
        raise Conflict(
            f"session {session.name} is to be {desired.value}, and nobody is at it: that was cut short",
            hint=f"go on with it: moorage {verb} {session.name}; or keep it: moorage resume {session.name}",
        )


def _over(session: Session) -> bool:
    return session.state.phase in ENDED and session.seen_intent >= session.intent.number
