"""Which transport leads to agentctl: found out once for each executor and runtimeClassName, then remembered.

``engine.connection`` asks it for every connection. Remembers only what ``auto`` found; a transport that a
person named is used as named and remembered by the session alone.
"""

from __future__ import annotations

from moorage.core.errors import ApiError, LinkError
from moorage.core.session import Session
from moorage.core.workload import pod_template
from moorage.engine.bootstrap import Opening, Reached, T, connect
from moorage.ports.cluster import Cluster
from moorage.ports.store import Store


class Transports:
    """The way to agentctl of sessions on one cluster."""

    def __init__(self, cluster: Cluster, store: Store) -> None:
        self._cluster = cluster
        self._store = store

    async def reach(self, session: Session, opening: Opening[T]) -> tuple[T, str]:
        """What ``opening`` made of a stream to agentctl, and which transport that took: ``portforward`` or
        ``exec``. LinkError when agentctl does not answer, ApiError when the API refuses."""
        if session.transport != "auto":
            named = await self._connect(session, opening, session.transport)
            return named.opened, named.transport
        known = await self._store.get_setting(setting(session))
        found = await self._recall(session, opening, known)
        if found.lasting and found.transport != known:
            try:
                await self._store.put_setting(setting(session), found.transport)
            except BaseException:
                await found.opened.close()
                raise
        return found.opened, found.transport

    async def _recall(self, session: Session, opening: Opening[T], known: str) -> Reached[T]:
        if known != "exec":  # port-forward is what is tried first anyway
            return await self._connect(session, opening, "auto")
        try:
            return await self._connect(session, opening, "exec")
        except (ApiError, LinkError) as failure:
            try:
                return await self._connect(session, opening, "portforward")
            except (ApiError, LinkError):
                raise failure from None  # of the way that is known to work

    async def _connect(self, session: Session, opening: Opening[T], transport: str) -> Reached[T]:
        inventory = session.inventory
        main = inventory.snapshot.main_container
        return await connect(self._cluster, inventory.pod_name, main, opening, transport=transport)


def setting(session: Session) -> str:
    """Where the store keeps it. A runtime in a sandbox of its own may lead elsewhere than another."""
    spec = pod_template(session.inventory.snapshot).get("spec") or {}
    return f"transport:{session.identity.executor_id}:{spec.get('runtimeClassName') or ''}"
