"""The planner of a session: what was observed and what a person wants → one action, one state, when next.

Called by ``sessions.owner``. Pure and total: every observation gives a plan; nothing is ever deleted on
Unknown. docs/design.md sections 3 and 4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from moorage.core.observed import Absent, Present, Unknown
from moorage.core.plans.actions import NoteLoss, Plan, Retry, Terminal
from moorage.core.plans.changes import retry
from moorage.core.plans.leaving import toward_gone, toward_paused, toward_stopped
from moorage.core.plans.observation import Seen
from moorage.core.plans.running import toward_running
from moorage.core.session import Desired, Phase, Session

IDENTITY_CHANGED = "identity changed"


def plan_session(session: Session, seen: Seen, now: float) -> Plan:
    """``now`` in seconds since the epoch. Raises nothing."""
    if session.state.phase is Phase.DELETED:
        return Plan(session, None, Terminal("deleted"))
    if session.state.phase is Phase.ARCHIVED and session.intent.desired is not Desired.DELETED:
        return Plan(session, None, Terminal("archived"))
    match seen.same_cluster:
        case Unknown():
            return retry(session, None, seen.trouble)
        case Absent() if session.intent.desired in (Desired.ARCHIVED, Desired.DELETED):
            # All of it went with its namespace: only what we keep of it is left to remove.
            seen = replace(seen, pod=Absent(), claim=Absent())
        case Absent() | Present(False):
            return Plan(session, None, Terminal(IDENTITY_CHANGED))
        case Present():
            pass
    if isinstance(seen.pod, Absent) and session.unread:
        return Plan(session, NoteLoss(), Retry(0))
    match session.intent.desired:
        case Desired.RUNNING:
            return toward_running(session, seen, now)
        case Desired.STOPPED:
            return toward_stopped(session, seen, now)
        case Desired.PAUSED:
            return toward_paused(session, seen, now)
        case Desired.ARCHIVED | Desired.DELETED:
            return toward_gone(session, seen, now)
        case unreachable:
            assert_never(unreachable)
