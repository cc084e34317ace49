"""Watches: initial events, changes as they come, bookmarks, and both ways to say 410.

Called by ``api.server``. Yields events as JSON objects; who writes them to the wire decides when to stop.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

from moorage.core.kinds import Json
from moorage.embedded.api.calls import Call, is_true
from moorage.embedded.api.reads import Shape, asked_version, selected, timeout_seconds
from moorage.embedded.refusal import expired, invalid_options, too_new
from moorage.embedded.registry.kinds import Kind
from moorage.embedded.registry.meta import forbidden_field, unsupported
from moorage.embedded.registry.selectors import Matches
from moorage.embedded.storage.store import Change, Expired, Store

BOOKMARK_EVERY = 60.0
"""Seconds between bookmarks of a quiet watch."""
_SHORTEST = 1800.0
END = "k8s.io/initial-events-end"


class Watch:
    """One watch, checked. Raises Refusal 400, 422 or 504 when it cannot be."""

    def __init__(
        self, store: Store, kind: Kind, call: Call, shape: Shape, *, bookmark_every: float = BOOKMARK_EVERY
    ) -> None:
        self._store, self._kind, self._shape = store, kind, shape
        self._bookmark_every = bookmark_every
        self._matches = _in_namespace(selected(kind, call), kind, call)
        self._bookmarks = is_true(call.query, "allowWatchBookmarks")
        self._initial = is_true(call.query, "sendInitialEvents")
        _check_options(call)
        self._given = asked_version(call)
        if self._given is not None and self._given > store.version:
            raise too_new(self._given, store.version)
        self._timeout = timeout_seconds(call) or _server_timeout()

    async def events(self) -> AsyncIterator[Json]:
        """Events until the watch's time is up. An expired version ends it with an ERROR event."""
        until = asyncio.get_running_loop().time() + self._timeout
        version = self._given or 0
        if self._initial or not self._given:
            version = self._store.version
            for obj in self._store.items(self._kind.key):
                if self._matches is None or self._matches(obj):
                    yield self._event("ADDED", obj)
            if self._initial and self._bookmarks:
                yield self._bookmark(version, {"annotations": {END: "true"}})
        while True:
            try:
                changes = self._store.since(self._kind.key, version)
            except Expired as error:
                yield {"type": "ERROR", "object": expired(str(error)).status}
                return
            for change in changes:
                version = change.version
                event = self._changed(change)
                if event is not None:
                    yield event
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                return
            if not await self._wait(version, min(left, self._bookmark_every)) and self._bookmarks:
                version = self._store.version
                yield self._bookmark(version)

    async def _wait(self, version: int, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._store.changed(self._kind.key, version), seconds)
        except TimeoutError:
            return False
        return True

    def _changed(self, change: Change) -> Json | None:
        """A change as this watch's selectors see it."""
        if self._matches is None:
            return self._event(change.type, change.obj)
        before = change.previous is not None and self._matches(change.previous)
        after = change.type != "DELETED" and self._matches(change.obj)
        if before and after:
            return self._event("MODIFIED", change.obj)
        if after:
            return self._event("ADDED", change.obj)
        if before and change.previous is not None:
            metadata = {**change.previous["metadata"], "resourceVersion": str(change.version)}
            return self._event("DELETED", {**change.previous, "metadata": metadata})
        return None

    def _event(self, type_: str, obj: Json) -> Json:
        return {"type": type_, "object": self._shape.one(self._kind, obj)}

    def _bookmark(self, version: int, metadata: Json | None = None) -> Json:
        resource = self._kind.resource
        obj = {
            "kind": resource.kind,
            "apiVersion": resource.api_version,
            "metadata": {"resourceVersion": str(version), **(metadata or {})},
        }
        return {"type": "BOOKMARK", "object": obj}


def _check_options(call: Call) -> None:
    """What of a watch's parameters does not go together. Raises Refusal 422."""
    field, match = "resourceVersionMatch", call.query.get("resourceVersionMatch", "")
    faults = []
    if "sendInitialEvents" in call.query and match != "NotOlderThan":
        why = f"sendInitialEvents requires setting {field} to NotOlderThan"
        faults.append(forbidden_field(field, why))
    elif "sendInitialEvents" not in call.query and match:
        why = f"{field} is forbidden for watch unless sendInitialEvents is provided"
        faults.append(forbidden_field(field, why))
    if match not in ("", "NotOlderThan"):
        faults.append(unsupported(field, match, ("NotOlderThan",)))
    if faults:
        raise invalid_options("ListOptions", *faults)


def _in_namespace(matches: Matches | None, kind: Kind, call: Call) -> Matches | None:
    if not kind.resource.namespaced or not call.namespace:
        return matches
    namespace = call.namespace

    def both(obj: Json) -> bool:
        return obj["metadata"].get("namespace") == namespace and (matches is None or matches(obj))

    return both


def _server_timeout() -> float:
    return _SHORTEST * (1 + random.random())  # noqa: S311 - spreads load, guards nothing
