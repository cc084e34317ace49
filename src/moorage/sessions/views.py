"""A session as it is now: the record, and what a fresh look at its Pod says. Never shows what was not seen.

Called by ``sessions.verbs`` for ls and describe. Reads only; takes no lease.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from moorage.core.diagnosis import diagnose_agent_exit
from moorage.core.errors import MoorageError
from moorage.core.observed import Absent, Observed, Present, Unknown
from moorage.core.plans.changes import name_blocked
from moorage.core.plans.loss import as_seen
from moorage.core.plans.observation import PodSeen, Verdict
from moorage.core.session import Phase, Session
from moorage.core.status import main_status, pod_ready, session_word
from moorage.engine.observe import Observer
from moorage.ports.sessions import SessionView
from moorage.sessions.parts import Parts

STALE_AFTER = 60.0
AT_ONCE = 16
GLANCE = 5.0
"""Seconds of a look that is not what the person came for."""
FINAL = (Phase.ARCHIVED, Phase.DELETED)


Silent = dict[str, str]
"""Executors that could not be reached, by id, and why: each is asked once for all its sessions."""


async def view(parts: Parts, session: Session, silent: Silent | None = None) -> SessionView:
    """Look at the session's exact Pod, with current credentials. No look where ``silent`` says that there is
    no use; what this look finds out about that is added."""
    executor = await parts.executors.recorded(session)
    seen = await _look(parts, session, {} if silent is None else silent)
    return replace(seen, context=executor.context if executor else "")


async def _look(parts: Parts, session: Session, silent: Silent) -> SessionView:
    if session.state.phase in FINAL:
        return recorded(parts, session, "")
    place = session.identity.executor_id
    if why := silent.get(place):
        return recorded(parts, session, why)
    try:
        observer = Observer(await parts.executors.of(session), parts.clock)
    except MoorageError as error:
        silent[place] = error.message
        return recorded(parts, session, error.message)
    try:
        same = await observer.same_cluster(session.inventory)
        if same != Present(True):
            _note_silence(silent, place, observer, same)
            return recorded(parts, session, _why_unknown(same))
        pod = await observer.pod(session)
    except MoorageError as error:
        return recorded(parts, session, error.message)
    if isinstance(pod, Unknown):
        _note_silence(silent, place, observer, pod)
        return recorded(parts, session, pod.why)
    if isinstance(pod, Present) and pod.value.verdict in (Verdict.FOREIGN, Verdict.ALTERED):
        return _not_ours(parts, session, pod.value)
    return _observed(parts, as_seen(session, pod, parts.clock.now()), observer)


def _note_silence(silent: Silent, place: str, observer: Observer, seen: object) -> None:
    failure = observer.failure
    if isinstance(seen, Unknown) and failure is not None and failure.problem.kind == "transport":
        silent[place] = seen.why


async def glance(parts: Parts, session: Session, unknown: str = "") -> SessionView:
    """A view for which nobody waits long. ``unknown``: why there is no use in looking at all."""
    if unknown:
        return recorded(parts, session, unknown)
    try:
        async with asyncio.timeout(GLANCE):
            return await view(parts, session)
    except TimeoutError:
        return recorded(parts, session, f"no answer within {GLANCE:.0f} s")


def _why_unknown(same: Observed[bool]) -> str:
    match same:
        case Unknown(why):
            return why
        case Absent():
            return "the namespace it was made in is gone"
        case Present():
            return "the cluster or namespace is not the recorded one"


async def views(parts: Parts, sessions: list[Session]) -> list[SessionView]:
    """Many at once, in order. One that cannot be looked at is Unknown, and hides none of the others. A server
    that does not answer is waited for once, however many sessions it has."""
    gate = asyncio.Semaphore(AT_ONCE)
    silent: Silent = {}

    async def one(session: Session) -> SessionView:
        async with gate:
            try:
                return await view(parts, session, silent)
            except Exception as error:  # whatever it is, it concerns one row
                return recorded(parts, session, f"it could not be looked at ({type(error).__name__})")

    return list(await asyncio.gather(*(one(session) for session in sessions)))


def recorded(parts: Parts, session: Session, why: str) -> SessionView:
    """What is on record, without a look; ``why``: what kept us from one."""
    word, reason = session_word(
        session, pod_ready=None, link_ok=None, observed_at=0.0, now=parts.clock.now(), stale_after=STALE_AFTER
    )
    return SessionView(session, word, why or reason, unknown=why, diagnosis=session.state.diagnosis)


def _not_ours(parts: Parts, session: Session, pod: PodSeen) -> SessionView:
    """The Pod under our name is not the session's: nothing of it is shown as the session's own."""
    name = session.inventory.pod_name
    if pod.verdict is Verdict.ALTERED:
        why = f"Pod {name} (uid {pod.uid}) was changed on its way in and will be removed: {pod.conflict}"
        return recorded(parts, session, why)
    blocked = name_blocked(session, "pod", name, pod.uid, pod.conflict)
    seen = recorded(parts, session, f"{blocked.reason}: {blocked.message}")
    return replace(seen, diagnosis=blocked)


def _observed(parts: Parts, session: Session, observer: Observer) -> SessionView:
    now, pod = parts.clock.now(), observer.raw_pod
    ready = pod_ready(pod) if pod is not None else False
    word, reason = session_word(
        session, pod_ready=ready, link_ok=None, observed_at=now, now=now, stale_after=STALE_AFTER
    )
    diagnosis = session.state.diagnosis
    if diagnosis is None and session.run is not None and session.run.exit is not None:
        diagnosis = diagnose_agent_exit(session.run.exit)
    if pod is None:
        return SessionView(session, word, reason, "Absent", observed_at=now, diagnosis=diagnosis)
    main = main_status(pod, session.inventory.snapshot.main_container)
    return SessionView(
        session,
        word,
        reason,
        pod_phase=(pod.get("status") or {}).get("phase", ""),
        container_state=main.state + (f" ({main.reason})" if main.reason else ""),
        restarts=main.restart_count,
        node=(pod.get("spec") or {}).get("nodeName", ""),
        image=main.image,
        observed_at=now,
        diagnosis=diagnosis,
    )
