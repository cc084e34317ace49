"""Toward ``running``: storage, Pod, link, workspace, agent; each step only once the one before holds.

Called by ``plans.session``. Level-triggered: any step may find itself done, undone or done twice.
"""

from __future__ import annotations

from moorage.core.diagnosis import claim_missing
from moorage.core.diagnosis.interruption import NODE_LOST, POD_DELETED
from moorage.core.observed import Absent, Present, Unknown
from moorage.core.plans.actions import (
    AdoptClaim,
    CloseLink,
    Connect,
    CreateClaim,
    CreatePod,
    DeletePod,
    Materialize,
    Plan,
    RejectClaim,
    RejectPod,
    Retry,
    StartAgent,
    Terminal,
    Wait,
)
from moorage.core.plans.changes import (
    agent_may_run,
    begun_at,
    blocked,
    enter,
    fail,
    holds_work,
    interrupt,
    keeps_workspace,
    lose,
    pod_pause,
    retry,
    troubled,
    without_pod,
)
from moorage.core.plans.observation import ClaimSeen, LinkSeen, PodSeen, Seen, Verdict
from moorage.core.plans.proof import unproved
from moorage.core.session import FORKED, AgentRun, Diagnosis, Phase, Session, WorkspaceMode, change

LOOKS_BEFORE_LATE = 4
"""Failures to reach an agent that was started, before its start counts as failed."""

ENDED = (Phase.FAILED, Phase.LOST, Phase.PRESERVED, Phase.ARCHIVED, Phase.DELETED)


def toward_running(session: Session, seen: Seen, now: float) -> Plan:
    """One step closer to a running agent."""
    if session.state.phase is Phase.LOST:
        return Plan(_seen(session), None, Terminal("lost"))
    if session.intent.number > session.seen_intent:
        session = _accept(session, now)
    elif session.state.phase is Phase.FAILED:
        return _clean_failed(session, seen)
    elif session.state.phase in ENDED:
        return Plan(session, None, Terminal(session.state.phase))
    return (
        troubled(session, seen, now)
        or _storage(session, seen, now)
        or _altered(session, seen)
        or _overdue(session, seen, now)
        or _pod(session, seen, now)
    )


def _seen(session: Session) -> Session:
    noted: Session = change(session, seen_intent=session.intent.number)
    return noted


def _accept(session: Session, now: float) -> Session:
    """A new wish to run. An agent that still runs goes on; one that ended is started anew."""
    run = session.run if agent_may_run(session) else None
    accepted: Session = change(_seen(session), run=run, restarts=())
    if session.state.phase in ENDED:
        accepted = enter(accepted, Phase.SCHEDULING, now)
    return accepted


def _clean_failed(session: Session, seen: Seen) -> Plan:
    """A failed start releases its Pod (never the claim); a Pod whose agent once ran stays for a look."""
    match seen.pod:
        case Present(pod) if pod.verdict is Verdict.OWNED and not session.ever_ran and not pod.deleting:
            return retry(session, DeletePod(pod.uid, version=pod.version), seen.trouble)
        case Present(pod) if pod.verdict is Verdict.OWNED and not session.ever_ran:
            return Plan(session, None, Retry(1.0))
        case Present(pod) if pod.verdict is Verdict.ALTERED and not _hopeless(seen):
            return retry(session, RejectPod(pod.uid), seen.trouble)
        case Absent():
            return Plan(without_pod(session), None, Terminal("failed"))
        case _:
            return Plan(session, None, Terminal("failed"))


def _altered(session: Session, seen: Seen) -> Plan | None:
    """What became of our create comes before its being late; once it could not be rejected, late is late."""
    match seen.pod:
        case Present(pod) if pod.verdict is Verdict.ALTERED and not _tried(seen, RejectPod):
            return retry(session, RejectPod(pod.uid), seen.trouble)
        case _:
            return None


def _tried(seen: Seen, action: type) -> bool:
    return seen.trouble is not None and seen.trouble.action == action.__name__


def _hopeless(seen: Seen) -> bool:
    return seen.trouble is not None and seen.trouble.diagnosis.terminal


def _overdue(session: Session, seen: Seen, now: float) -> Plan | None:
    """A start has a limit; what is known at that moment is the reason."""
    begun = begun_at(session)
    if session.state.phase is Phase.INTERRUPTED:
        begun = max(begun, session.state.since)
    if session.state.phase is Phase.RUNNING or now - begun <= session.start_timeout:
        return None
    unasked = seen.link is None or seen.link.agent_state != "none"
    if agent_may_run(session) and unasked and (not seen.trouble or seen.trouble.count < LOOKS_BEFORE_LATE):
        return None  # it was started and may well run: nobody has asked it yet
    known = [seen.trouble.diagnosis] if seen.trouble else []
    known += [seen.pod.value.diagnosis] if isinstance(seen.pod, Present) and seen.pod.value.diagnosis else []
    known += (
        [seen.claim.value.diagnosis] if isinstance(seen.claim, Present) and seen.claim.value.diagnosis else []
    )
    known += [session.state.diagnosis] if session.state.diagnosis else []  # of the Pod before
    late = Diagnosis(
        category="timeout",
        reason="StartTimeout",
        message=f"session {session.name} is not running after {session.start_timeout:.0f} s",
        hint=f"`moorage events {session.name}` says how far it came; a longer --start-timeout waits longer",
        terminal=True,
    )
    return fail(session, now, known[0] if known else late)


