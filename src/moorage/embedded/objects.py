"""``seam.Objects`` over the registry: how the node and the controllers see the cluster.

Made by ``embedded.cluster``. The same semantics as over HTTP, as a user who may do everything; no webhooks.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from moorage.core.errors import ApiError
from moorage.core.kinds import EVENTS, PODS, Json, Resource
from moorage.embedded.refusal import conflict
from moorage.embedded.registry.deletion import delete
from moorage.embedded.registry.kinds import Kind
from moorage.embedded.registry.meta import quoted
from moorage.embedded.registry.registry import Registry
from moorage.embedded.registry.write import DeleteOptions, Write
from moorage.embedded.seam import Change
from moorage.embedded.storage.store import Key, Store, copy, key_of


class LocalObjects:
    """One component's view; ``component`` is the source of its events, and the field manager too unless
    ``manager`` names another."""

    def __init__(self, registry: Registry, component: str, host: str = "", *, manager: str = "") -> None:
        self._registry, self._component, self._host = registry, component, host
        self._write = Write(manager=manager or component)

    @property
    def _store(self) -> Store:
        return self._registry.store

    def _kind(self, resource: Resource) -> Kind:
        return self._registry.kinds.of(resource)

    def get(self, resource: Resource, namespace: str, name: str) -> Json | None:
        found = self._store.get(self._kind(resource).key, (namespace, name))
        return copy(found) if found is not None else None

    def list(self, resource: Resource, namespace: str = "") -> list[Json]:
        return [copy(found) for found in self._store.items(self._kind(resource).key, namespace)]

    def create(self, resource: Resource, obj: Json) -> Json:
        kind = self._kind(resource)
        body, _ = self._registry.decode(kind, obj, "Ignore")
        status = body.get("status")
        draft = self._registry.draft(kind, body["metadata"].get("namespace") or "", body, self._write)
        made = self._registry.create(kind, draft, self._write)
        if status and kind.status:  # a component may say both at once, e.g. a node that registers
            made = self._registry.update(
                kind, key_of(made), {**made, "status": status}, self._write, "status"
            )
        return copy(made)

    def update(self, resource: Resource, obj: Json) -> Json:
        kind = self._kind(resource)
        return copy(self._registry.update(kind, key_of(obj), copy(obj), self._write))

    def update_status(self, resource: Resource, obj: Json) -> Json:
        kind = self._kind(resource)
        return copy(self._registry.update(kind, key_of(obj), copy(obj), self._write, "status"))

    def delete(
        self, resource: Resource, namespace: str, name: str, uid: str, grace_seconds: int | None = None
    ) -> None:
        options = DeleteOptions(uid=uid, grace=grace_seconds, write=self._write)
        delete(self._registry, self._kind(resource), (namespace, name), options)

    def remove(self, resource: Resource, namespace: str, name: str, uid: str) -> None:
        try:
            self.delete(resource, namespace, name, uid, grace_seconds=0)
        except ApiError as error:
            if error.problem.http_status not in (404, 409):
                raise

    @asynccontextmanager
    async def watch(self, resource: Resource) -> AsyncIterator[AsyncIterator[Change]]:
        yield self._changes(self._kind(resource).key)

    async def _changes(self, key: str) -> AsyncIterator[Change]:
        version, existing = self._store.version, self._store.items(key)
        for obj in existing:
            yield "ADDED", copy(obj)
        while True:
            await self._store.changed(key, version)
            for change in self._store.since(key, version):
                version = change.version
                yield change.type, copy(change.obj)

    def event(self, about: Json, type_: str, reason: str, message: str) -> None:
        namespace = about["metadata"].get("namespace") or "default"
        name = self._event_name(about, type_, reason, message)
        kind, now = self._kind(EVENTS), self._registry.time()
        known = self._store.get(kind.key, (namespace, name))
        try:
            if known is not None:
                again = {**copy(known), "lastTimestamp": now, "count": known.get("count", 1) + 1}
                self._registry.update(kind, (namespace, name), again, self._write)
            else:
                self.create(EVENTS, self._new_event(about, namespace, name, (type_, reason, message), now))
        except ApiError:
            return  # its namespace is going away: nobody will read it

    def _event_name(self, about: Json, type_: str, reason: str, message: str) -> str:
        told = "\0".join((about["metadata"].get("uid", ""), type_, reason, message, self._component))
        return f"{about['metadata']['name']}.{hashlib.sha256(told.encode()).hexdigest()[:16]}"

    def _new_event(
        self, about: Json, namespace: str, name: str, words: tuple[str, str, str], now: str
    ) -> Json:
        type_, reason, message = words
        involved = {
            "kind": about.get("kind", ""),
            "apiVersion": about.get("apiVersion", ""),
            "name": about["metadata"]["name"],
            "uid": about["metadata"].get("uid", ""),
            "resourceVersion": about["metadata"].get("resourceVersion", ""),
        }
        if about["metadata"].get("namespace"):
            involved["namespace"] = namespace
        return {
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "type": type_,
            "reason": reason,
            "message": message,
            "source": {"component": self._component, **({"host": self._host} if self._host else {})},
            "reportingComponent": self._component,
            "reportingInstance": self._host,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }

    def bind(self, pod: Json, node: str) -> None:
        """Give a Pod its node, as the scheduler's binding does. Raises ApiError 409 when it has one."""
        bind(self._registry, self._kind(PODS), key_of(pod), node, pod["metadata"].get("uid", ""), self._write)


def bind(registry: Registry, kind: Kind, at: Key, node: str, uid: str, write: Write) -> None:
    """Set ``spec.nodeName``, which no update may. Raises Refusal 404 or 409."""
    old = registry.get(kind, *at)
    if uid and old["metadata"]["uid"] != uid:
        raise conflict(kind.resource, at[1], "the Pod is another one by now")
    if old["spec"].get("nodeName"):
        why = f"pod {at[1]} is already assigned to node {quoted(old['spec']['nodeName'])}"
        raise conflict(kind.resource, at[1], why)
    new = copy(old)
    new["spec"]["nodeName"] = node
    condition = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": registry.time(),
        "observedGeneration": new["metadata"].get("generation", 1),
    }
    status = new.setdefault("status", {})
    others = [c for c in status.get("conditions") or () if c.get("type") != "PodScheduled"]
    status["conditions"] = [condition, *others]
    if not write.dry_run:
        registry.store.put(kind.key, at, new)
