"""Toward ``stopped``, ``paused``, ``archived`` and ``deleted``: drain, release, remove, in that order.

Called by ``plans.session``. Nothing is deleted on Unknown, nothing foreign ever, and the claim only
after the Pod is proved gone.
"""

from __future__ import annotations

from moorage.core.diagnosis.api import CONTAINER_GONE
from moorage.core.observed import Absent, Present, Unknown
from moorage.core.plans.actions import (
    AdoptClaim,
    AdoptPod,
    CloseLink,
    Connect,
    DeleteClaim,
    DeletePod,
    Drain,
    Forget,
    NoteLoss,
    Plan,
    RejectClaim,
    RejectPod,
    Retry,
    Terminal,
)
from moorage.core.plans.changes import (
    agent_may_run,
    blocked,
    end_run,
    enter,
    holds_work,
    keeps_workspace,
    lose,
    own,
    retry,
    without_pod,
)
from moorage.core.plans.observation import LinkSeen, PodSeen, Seen, Trouble, Verdict
from moorage.core.plans.proof import unproved
from moorage.core.session import (
    AgentExit,
    AgentRun,
    Desired,
    Diagnosis,
    Phase,
    Session,
    WorkspaceMode,
    change,
)

RETURN_LIMIT = 30.0
"""Seconds for which a container that is between two starts is waited for: the kubelet's first pauses are of
10 and 20 seconds, later ones of up to five minutes."""
BETWEEN_STARTS = "the container is between two starts, and has the last output"
UNREAD = "goes with output that was not read"
"""Reasons: what is waited for, and that it was waited for enough."""
CONNECT_TRIES = 4
"""An agent that cannot be reached this often is ended by the Pod's own termination instead, where the Pod is
to go."""
STOP_TRIES = 8
"""Where the Pod is to stay, nothing else may end its agent, and after so many tries, in about half a minute,
the stop has failed: a container runtime that is restarted is back before."""


def toward_stopped(session: Session, seen: Seen, now: float) -> Plan:
    """The agent ends; Pod and workspace stay."""
    session = _accept(session)
    if (first := unproved(session, seen, now)) is not None:
        return first
    if not isinstance(seen.pod, Present):
        return _released(session, now)
    pod = seen.pod.value
    return _drain(session, pod, seen, now) or _kept(session, seen, now)


def toward_paused(session: Session, seen: Seen, now: float) -> Plan:
    """The agent ends and the Pod goes; only the workspace stays."""
    session = _accept(session)
    if (first := unproved(session, seen, now)) is not None:
        return first
    if not isinstance(seen.pod, Present):
        return _released(session, now)
    pod = seen.pod.value
    return _drain(session, pod, seen, now) or _remove_pod(session, pod, seen, now, Phase.DRAINING)


def toward_gone(session: Session, seen: Seen, now: float) -> Plan:
    """Archive and delete: Pod, then the claim if we made it, then what we kept of the session."""
    session = _accept(session)
    final = Phase.ARCHIVED if session.intent.desired is Desired.ARCHIVED else Phase.DELETED
    if session.state.phase is final:
        return Plan(session, None, Terminal(final))
    match seen.pod:
        case Unknown():
            return retry(enter(session, Phase.CLEANING, now), None, seen.trouble)
        case Present(pod) if pod.verdict is Verdict.ADOPTABLE:
            return retry(session, AdoptPod(pod.uid, pod.nonce), seen.trouble)
        case Present(pod) if pod.verdict is Verdict.ALTERED:
            return retry(session, RejectPod(pod.uid), seen.trouble)
        case Present(pod) if pod.verdict is Verdict.OWNED:
            drained = _drain(session, pod, seen, now)
            return drained or _remove_pod(session, pod, seen, now, Phase.CLEANING)
        case Present(pod) if session.inventory.pod_uid:
            return blocked(session, now, "pod", session.inventory.pod_name, pod.uid, pod.conflict)
        case _:
            return _remove_claim(end_run(without_pod(session)), seen, now, final)


def _accept(session: Session) -> Session:
    noted: Session = change(session, seen_intent=session.intent.number)
    return noted


def _kept(session: Session, seen: Seen, now: float) -> Plan:
    stopped = enter(end_run(session), Phase.PRESERVED, now, reason="stopped", pod="kept")
    if seen.link is not None:
        return Plan(stopped, CloseLink(), Retry(0))
    return Plan(stopped, None, Terminal("stopped"))