def _storage(session: Session, seen: Seen, now: float) -> Plan | None:
    """None once the claim (where there is one) is ours and recorded."""
    inventory = session.inventory
    if not keeps_workspace(session):
        return None
    managed = inventory.snapshot.workspace.mode is WorkspaceMode.MANAGED_PVC
    match seen.claim:
        case Unknown():
            return retry(session, None, seen.trouble)
        case Absent() if inventory.claim_uid:
            return lose(
                session, now, f"claim {inventory.claim_name} (uid {inventory.claim_uid}) no longer exists"
            )
        case Absent() if managed:
            begun = enter(session, Phase.PROVISIONING_STORAGE, now)
            return retry(begun, CreateClaim(), seen.trouble)
        case Absent():
            return fail(session, now, claim_missing(inventory.claim_name, inventory.namespace))
        case Present(claim):
            return _claim(session, claim, seen, now)


def _claim(session: Session, claim: ClaimSeen, seen: Seen, now: float) -> Plan | None:
    if claim.verdict is Verdict.FOREIGN:
        return blocked(session, now, "pvc", session.inventory.claim_name, claim.uid, claim.conflict)
    if claim.verdict is Verdict.ADOPTABLE:
        return retry(session, AdoptClaim(claim.uid, claim.nonce), seen.trouble)
    if claim.verdict is Verdict.ALTERED:
        return retry(session, RejectClaim(claim.uid), seen.trouble)
    if claim.diagnosis is not None and claim.diagnosis.terminal and not _at_work(session, seen):
        return fail(session, now, claim.diagnosis)
    if claim.deleting and isinstance(seen.pod, Absent):
        waiting = enter(session, Phase.PROVISIONING_STORAGE, now, reason="claim is being deleted")
        return Plan(waiting, None, Retry(1.0))
    return None


def _at_work(session: Session, seen: Seen) -> bool:
    """A claim whose volume is lost or going costs no agent that still works on it."""
    pod = seen.pod.value if isinstance(seen.pod, Present) else None
    ours = pod is not None and pod.verdict is Verdict.OWNED and pod.main_running and not pod.deleting
    return ours and agent_may_run(session)


def _warning(session: Session, seen: Seen) -> str:
    """What is wrong with the claim of an agent that runs all the same; "" when nothing is."""
    if not isinstance(seen.claim, Present):
        return ""
    claim, name = seen.claim.value, session.inventory.claim_name
    if claim.deleting:
        return f"claim {name} is being deleted: the workspace goes with this Pod; copy out what is needed"
    return claim.diagnosis.message if claim.diagnosis is not None and claim.diagnosis.terminal else ""


def _pod(session: Session, seen: Seen, now: float) -> Plan:
    if (first := unproved(session, seen, now)) is not None:
        return first
    if isinstance(seen.pod, Present):
        return _owned_pod(session, seen.pod.value, seen, now)
    if not session.inventory.pod_uid:
        scheduling = session.state.phase is Phase.SCHEDULING  # then it says what became of the Pod before
        session = session if scheduling else enter(session, Phase.SCHEDULING, now)
        if (pause := pod_pause(session, now)) > 0:
            return Plan(session, None, Retry(pause))
        return retry(session, CreatePod(), seen.trouble)
    interrupted = session.state.phase is Phase.INTERRUPTED
    return _replace(session, now, session.state.reason if interrupted else "Pod deleted")


def _replace(session: Session, now: float, cause: str) -> Plan:
    """Our Pod is gone for good. A claim carries the workspace to the next one; an emptyDir went with it."""
    if not keeps_workspace(session) and holds_work(session):
        return lose(session, now, f"the workspace was an emptyDir and its Pod is gone ({cause})")
    session = without_pod(session)
    if agent_may_run(session):
        return interrupt(session, now, cause)
    why = session.state.diagnosis
    return Plan(
        enter(session, Phase.SCHEDULING, now, reason=why.reason if why else "", why=why), None, Retry(0)
    )


