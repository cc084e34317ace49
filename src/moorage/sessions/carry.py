"""Carries out one intent on a session, by whoever may: us, when the lease is free; else its owner.

Called by ``sessions.verbs`` for stop, pause, resume, archive and delete. Safe to interrupt at any point:
the intent is on record, and the next command goes on.
"""

from __future__ import annotations

from collections.abc import Callable

from moorage.core.errors import (
    AccessDenied,
    Conflict,
    MoorageError,
    NameBlocked,
    SessionFailed,
    Unreachable,
    WorkspaceLost,
)
from moorage.core.session import Desired, Intent, Phase, Session
from moorage.ports.sessions import Happening, Progress, Report
from moorage.sessions.bystander import Bystander
from moorage.sessions.contact import going_on
from moorage.sessions.owner import LEASE_TTL, Owner
from moorage.sessions.parts import Parts

POLL = 0.2
Done = Callable[[Session], bool]

VERBS = {
    Desired.RUNNING: "resume",
    Desired.STOPPED: "stop",
    Desired.PAUSED: "pause",
    Desired.ARCHIVED: "archive",
    Desired.DELETED: "rm",
}
"""What a person types for each wish."""

_GOALS: dict[Desired, tuple[Phase, ...]] = {
    Desired.RUNNING: (Phase.RUNNING, Phase.PRESERVED),
    Desired.STOPPED: (Phase.PRESERVED,),
    Desired.PAUSED: (Phase.PRESERVED,),
    Desired.ARCHIVED: (Phase.ARCHIVED,),
    Desired.DELETED: (Phase.DELETED,),
}


async def carry_out(parts: Parts, session: Session, intent: Intent, report: Report) -> Session:
    """Record the intent and see it done.

    Raises SessionFailed, NameBlocked, WorkspaceLost, IdentityChanged; Conflict when a later intent came true
    instead; Unreachable or AccessDenied when the API server cannot be asked for too long: the intent stays on
    record then.
    """
    stored = await parts.store.sessions.set_intent(session.id, intent)

    def reached(current: Session) -> bool:
        """The newest wish on record has come true; ours, once overtaken, may never do."""
        newest = current.intent
        return current.seen_intent >= newest.number and _is_so(current, newest.desired)

    def done(current: Session) -> bool:
        ended = current.state.phase in (Phase.FAILED, Phase.LOST, Phase.DELETED)
        return reached(current) or (ended and current.seen_intent >= stored.number)

    try:
        finished = await drive_or_wait(parts, session, report, reached, done)
    except (Unreachable, AccessDenied) as error:
        again = f"moorage {VERBS[intent.desired]} {session.name}"
        raise going_on(error, f"the wish is on record, and goes on with: {again}") from error.__cause__
    if not reached(finished):
        raise_failed(finished)
    ended_by_another = intent.desired is Desired.RUNNING and finished.intent.desired is not Desired.RUNNING
    if ended_by_another or not _is_so(finished, intent.desired):
        raise _overtaken(finished, intent.desired)
    return finished


def _is_so(session: Session, desired: Desired) -> bool:
    released = desired is not Desired.PAUSED or session.state.pod == "released"
    return session.state.phase in _GOALS[desired] and released


def _overtaken(session: Session, desired: Desired) -> Conflict:
    ours, later = VERBS[desired], VERBS[session.intent.desired]
    word = session.state.phase.value
    if session.state.phase is Phase.PRESERVED:
        word = "paused" if session.state.pod == "released" else "stopped"
    return Conflict(
        f"{ours} {session.name} was overtaken by a later {later}: the session is {word}",
        hint=f"to ask again: moorage {ours} {session.name}",
    )


async def leave_wish(parts: Parts, session: Session, intent: Intent) -> Session:
    """Record the intent for whoever drives the session. Raises Conflict where nobody does: it would lie there
    until somebody comes, who may not know of it any more."""
    if not await parts.store.leases.holder(session.id):
        again = f"moorage {VERBS[intent.desired]} {session.name}"
        raise Conflict(
            f"nobody drives session {session.name} now, so nobody would do it later",
            hint=f"leave out --no-wait: {again}",
        )
    await parts.store.sessions.set_intent(session.id, intent)
    return await parts.store.sessions.get(session.id)


async def drive_or_wait(parts: Parts, session: Session, report: Report, reached: Done, done: Done) -> Session:
    """Drive to the goal where we get the lease; watch the record where another process holds it."""
    bystander: Bystander | None = None
    while True:
        lease = await parts.store.leases.acquire(session.id, parts.owner, ttl=LEASE_TTL)
        if lease is None:
            if bystander is None:
                holder = await parts.store.leases.holder(session.id)
                report(Progress("warning", _waiting(session.name, holder)))
                bystander = Bystander(parts, session, report)
            await parts.clock.sleep(POLL)
            current = await parts.store.sessions.get(session.id)
            if done(current):
                return current
            await bystander.look()
            continue
        try:
            cluster = await parts.executors.of(session)
        except BaseException:
            await parts.store.leases.release(lease)
            raise
        owner = Owner(parts, cluster, session, lease, _progress_only(report))
        try:
            return await owner.drive(reached)
        finally:
            await owner.close()


def _waiting(name: str, holder: str) -> str:
    return (
        f"{name} is driven by {holder or 'another process'}: it was asked, and we wait for it to act. "
        "Should it hang, end that process: the agent runs on, and we go on from there"
    )


def _progress_only(report: Report) -> Callable[[Happening], None]:
    def emit(happening: Happening) -> None:
        if isinstance(happening, Progress):
            report(happening)

    return emit


def raise_failed(session: Session) -> None:
    """Turn a failed state into the error that says why and what to do."""
    why = session.state.diagnosis
    message = why.message if why else f"session {session.name} is {session.state.phase.value}"
    category = why.category if why else "unknown"
    kind: type[MoorageError] = SessionFailed
    if session.state.phase is Phase.LOST:
        kind = WorkspaceLost
    elif category == "name_blocked":
        kind = NameBlocked
    raise kind(message, hint=why.hint if why else "", details={"category": category})
