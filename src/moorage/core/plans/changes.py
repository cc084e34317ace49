"""The few ways in which a plan changes a session's record. Called by the planners only; pure."""

from __future__ import annotations

from moorage.core.diagnosis.interruption import EVICTED, NODE_LOST, OOM, PREEMPTED
from moorage.core.kinds import PODS
from moorage.core.plans.actions import Action, Plan, Retry, Settle, Terminal
from moorage.core.plans.observation import Seen, Trouble
from moorage.core.session import (
    AgentExit,
    Diagnosis,
    Inventory,
    Phase,
    Restart,
    Session,
    State,
    WorkspaceMode,
    change,
)

RESTART_LIMIT = 3
RESTART_WINDOW = 600.0
RETRY_FIRST, RETRY_LAST = 0.25, 10.0
_REASONS = {OOM: OOM, EVICTED: "Evicted", PREEMPTED: "Preempted", NODE_LOST: "NodeLost"}
"""Of an interruption that is final: scripts tell them apart by these."""


def enter(
    session: Session,
    phase: Phase,
    now: float,
    *,
    reason: str = "",
    pod: str = "",
    why: Diagnosis | None = None,
) -> Session:
    """The session in ``phase``; ``since`` moves only when something is different."""
    old = session.state
    if (old.phase, old.reason, old.pod, old.diagnosis) == (phase, reason, pod, why):
        return session
    moved: Session = change(
        session, state=State(phase=phase, since=now, reason=reason, pod=pod, diagnosis=why)
    )
    return moved


def own(session: Session, **fields: object) -> Session:
    """The session with inventory fields replaced."""
    inventory: Inventory = change(session.inventory, **fields)
    owned: Session = change(session, inventory=inventory)
    return owned


def spend(session: Session, nonce: str) -> Session:
    """The session once it is known what became of the create that carried ``nonce``: no other object will
    ever be taken for its answer."""
    nonces = tuple(change(n, settled=True) if n.nonce == nonce else n for n in session.inventory.nonces)
    return own(session, nonces=nonces)


def without_pod(session: Session) -> Session:
    """The session once its Pod is proved gone."""
    return own(session, pod_uid="") if session.inventory.pod_uid else session


def keeps_workspace(session: Session) -> bool:
    """Whether the workspace outlives its Pod."""
    return session.inventory.snapshot.workspace.mode is not WorkspaceMode.EMPTY_DIR


def holds_work(session: Session) -> bool:
    """Whether losing the workspace would lose something."""
    return session.ever_ran or bool(session.filled)


def end_run(session: Session) -> Session:
    """An agent whose container is gone has ended; how is unknown (and never success)."""
    if not agent_may_run(session):
        return session
    ended: Session = change(session, run=change(session.run, exit=AgentExit()))
    return ended


def agent_may_run(session: Session) -> bool:
    """An agent was started and no end of it is on record."""
    return session.run is not None and session.run.exit is None


def back_off(trouble: Trouble | None) -> float:
    """Seconds to wait after the ``count``-th failure in a row."""
    count = trouble.count if trouble else 0
    return min(RETRY_FIRST * 2.0 ** min(count, 10), RETRY_LAST)


def begun_at(session: Session) -> float:
    """When the current attempt to run began: the wish, or the latest restart."""
    return max([session.intent.at, *(restart.at for restart in session.restarts)])


def pod_pause(session: Session, now: float) -> float:
    """Seconds to wait before another Pod is made: none for the first of an attempt, longer the more of them
    came to nothing (a node that refuses each, a controller that deletes each)."""
    begun = begun_at(session)
    made = [
        n.issued_at for n in session.inventory.nonces if n.kind == PODS.kind and begun < n.issued_at <= now
    ]
    pause = min(RETRY_FIRST * 2.0 ** min(len(made), 10), RETRY_LAST)
    return max(0.0, max(made) + pause - now) if made else 0.0


def fail(session: Session, now: float, why: Diagnosis) -> Plan:
    """The session has failed for this intent; what its start left behind is cleaned by the next plan."""
    return Plan(enter(session, Phase.FAILED, now, reason=why.category, why=why), None, Retry(0))


def lose(session: Session, now: float, message: str) -> Plan:
    """The only copy of the workspace is gone; said so, and nothing is created in its place."""
    why = Diagnosis(
        category="workspace_lost",
        reason="WorkspaceLost",
        message=message,
        hint="start a new session; choose --workspace managed_pvc to keep files beyond the Pod",
        terminal=True,
    )
    return Plan(enter(session, Phase.LOST, now, reason="workspace", why=why), None, Terminal("lost"))


def name_blocked(
    session: Session, kind: str, name: str, uid: str, conflict: str, *, holds: str = ""
) -> Diagnosis:
    """A foreign object holds our name: which, what told, and how a person may clear it. ``holds``: the claim
    that cannot go before it."""
    namespace = session.inventory.namespace
    kept = f"; it uses claim {holds}, which cannot go before it" if holds else ""
    return Diagnosis(
        category="name_blocked",
        reason="NameBlocked",
        message=f"{kind} {namespace}/{name} (uid {uid}) is not ours: "
        f"{conflict or 'no create nonce of ours'}{kept}",
        hint=f"look at it with: kubectl -n {namespace} describe {kind} {name}; "
        f"if nobody needs it: kubectl -n {namespace} delete {kind} {name}, then resume or rm this session",
        terminal=True,
    )


def blocked(
    session: Session, now: float, kind: str, name: str, uid: str, conflict: str, *, holds: str = ""
) -> Plan:
    """As ``name_blocked``: fail closed, touch nothing."""
    why = name_blocked(session, kind, name, uid, conflict, holds=holds)
    return Plan(
        enter(session, Phase.FAILED, now, reason="name_blocked", why=why), None, Terminal("name blocked")
    )


def interrupt(session: Session, now: float, cause: str, action: Action | None = None) -> Plan:
    """The running agent lost its container: start it again, at most three times in ten minutes a cause."""
    recent = [r for r in session.restarts if r.cause == cause and now - r.at < RESTART_WINDOW]
    known = session.state.diagnosis if session.state.phase is Phase.INTERRUPTED else None
    if not session.restart_allowed or len(recent) >= RESTART_LIMIT:
        again = (
            "restarts are off (--no-restart)" if not session.restart_allowed else "it was restarted 3 times"
        )
        said = f": {known.message}" if known else ""
        why = Diagnosis(
            category="oom" if cause == "OOMKilled" else "interrupted",
            reason=_REASONS.get(cause, "Interrupted"),
            message=f"the agent was interrupted ({cause}{said}) and is not started again: {again}",
            hint="see `moorage events` and `moorage logs`; `moorage resume` starts it once more",
            terminal=True,
        )
        return fail(change(session, run=None), now, why)
    again_session: Session = change(
        session, run=None, restarts=(*session.restarts, Restart(at=now, cause=cause))
    )
    return Plan(enter(again_session, Phase.INTERRUPTED, now, reason=cause, why=known), action, Retry(0))


def troubled(session: Session, seen: Seen, now: float) -> Plan | None:
    """A failed action that waiting will not mend ends the start."""
    if seen.trouble is not None and seen.trouble.diagnosis.terminal:
        return fail(session, now, seen.trouble.diagnosis)
    return None


def retry(session: Session, action: Action | None, trouble: Trouble | None) -> Plan:
    """Act, and look again soon; later the more often it failed."""
    settle: Settle = Retry(back_off(trouble))
    return Plan(session, action, settle)
