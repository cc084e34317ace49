"""A link of one's own beside the owner's: for exec, cp, ports, and input from a second terminal.

Any process that can read the session's nonce may open one; agentctl lets it do all but start, drain and
signal the agent. Never bootstraps: that is the owner's part.
"""

from __future__ import annotations

from moorage.core.session import Session
from moorage.engine.connection import Connection
from moorage.ports.link import Link
from moorage.sessions.own_pod import no_pod, own_pod
from moorage.sessions.parts import Parts


async def side_link(parts: Parts, session: Session) -> Link:
    """Prove that the Pod is ours, then connect.

    Raises Conflict when there is no running Pod of this session, and what ``own_pod`` raises.
    """
    cluster = await parts.executors.of(session)
    pod = await own_pod(parts, cluster, session)
    if not pod.main_running:
        raise no_pod(session)
    nonce = bytes.fromhex((await parts.store.secrets.get(session.inventory.bootstrap_ref)).decode())
    connection = Connection(cluster, parts.store, lambda step, message: None)
    return await connection.join(session, pod.uid, nonce)
