"""A link of one's own beside the owner's: for exec, cp, ports, and input from a second terminal.

Any process that can read the session's nonce may open one; agentctl lets it do all but start, drain and
signal the agent. Never bootstraps: that is the owner's part.
"""

from __future__ import annotations

from moorage.core.errors import Conflict
from moorage.core.observed import Present
from moorage.core.plans.observation import Verdict
from moorage.core.session import Phase, Session
from moorage.engine.connection import Connection
from moorage.engine.observe import Observer
from moorage.ports.link import Link
from moorage.sessions.parts import Parts


async def side_link(parts: Parts, session: Session) -> Link:
    """Prove that the Pod is ours, then connect. Conflict when there is no running Pod of this session."""
    cluster = await parts.executors.of(session)
    observer = Observer(cluster, parts.clock)
    same = await observer.same_cluster(session.inventory)
    pod = await observer.pod(session) if same == Present(True) else None
    if not isinstance(pod, Present) or pod.value.verdict is not Verdict.OWNED or not pod.value.main_running:
        raise Conflict(f"session {session.name} has no running Pod of its own", hint=_hint(session))
    nonce = bytes.fromhex((await parts.store.secrets.get(session.inventory.bootstrap_ref)).decode())
    connection = Connection(cluster, parts.store, lambda step, message: None)
    return await connection.join(session, pod.value.uid, nonce)


def _hint(session: Session) -> str:
    if session.state.phase in (Phase.PRESERVED, Phase.FAILED, Phase.INTERRUPTED):
        return f"start it again with: moorage resume {session.name}"
    return f"see: moorage describe {session.name}"
