"""A link of one's own beside the owner's: for exec, cp, ports, and input from a second terminal.

Any process that can read the session's nonce may open one; agentctl lets it do all but start, drain and
signal the agent. Never bootstraps: that is the owner's part.
"""

from __future__ import annotations

from moorage.core.errors import Conflict
from moorage.core.observed import Absent, Present, Unknown
from moorage.core.plans.observation import Verdict
from moorage.core.session import Phase, Session
from moorage.engine.connection import Connection
from moorage.engine.observe import Observer
from moorage.ports.link import Link
from moorage.sessions.contact import identity_changed, unanswered
from moorage.sessions.parts import Parts


async def side_link(parts: Parts, session: Session) -> Link:
    """Prove that the Pod is ours, then connect.

    Raises Conflict when there is no running Pod of this session, Unreachable or AccessDenied when nobody can
    tell, IdentityChanged when somebody else answers.
    """
    cluster = await parts.executors.of(session)
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
    if not isinstance(pod, Present) or pod.value.verdict is not Verdict.OWNED or not pod.value.main_running:
        raise Conflict(f"session {session.name} has no running Pod of its own", hint=_hint(session))
    nonce = bytes.fromhex((await parts.store.secrets.get(session.inventory.bootstrap_ref)).decode())
    connection = Connection(cluster, parts.store, lambda step, message: None)
    return await connection.join(session, pod.value.uid, nonce)


def _hint(session: Session) -> str:
    if session.state.phase in (Phase.PRESERVED, Phase.FAILED, Phase.INTERRUPTED):
        return f"start it again with: moorage resume {session.name}"
    return f"see: moorage describe {session.name}"
