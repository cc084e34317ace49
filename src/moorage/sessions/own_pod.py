"""The Pod under a session's name, proved to be the session's own before anything of it is used or shown.

Called by ``sessions.side_link`` and ``sessions.history``. Reads only.
"""

from __future__ import annotations

from moorage.core.errors import NotRunning
from moorage.core.observed import Absent, Present, Unknown
from moorage.core.plans.observation import PodSeen, Verdict
from moorage.core.session import Phase, Session
from moorage.engine.observe import Observer
from moorage.ports.cluster import Cluster
from moorage.sessions.contact import identity_changed, unanswered
from moorage.sessions.parts import Parts


async def own_pod(parts: Parts, cluster: Cluster, session: Session) -> PodSeen:
    """Raises NotRunning when there is no Pod of this session, Unreachable or AccessDenied when nobody can
    tell, IdentityChanged when somebody else answers."""
    observer = Observer(cluster, parts.clock)
    same = await observer.same_cluster(session.inventory)
    address = session.inventory.server_address
    if isinstance(same, Unknown):
        raise unanswered(observer.failure, address, same.why)
    if same != Present(True):
        raise identity_changed(session, gone=isinstance(same, Absent))
    pod = await observer.pod(session)
    if isinstance(pod, Unknown):
        raise unanswered(observer.failure, address, pod.why)
    if not isinstance(pod, Present) or pod.value.verdict is not Verdict.OWNED:
        raise no_pod(session)
    return pod.value


def no_pod(session: Session) -> NotRunning:
    """What is said where a running Pod is needed."""
    hint = f"see: moorage describe {session.name}"
    if session.state.phase in (Phase.PRESERVED, Phase.FAILED, Phase.INTERRUPTED):
        hint = f"start it again with: moorage resume {session.name}"
    return NotRunning(f"session {session.name} has no running Pod of its own", hint=hint)