def _released(session: Session, now: float) -> Plan:
    """No Pod of ours is there. What was in an emptyDir is lost, unless a person agreed to that."""
    if session.state.phase is Phase.LOST:
        return Plan(session, None, Terminal("lost"))
    if not keeps_workspace(session) and holds_work(session) and not session.intent.discard_workspace:
        return lose(end_run(session), now, "the workspace was an emptyDir and its Pod is gone")
    session = end_run(without_pod(session))
    return Plan(
        enter(session, Phase.PRESERVED, now, reason="Pod released", pod="released"),
        None,
        Terminal("released"),
    )


def _drain(session: Session, pod: PodSeen, seen: Seen, now: float) -> Plan | None:
    """None once no agent runs in this Pod, or it cannot or need not be asked to end; where the Pod is to go,
    not before its last output is read, either. One that our record does not know was started by a newer copy
    of the data folder: whether we may end it, agentctl's fence says."""
    leaves = session.intent.desired in (Desired.ARCHIVED, Desired.DELETED)
    stays = session.intent.desired is Desired.STOPPED
    if not agent_may_run(session) and (stays or not session.unread):
        return None
    if pod.gone or pod.deleting or (session.intent.force and leaves):
        return None
    if not pod.main_running:
        return _await_container(session, now)
    draining = enter(session, Phase.DRAINING, now, reason=_waited(session))
    if seen.link is None:
        tries = STOP_TRIES if session.intent.desired is Desired.STOPPED else CONNECT_TRIES
        if seen.trouble is not None and seen.trouble.count >= tries and not _is_gone(seen.trouble):
            return _not_ended(session, not_reached(session, seen.trouble.diagnosis), now)
        return retry(draining, Connect(pod.uid), seen.trouble)
    link = seen.link
    if link.pod_uid != pod.uid:
        return Plan(session, CloseLink(), Retry(0))
    if link.agent_state in ("none", "exited"):
        return _drained(draining, link)
    if seen.trouble is not None and seen.trouble.action == Drain.__name__ and seen.trouble.diagnosis.terminal:
        return _not_ended(session, seen.trouble.diagnosis, now)
    return retry(draining, Drain(), seen.trouble)


def _await_container(session: Session, now: float) -> Plan | None:
    """Between two starts of the container a volume of the Pod holds what the agent wrote last, and the next
    start hands it out. None once that was waited for."""
    waiting = enter(session, Phase.DRAINING, now, reason=BETWEEN_STARTS)
    if session.state.reason == UNREAD or now - waiting.state.since > RETURN_LIMIT:
        return None
    return Plan(waiting, None, Retry(2.0))


def _waited(session: Session) -> str:
    """The reason of a drain goes on, and with it the time since when: a container that comes and goes is not
    waited for anew each time."""
    return session.state.reason if session.state.phase is Phase.DRAINING else ""


def _drained(draining: Session, link: LinkSeen) -> Plan:
    """No agent runs. One that has ended was read to its end before the link said so; agentctl that knows of
    none has nothing of what an earlier start wrote."""
    run = draining.run
    if run is not None and run.exit is None:
        draining = change(draining, run=_over(run, link))
    lost = draining.unread and link.agent_state == "none" and (run is None or bool(run.epoch))
    return Plan(change(draining, unread=lost), NoteLoss() if lost else None, Retry(0))


def _is_gone(trouble: Trouble) -> bool:
    """No agent runs in a container that is not there: its Pod will say so, or that it was started again."""
    return trouble.diagnosis.reason == CONTAINER_GONE


def _over(run: AgentRun, link: LinkSeen) -> AgentRun | None:
    """The run on record, now that no agent runs. None: it was never started."""
    if link.start_id == run.start_id:
        ended: AgentRun = change(run, exit=link.exit or AgentExit())
        return ended
    unknown: AgentRun = change(run, exit=AgentExit())
    return unknown if run.epoch else None


