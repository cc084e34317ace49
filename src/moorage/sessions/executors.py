"""Executors: which API server and namespace a session belongs to, and the connections to them.

Called by the verbs of this package. A session remembers its executor, so later commands find its cluster
without flags. Credentials are never stored: an executor is a kubeconfig path, a context and a namespace.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from moorage.core.command import check_text
from moorage.core.errors import NotFound, UsageError
from moorage.core.session import Session
from moorage.ports.cluster import Cluster
from moorage.ports.store import Store


class ExecutorConfig(msgspec.Struct, frozen=True):
    """Where an executor is. ``kubeconfig``: absolute path or list of paths, "" for in-cluster."""

    kubeconfig: str
    context: str
    namespace: str
    embedded: bool = False
    """The embedded cluster of the data folder, wherever that lies by now."""
    given_id: str = ""
    """Of an executor of the service, whose place may change."""
    request_timeout: float = 0.0
    """Seconds; 0: as the settings have it."""

    @property
    def id(self) -> str:
        """Given, or else derived from the three: the same place is the same executor."""
        if self.given_id:
            return self.given_id
        text = "\0".join((self.kubeconfig, self.context, self.namespace))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def where(self) -> str:
        """For people."""
        if self.embedded:
            return f"the embedded cluster of this machine, namespace {self.namespace}"
        return f"context {self.context or '(current)'}, namespace {self.namespace}"


@dataclass(frozen=True)
class BuiltIn:
    """The embedded cluster, for new sessions where nothing names a cluster; never in place of one that was
    named. ``template``: what a launch without one starts from; ``platform``: this machine's;
    ``is_running``: whether its process is there now."""

    config: ExecutorConfig
    template: bytes
    platform: str
    is_running: Callable[[], bool]


Connect = Callable[[ExecutorConfig], Awaitable[Cluster]]


class Executors:
    """The executors of one data folder. ``given``: the one that flags or settings name, if any.
    ``by_namespace``: completes a namespace given alone, which says where new sessions go and names no other
    cluster for those there are. ``built_in``: where new sessions go when nothing says another place."""

    def __init__(
        self,
        store: Store,
        connect: Connect,
        given: ExecutorConfig | None,
        *,
        by_namespace: Callable[[], ExecutorConfig] | None = None,
        built_in: BuiltIn | None = None,
    ) -> None:
        self._store = store
        self._connect = connect
        self._given = given
        self._by_namespace = by_namespace
        self.built_in = built_in
        self._open: dict[ExecutorConfig, Cluster] = {}

    @property
    def where(self) -> str:
        """For people; "" when none was named."""
        chosen = self._chosen()
        return chosen.where if chosen else ""

    def chosen(self) -> ExecutorConfig:
        """The executor for a new session. UsageError when none was named and none is built in."""
        chosen = self._chosen()
        if chosen is None:
            raise UsageError("no cluster was named", hint="add --context NAME and -n NAMESPACE")
        return chosen

    def _chosen(self) -> ExecutorConfig | None:
        if self._given is None and self._by_namespace is not None:
            return self._by_namespace()
        if self._given is None and self.built_in is not None:
            return self.built_in.config
        return self._given

    async def remember(self, config: ExecutorConfig) -> str:
        """Put the executor on record; its id."""
        await self._store.put_setting(f"executor:{config.id}", msgspec.json.encode(config).decode())
        return config.id

    async def cluster(self, config: ExecutorConfig) -> Cluster:
        """A connection, kept for the life of this object. UsageError for what could not be recorded."""
        for field in ("kubeconfig", "context", "namespace"):
            check_text(getattr(config, field), f"the {field}", field=field, hint="use a name in UTF-8")
        if config not in self._open:
            self._open[config] = await self._connect(config)
        return self._open[config]

    def choosing(self, config: ExecutorConfig) -> Executors:
        """The same connections, with ``config`` as the place of new sessions. Closed with this one."""
        other = Executors(self._store, self._connect, config, built_in=self.built_in)
        other._open = self._open
        return other

    def trying(self, config: ExecutorConfig) -> Executors:
        """Connections of its own, for a place that may not come to be used; whoever asks closes it."""
        return Executors(self._store, self._connect, config, built_in=self.built_in)

    async def of(self, session: Session) -> Cluster:
        """The cluster of a session: the recorded one, unless flags name another (whose identity is then
        compared with the recorded one before anything is written)."""
        if self._given is not None:
            config = msgspec.structs.replace(self._given, namespace=session.inventory.namespace)
            return await self.cluster(config)
        recorded = await self.recorded(session)
        if recorded is None:
            raise NotFound(
                f"the executor {session.identity.executor_id} of session {session.name} is not on record",
                hint="name its cluster with --context and -n",
            )
        return await self.cluster(recorded)

    async def recorded(self, session: Session) -> ExecutorConfig | None:
        """The executor a session was made on; None when it is not on record."""
        stored = await self._store.get_setting(f"executor:{session.identity.executor_id}")
        return msgspec.json.decode(stored, type=ExecutorConfig) if stored else None

    async def close(self) -> None:
        opened, self._open = self._open, {}
        for cluster in opened.values():
            await cluster.close()
