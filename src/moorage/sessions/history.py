"""What a session has said and been through: transcript and events, also after its Pod is gone.

Called by ``sessions.verbs``. Reads along; never drives and never acknowledges output.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

from moorage.core.errors import AccessDenied, LinkError, MoorageError, Unreachable
from moorage.core.kinds import EVENTS, Json
from moorage.core.plans.changes import agent_may_run
from moorage.core.pod_view import event_time
from moorage.core.session import Session
from moorage.ports.link import Gap, Output
from moorage.ports.sessions import Progress, Report
from moorage.ports.store import SessionEvent
from moorage.sessions.carry import POLL
from moorage.sessions.contact import going_on
from moorage.sessions.parts import Parts
from moorage.sessions.side_link import side_link


async def logs(parts: Parts, name: str, *, follow: bool, offset: int) -> AsyncIterator[Output | Gap]:
    """The stored part, then (for a session nobody drives) what the Pod still holds; then, with ``follow``,
    what comes, until the session is no longer running."""
    session = await parts.store.sessions.get(name)
    while True:
        while items := await parts.store.transcripts.read(session.id, offset):
            for item in items:
                offset = item.offset + _length(item)
                yield item
            if offset >= await parts.store.transcripts.end(session.id):
                break
        session = await parts.store.sessions.get(session.id)
        driven = await parts.store.leases.holder(session.id)
        if not driven:
            async for item in _held_in_pod(parts, session, offset, follow=follow):
                offset = item.offset + _length(item)
                yield item
            return
        if not follow:
            return
        await parts.clock.sleep(POLL)


async def _held_in_pod(
    parts: Parts, session: Session, offset: int, *, follow: bool
) -> AsyncIterator[Output | Gap]:
    if session.run is None or not session.inventory.pod_uid:
        return
    try:
        link = await side_link(parts, session)
    except (Unreachable, AccessDenied) as error:
        if not agent_may_run(session):
            return  # its end is on record, and what it wrote was stored before that
        raise going_on(error, f"output from byte {offset} on is still in the Pod") from error.__cause__
    except MoorageError:
        return
    try:
        end = (await link.status()).end
        with contextlib.suppress(LinkError):
            if follow or end > offset:
                async for item in link.output(offset):
                    yield item
                    if not follow and item.offset + _length(item) >= end:
                        return
    finally:
        await link.close()


def _length(item: Output | Gap) -> int:
    return len(item.data) if isinstance(item, Output) else (item.length or 0)


async def events(parts: Parts, session: Session, report: Report) -> list[SessionEvent]:
    """Our transitions and the Kubernetes events of Pod and claim, by time. What is missing is reported."""
    own = await parts.store.sessions.events(session.id)
    found = [replace(event, object=f"session/{session.name}") for event in own]
    inventory = session.inventory
    try:
        cluster = await parts.executors.of(session)
        for name in filter(None, (inventory.pod_name, inventory.claim_name)):
            selector = f"involvedObject.name={name}"
            async for event in cluster.list_all(EVENTS, inventory.namespace, field_selector=selector):
                found.append(_kubernetes_event(event))
    except MoorageError as error:
        report(Progress("warning", f"events of Pod and claim are missing here: {error.message}"))
    return sorted(found, key=lambda event: event.at)


def _kubernetes_event(event: Json) -> SessionEvent:
    at = event_time(event) or 0.0
    involved = event.get("involvedObject") or {}
    named = f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}"
    return SessionEvent(at, str(event.get("reason") or ""), str(event.get("message") or ""), named)