def not_reached(session: Session, why: Diagnosis) -> Diagnosis:
    """A stop that could not even be asked for. What ends the agent without agentctl costs the Pod, which is a
    person's decision."""
    pause = f"moorage pause {session.name}"
    if keeps_workspace(session):
        way = f"{pause} ends it with its Pod, and the workspace stays"
    else:
        way = f"{pause} --discard-workspace ends it with its Pod, and loses the workspace, an emptyDir"
    return Diagnosis(
        category=why.category,
        reason="AgentNotReached",
        message=f"the agent of session {session.name} runs on: it cannot be asked to end ({why.message})",
        hint=f"{way}; moorage stop {session.name} tries again",
        terminal=True,
    )


def _not_ended(session: Session, why: Diagnosis, now: float) -> Plan | None:
    """agentctl does not end the agent. Where the Pod goes anyway, its own termination does; a stop has
    failed, and is not said to be done."""
    if session.intent.desired is not Desired.STOPPED:
        return None
    failed = enter(session, Phase.FAILED, now, reason=why.category, why=why)
    return Plan(failed, None, Terminal("agent not ended"))


def _remove_pod(session: Session, pod: PodSeen, seen: Seen, now: float, phase: Phase) -> Plan:
    unread = UNREAD if session.unread else ""
    leaving = enter(session, phase, now, reason=unread)
    if pod.deleting and not pod.abandoned:  # its containers may have ended: the kubelet does the rest
        reason = "node lost" if pod.overdue else unread
        return Plan(enter(session, phase, now, reason=reason), None, Retry(2.0 if pod.overdue else 1.0))
    delete = DeletePod(pod.uid, now=pod.deleting, version=pod.version)
    return _refused(session, delete, seen, now) or retry(leaving, delete, seen.trouble)


def _remove_claim(session: Session, seen: Seen, now: float, final: Phase) -> Plan:
    inventory = session.inventory
    cleaning = enter(session, Phase.CLEANING, now)
    if inventory.snapshot.workspace.mode is not WorkspaceMode.MANAGED_PVC:
        return _forget(session, now, final)
    match seen.claim:
        case Unknown():
            return retry(cleaning, None, seen.trouble)
        case Absent():
            return _forget(own(session, claim_uid=""), now, final)
        case Present(claim) if claim.verdict is Verdict.ADOPTABLE:
            return retry(cleaning, AdoptClaim(claim.uid, claim.nonce), seen.trouble)
        case Present(claim) if claim.verdict is Verdict.ALTERED:
            return retry(cleaning, RejectClaim(claim.uid), seen.trouble)
        case Present(claim) if claim.verdict is Verdict.FOREIGN and inventory.claim_uid:
            return blocked(session, now, "pvc", inventory.claim_name, claim.uid, claim.conflict)
        case Present(claim) if claim.verdict is Verdict.FOREIGN or not inventory.claim_created_by_us:
            return _forget(session, now, final)
        case Present() if session.intent.keep_workspace:
            return _forget(session, now, final)
        case Present() if (pod := _holder(seen)) is not None:
            holds = inventory.claim_name
            return blocked(session, now, "pod", inventory.pod_name, pod.uid, pod.conflict, holds=holds)
        case Present(claim) if claim.deleting:
            describe = f"kubectl -n {inventory.namespace} describe pvc {inventory.claim_name}"
            reason = f"claim {inventory.claim_name} goes once no Pod uses it: {describe}"
            return Plan(enter(session, Phase.CLEANING, now, reason=reason), None, Retry(1.0))
        case Present(claim):
            delete = DeleteClaim(claim.uid, claim.version)
            return _refused(session, delete, seen, now) or retry(cleaning, delete, seen.trouble)


def _refused(session: Session, delete: DeletePod | DeleteClaim, seen: Seen, now: float) -> Plan | None:
    """A deletion that would be refused again has failed: the wish stays on record, and whoever names the
    verb again tries again."""
    trouble = seen.trouble
    if trouble is None or trouble.action != type(delete).__name__ or not trouble.diagnosis.terminal:
        return None
    why = trouble.diagnosis
    return Plan(enter(session, Phase.FAILED, now, reason=why.category, why=why), None, Terminal("refused"))


def _holder(seen: Seen) -> PodSeen | None:
    """The foreign Pod under our name for which the claim would stay Terminating, for ever if need be."""
    if not isinstance(seen.pod, Present):
        return None
    pod = seen.pod.value
    return pod if pod.holds_claim and not pod.deleting and not pod.gone else None


def _forget(session: Session, now: float, final: Phase) -> Plan:
    return Plan(enter(session, final, now), Forget(), Terminal(final))
