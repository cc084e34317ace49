"""A workspace that went with its Pod, as a look tells it when nobody drives the session. Pure.

Called by ``sessions.views``. It judges as the planners do, so that what is shown is what the next verb will
put on record: an emptyDir is gone with its Pod, and only a proved Absent says that the Pod is gone.
"""

from __future__ import annotations

from moorage.core.observed import Absent, Observed
from moorage.core.plans.changes import end_run, holds_work, keeps_workspace, lose
from moorage.core.plans.observation import PodSeen
from moorage.core.session import Desired, Phase, Session

GONE = "the workspace was an emptyDir and its Pod is gone"
_SETTLED = (Phase.FAILED, Phase.LOST, Phase.CLEANING, Phase.ARCHIVED, Phase.DELETED)


def as_seen(session: Session, pod: Observed[PodSeen], now: float) -> Session:
    """The session as it is after this look: lost, where its Pod is proved gone and took the work along that
    nobody agreed to lose. Else unchanged. ``now``: seconds since the epoch."""
    leaves = session.intent.desired in (Desired.ARCHIVED, Desired.DELETED) or session.intent.discard_workspace
    if leaves or session.state.phase in _SETTLED or not isinstance(pod, Absent):
        return session
    if keeps_workspace(session) or not holds_work(session) or not session.inventory.pod_uid:
        return session
    return lose(end_run(session), now, GONE).session
