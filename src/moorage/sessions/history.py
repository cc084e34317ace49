"""What a session has said and been through: transcript and events, also after its Pod is gone.

Called by ``sessions.verbs``. Reads along; never drives and never acknowledges output.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from moorage.core.errors import (
    AccessDenied,
    ApiError,
    Conflict,
    LinkError,
    MoorageError,
    NotFound,
    Unreachable,
)
from moorage.core.kinds import EVENTS, PODS, Json
from moorage.core.plans.changes import agent_may_run
from moorage.core.pod_view import event_time
from moorage.core.session import Session
from moorage.ports.cluster import Cluster
from moorage.ports.link import Gap, Output
from moorage.ports.sessions import Progress, Report
from moorage.ports.store import SessionEvent
from moorage.sessions.carry import POLL
from moorage.sessions.contact import going_on
from moorage.sessions.own_pod import no_pod, own_pod
from moorage.sessions.parts import Parts
from moorage.sessions.side_link import side_link


async def logs(parts: Parts, name: str, *, follow: bool, offset: int) -> AsyncIterator[Output | Gap]:
    """The stored part, then (for a session nobody drives) what the Pod still holds; then, with ``follow``,
    what comes, until the session is no longer running."""
    session = await parts.store.sessions.get(name)
    offset = offset or -1  # nothing was told yet, also not of a loss before the first byte
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
            async for item in _held_in_pod(parts, session, max(offset, 0), follow=follow):
                offset = item.offset + _length(item)
                yield item
            return
        if not follow:
            return
        await parts.clock.sleep(POLL)


async def _held_in_pod(
    parts: Parts, session: Session, offset: int, *, follow: bool
) -> AsyncIterator[Output | Gap]:
    if (session.run is None and not session.unread) or not session.inventory.pod_uid:
        return
    try:
        link = await side_link(parts, session)
    except (Unreachable, AccessDenied) as error:
        if not agent_may_run(session) and not session.unread:
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


async def containers(parts: Parts, session: Session) -> list[str]:
    """All containers of the session's own Pod, in the order they start. Raises as ``own_pod``."""
    cluster = await parts.executors.of(session)
    await own_pod(parts, cluster, session)
    try:
        pod = await cluster.get(PODS, session.inventory.pod_name, namespace=session.inventory.namespace)
    except ApiError as error:
        if error.problem.http_status == 404:  # it has just gone
            raise no_pod(session) from error
        raise
    return container_names(pod)


async def container_log(
    parts: Parts, session: Session, container: str, *, previous: bool, **how: Any
) -> AsyncIterator[bytes]:
    """The kubelet's log of one container of the session's own Pod. ``how``: as ``Cluster.logs`` takes it.
    Raises NotFound for a container, or a previous run of it, that there is not; AccessDenied; Conflict."""
    cluster = await parts.executors.of(session)
    await own_pod(parts, cluster, session)
    name, namespace = session.inventory.pod_name, session.inventory.namespace
    try:
        async for chunk in cluster.logs(name, container, namespace=namespace, previous=previous, **how):
            yield chunk
    except ApiError as error:
        raise await _no_log(cluster, session, container, previous, error) from error


async def _no_log(
    cluster: Cluster, session: Session, container: str, previous: bool, error: ApiError
) -> MoorageError:
    """What a refused log means. Servers tell a wrong name and a missing run apart by their words only."""
    status = error.problem.http_status
    if status in (401, 403):
        return AccessDenied(
            f"the log of container {container} may not be read: {error.message}",
            hint="moorage doctor shows which rights are missing, and how to grant them",
        )
    if status not in (400, 404):
        return error
    try:
        pod = await cluster.get(PODS, session.inventory.pod_name, namespace=session.inventory.namespace)
    except ApiError:
        return no_pod(session)
    names = container_names(pod)
    if container not in names:
        return NotFound(
            f"session {session.name} has no container {container}",
            field="container",
            hint=f"its containers: {', '.join(names)}",
        )
    if previous and "previous terminated" in error.message:
        return NotFound(
            f"container {container} was not restarted: there is no log of an earlier run",
            hint=f"of this one: moorage logs {session.name} -c {container}",
        )
    return Conflict(
        f"container {container} has no log to read: {error.message}",
        hint=f"see how it stands: moorage describe {session.name}",
    )


def container_names(pod: Json) -> list[str]:
    """Of all containers of a Pod, in the order they start."""
    spec = pod.get("spec") or {}
    groups = ("initContainers", "containers", "ephemeralContainers")
    return [str(one["name"]) for group in groups for one in spec.get(group) or ()]


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
