"""A session whose cluster cannot be asked any more, perhaps for good: its record goes when a person insists.

Called by ``sessions.verbs`` once a forced removal got no answer. Deletes nothing in a cluster: what was not
seen is not touched. It says which objects may be left, and how to find them.
"""

from __future__ import annotations

import contextlib

from moorage.core.errors import Conflict, IdentityChanged, MoorageError, NotFound, Unreachable
from moorage.core.plans.changes import enter
from moorage.core.session import Phase, Session, change
from moorage.ports.sessions import Progress, Removal, Report
from moorage.sessions.forget import forget
from moorage.sessions.parts import Parts
from moorage.sessions.unreadable import look_for, may_be_left


async def without_cluster(parts: Parts, session: Session, error: MoorageError) -> bool:
    """Does ``error`` mean that the cluster of the session cannot be asked: no answer, no executor on record,
    or another cluster in its place? Not when flags or settings name another one: then those are wrong."""
    if isinstance(error, IdentityChanged):
        with contextlib.suppress(MoorageError):
            recorded = await parts.executors.recorded(session)
            if recorded is not None:
                return await parts.executors.cluster(recorded) is await parts.executors.of(session)
        return False
    return isinstance(error, Unreachable | NotFound)


def offered(error: MoorageError, session: Session) -> MoorageError:
    """The same error, whose hint ends with what a person may insist on."""
    way = f"if that cluster is gone for good, the record alone goes with: moorage rm --force {session.name}"
    error.hint = f"{error.hint}; {way}" if error.hint else way
    return error


async def remove(parts: Parts, session: Session, report: Report, why: MoorageError) -> Removal:
    """Remove record, output, history and secrets of this machine alone. Conflict while another process holds
    the session, NotFound when it is gone meanwhile."""
    lease = await parts.store.leases.acquire(session.id, parts.owner)
    if lease is None:
        holder = await parts.store.leases.holder(session.id)
        raise Conflict(f"session {session.name} is driven by {holder}", hint="end that first")
    try:
        current = await parts.store.sessions.get(session.id)
        left = may_be_left(current)
        report(Progress("warning", f"the cluster cannot be asked: {why.message}; only the record is removed"))
        for line in left:
            report(Progress("warning", f"may be left in the cluster: {line}"))
        report(Progress("warning", look_for(current)))
        await forget(parts, _given_up(current, parts.clock.now()), lease)
    finally:
        await parts.store.leases.release(lease)
    return Removal(session.name, (), tuple(f"{line}: could not be asked for" for line in left))


def _given_up(session: Session, now: float) -> Session:
    """Nobody will look for answers to its creates any more."""
    nonces = tuple(change(nonce, settled=True) for nonce in session.inventory.nonces)
    return enter(change(session, inventory=change(session.inventory, nonces=nonces)), Phase.DELETED, now)
