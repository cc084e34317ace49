"""Which transport leads to agentctl: found out once for each executor and runtimeClassName, then remembered.

``engine.connection`` asks it for every connection. Remembers only what ``auto`` found; a transport that a
person named is used as named and remembered by the session alone.
"""

from __future__ import annotations

from moorage.core.errors import ApiError, LinkError
from moorage.core.session import Session
from moorage.core.workload import pod_template
from moorage.engine.bootstrap import connect
from moorage.ports.cluster import Cluster
from moorage.ports.store import Store
from moorage.ports.streams import ByteStream


class Transports:
    """The way to agentctl of sessions on one cluster."""

    def __init__(self, cluster: Cluster, store: Store) -> None:
        self._cluster = cluster
        self._store = store

    async def reach(self, session: Session) -> tuple[ByteStream, str]:
        """A stream on which agentctl has spoken, and which transport it took: ``portforward`` or ``exec``.
        LinkError when nothing answers, ApiError when the API refuses."""
        if session.transport != "auto":
            return await self._connect(session, session.transport)
        known = await self._store.get_setting(setting(session))
        stream, used = await self._recall(session, known)
        if used != known:
            await self._store.put_setting(setting(session), used)
        return stream, used

    async def _recall(self, session: Session, known: str) -> tuple[ByteStream, str]:
        if known != "exec":  # port-forward is what is tried first anyway
            return await self._connect(session, "auto")
        try:
            return await self._connect(session, "exec")
        except (ApiError, LinkError) as failure:
            try:
                return await self._connect(session, "portforward")
            except (ApiError, LinkError):
                raise failure from None  # of the way that is known to work

    async def _connect(self, session: Session, transport: str) -> tuple[ByteStream, str]:
        inventory = session.inventory
        return await connect(
            self._cluster, inventory.pod_name, inventory.snapshot.main_container, transport=transport
        )


def setting(session: Session) -> str:
    """Where the store keeps it. A runtime in a sandbox of its own may lead elsewhere than another."""
    spec = pod_template(session.inventory.snapshot).get("spec") or {}
    return f"transport:{session.identity.executor_id}:{spec.get('runtimeClassName') or ''}"
