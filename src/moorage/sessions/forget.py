"""The last step of archive and delete: what we kept of a session outside the cluster goes too.

Called by ``sessions.owner`` once Pod and claim are proved gone (or were never ours). Repeatable: a crash in
between leaves the session ``cleaning``, and the next owner comes here again.
"""

from __future__ import annotations

from moorage.core.errors import Conflict
from moorage.core.plans.changes import enter
from moorage.core.session import Phase, Session
from moorage.ports.store import Lease, SessionEvent
from moorage.sessions.parts import Parts


async def forget(parts: Parts, session: Session, lease: Lease) -> Session:
    """Secrets and spooled source go; then the record becomes archived (history kept) or deleted. Conflict,
    and nothing goes, when the session is no longer ours."""
    if not await parts.store.leases.renew(lease):
        raise Conflict(f"another process has taken over session {session.name}")
    for ref in (session.inventory.bootstrap_ref, session.agent.env_ref):
        if ref:
            await parts.store.secrets.delete(ref)
    await parts.sources.forget(session.id)
    if session.state.phase is Phase.DELETED:
        # The record keeps its unsettled nonces, so that a create carried out late is still recognised.
        await parts.store.sessions.save(enter(session, Phase.CLEANING, session.state.since), lease)
        await parts.store.sessions.purge(session.id, lease)
        return await parts.store.sessions.get(session.id)
    saved = await parts.store.sessions.save(session, lease)
    event = SessionEvent(session.state.since, "Archived", "cluster objects removed, history kept")
    await parts.store.sessions.add_event(session.id, event)
    return saved
