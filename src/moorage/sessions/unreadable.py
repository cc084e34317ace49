"""A session whose record cannot be read: shown as Unknown, and its record removed when a person insists.

Called by ``sessions.verbs``. Never asks or changes a cluster: without a record nothing there is proved ours.
A removal says beforehand which objects it may leave, as far as the record still tells.
"""

from __future__ import annotations

from moorage.core import owned
from moorage.core.errors import Conflict, NotFound, StoreError
from moorage.core.names import bootstrap_ref, claim_name, env_ref, pod_name
from moorage.core.session import Phase, Session, WorkspaceMode
from moorage.core.status import UNKNOWN
from moorage.ports.sessions import Progress, Removal, Report, SessionView
from moorage.ports.store import Lease, Unreadable
from moorage.sessions.parts import Parts


async def find(parts: Parts, name: str) -> Unreadable:
    """By name or id. Raises NotFound."""
    for found in await parts.store.sessions.unreadable():
        if name in (found.session.name, found.session.id):
            return found
    raise NotFound(f"there is no session {name}", field=name)


def as_view(found: Unreadable) -> SessionView:
    """What ``ls`` and ``describe`` show: nothing but what the record still tells, and why it is not more."""
    return SessionView(found.session, UNKNOWN, found.why, unknown=found.why)


async def as_views(parts: Parts, *, include_archived: bool, namespace: str) -> list[SessionView]:
    """Of all there are. One whose namespace cannot be read any more may be of any."""
    return [
        as_view(found)
        for found in await parts.store.sessions.unreadable()
        if namespace in ("", found.session.inventory.namespace) or not found.session.inventory.namespace
        if include_archived or found.session.state.phase is not Phase.ARCHIVED
    ]


async def remove(parts: Parts, name: str, report: Report, *, force: bool, dry_run: bool) -> Removal:
    """Remove the record alone, and only with ``force``. Raises StoreError without it, Conflict while another
    process holds the session."""
    found = await find(parts, name)
    session, left = found.session, may_be_left(found.session)
    if not force:
        raise StoreError(
            f"{found.why}; nothing can be proved to be of session {session.name}, so nothing is deleted",
            hint="a newer Moorage may have written it: then use that. To remove the record alone: "
            f"moorage rm --force {session.name}; it may leave {', '.join(left)}. {look_for(session)}",
        )
    if not dry_run:
        for line in left:
            report(Progress("warning", f"may be left in the cluster: {line}"))
        report(Progress("warning", look_for(session)))
        await _discard(parts, session)
    return Removal(session.name, (), tuple(f"{line}: cannot be proved ours" for line in left))


async def _discard(parts: Parts, session: Session) -> None:
    lease = await parts.store.leases.acquire(session.id, parts.owner)
    if lease is None:
        holder = await parts.store.leases.holder(session.id)
        raise Conflict(
            f"session {session.name} is driven by {holder}", hint="end that first, or wait until it has ended"
        )
    try:
        await _forget(parts, session, lease)
    finally:
        await parts.store.leases.release(lease)


async def _forget(parts: Parts, session: Session, lease: Lease) -> None:
    recorded = {session.inventory.bootstrap_ref, session.agent.env_ref}
    for ref in sorted({bootstrap_ref(session.id), env_ref(session.id)} | recorded - {""}):
        await parts.store.secrets.delete(ref)
    await parts.sources.forget(session.id)
    await parts.store.sessions.discard(session.id, lease)


def may_be_left(session: Session) -> list[str]:
    """Pod and claim by the names that they have, or by the record may have. A given claim stays anyway."""
    inventory = session.inventory
    where = f"in namespace {inventory.namespace or '(not readable)'}"
    if inventory.server_address:
        where += f" on {inventory.server_address}"
    objects = [("pod", inventory.pod_name or pod_name(session.id), inventory.pod_uid)]
    if inventory.snapshot.workspace.mode is WorkspaceMode.MANAGED_PVC:
        objects.append(("pvc", inventory.claim_name or claim_name(session.id), inventory.claim_uid))
    return [f"{kind}/{name} (uid {uid or 'not on record'}) {where}" for kind, name, uid in objects]


def look_for(session: Session) -> str:
    return f"Look with: {find_command(session)}"


def find_command(session: Session) -> str:
    """Finds what a session has in the cluster, without its record."""
    namespace = session.inventory.namespace
    place = f"-n {namespace}" if namespace else "-A"
    return f"kubectl {place} get pods,pvc -l {owned.SESSION_LABEL}={session.id}"