def _owned_pod(session: Session, pod: PodSeen, seen: Seen, now: float) -> Plan:
    if pod.gone:
        if not keeps_workspace(session) and holds_work(session):
            return _replace(session, now, pod.cause or pod.phase)
        if not pod.deleting or pod.abandoned:
            return retry(
                _note(session, pod, now),
                DeletePod(pod.uid, now=pod.deleting, version=pod.version),
                seen.trouble,
            )
    if pod.deleting:
        cause = NODE_LOST if pod.overdue else pod.cause or POD_DELETED
        why = _beyond(cause, pod)
        return Plan(enter(session, Phase.INTERRUPTED, now, reason=cause, why=why), None, Retry(2.0))
    if not pod.main_running:
        return _not_running(session, pod, now)
    if seen.link is None:
        # That a stop had begun stays on record until the link tells whether its agent still runs.
        stays = session.state.phase in (Phase.RUNNING, Phase.DRAINING)
        phase = session.state.phase if stays else Phase.BOOTSTRAPPING
        reason = "no link" if phase is Phase.RUNNING and seen.trouble else ""
        return retry(enter(session, phase, now, reason=reason), Connect(pod.uid), seen.trouble)
    if seen.link.pod_uid != pod.uid:
        return Plan(session, CloseLink(), Retry(0))
    return _agent(session, pod, seen.link, seen, now)


def _note(session: Session, pod: PodSeen, now: float) -> Session:
    cause = pod.cause or pod.phase
    return enter(session, Phase.INTERRUPTED, now, reason=cause, why=_beyond(cause, pod))


def _beyond(cause: str, pod: PodSeen) -> Diagnosis | None:
    """What the cause does not say already: how the containers of a deleted Pod ended follows from it."""
    return None if cause == POD_DELETED else pod.diagnosis


def _not_running(session: Session, pod: PodSeen, now: float) -> Plan:
    """Scheduling, pulling, or between two starts of the container."""
    if pod.diagnosis is not None and pod.diagnosis.terminal:
        return fail(session, now, pod.diagnosis)
    waiting = pod.diagnosis.reason if pod.diagnosis else ""
    if agent_may_run(session):
        return Plan(
            enter(session, Phase.INTERRUPTED, now, reason=pod.cause or "container restart"), None, Retry(2.0)
        )
    return Plan(enter(session, Phase.SCHEDULING, now, reason=waiting), None, Retry(2.0))


def _agent(session: Session, pod: PodSeen, link: LinkSeen, seen: Seen, now: float) -> Plan:
    workspace_uid = session.inventory.claim_uid or pod.uid
    if session.source is not None and session.filled != workspace_uid:
        # A copy of another workspace is filled once it is proved equal, which only the act can tell.
        if session.source.kind == FORKED or link.marker != session.source.marker:
            preparing = enter(session, Phase.BOOTSTRAPPING, now, reason="workspace")
            return retry(preparing, Materialize(session.source.marker), seen.trouble)
        session = change(session, filled=workspace_uid)
    run = session.run
    if run is None:
        start_id = f"{session.id}-{session.seen_intent}-{len(session.restarts)}"
        # On record before the start is sent: whoever comes after a crash must not take its work for nothing.
        begun = AgentRun(start_id=start_id, resumed=session.ran_in == workspace_uid)
        started: Session = change(session, run=begun, ever_ran=True, unread=True, ran_in=workspace_uid)
        return retry(started, StartAgent(start_id), seen.trouble)
    if link.start_id != run.start_id:
        if run.epoch:
            return interrupt(session, now, pod.cause or "container restart")
        return retry(session, StartAgent(run.start_id), seen.trouble)
    if link.agent_state == "exited":
        return _ended(session, run, pod, link, now)
    if link.agent_state == "draining":
        return Plan(enter(session, Phase.DRAINING, now), None, Retry(0.5))
    ours = change(run, epoch=link.epoch, pod_uid=link.pod_uid)
    running = change(session, run=ours, ever_ran=True, unread=True)
    return Plan(enter(running, Phase.RUNNING, now, reason=_warning(session, seen)), None, Wait())


def _ended(session: Session, run: AgentRun, pod: PodSeen, link: LinkSeen, now: float) -> Plan:
    """The agent's own exit ends the wish to run; one that nobody saw, in a new epoch, is an interruption."""
    exit_ = link.exit
    unseen = exit_ is None or (exit_.code is None and exit_.signal is None and not exit_.error)
    if unseen and link.epoch != run.epoch:
        return interrupt(session, now, pod.cause or "container restart")
    if (
        session.state.phase is Phase.DRAINING
    ):  # a stop under way was overruled: its exit is not the agent's own
        return Plan(enter(change(session, run=None), Phase.BOOTSTRAPPING, now), None, Retry(0))
    over = change(run, exit=exit_, epoch=link.epoch)
    done: Session = change(session, run=over, ever_ran=True, unread=False)
    if exit_ is not None and exit_.error and not run.resumed:
        done = change(done, ran_in="")  # no such program: there is no conversation to find
    return Plan(
        enter(done, Phase.PRESERVED, now, reason="agent exited", pod="kept"), None, Terminal("exited")
    )
