"""All objects of the embedded cluster, one counter of versions, and the changes a watch can still ask for.

Used by ``embedded.registry`` (writes), ``embedded.api`` (reads, watches). Synchronous: a call is atomic
because nothing else runs in the event loop meanwhile. Decides nothing about Kubernetes: no defaults, no
admission, no conflicts.

Objects handed out are shared; whoever wants to change one copies it first (``copy``).
"""

from __future__ import annotations

import asyncio
import bisect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import msgspec

from moorage.core.kinds import Json
from moorage.embedded.storage.journal import KEPT, Journal, Row

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Json).decode
Key = tuple[str, str]
"""(namespace, name); the namespace of what has none is ``""``."""


@dataclass(frozen=True, slots=True)
class Change:
    """One step of the log; ``obj`` is the state after it, of a deletion the last one."""

    version: int
    type: str
    obj: Json
    previous: Json | None


Listener = Callable[[str, Change], None]
"""Told of each change at its commit, with the resource's name; must not write."""


class Expired(Exception):
    """The log no longer reaches back to that version; ``oldest`` is the first that can be asked for."""

    def __init__(self, version: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {version} ({oldest})")
        self.version, self.oldest = version, oldest


class _Shelf:
    """The objects and the log of one resource."""

    def __init__(self, floor: int) -> None:
        self.objects: dict[Key, Json] = {}
        self.log: list[Change] = []
        self.floor = floor  # versions above it can be replayed
        self.waiting: set[asyncio.Future[None]] = set()


class Store:
    """See the module. ``path``: the database file, None for memory only. Raises StoreError."""

    def __init__(self, path: Path | None = None) -> None:
        self._journal = Journal(path)
        self._shelves: dict[str, _Shelf] = {}
        self._listeners: list[Listener] = []
        self.version = self._journal.version()
        self._load()

    def _load(self) -> None:
        rows = list(self._journal.changes())
        self._floor = rows[0].version - 1 if rows else self.version
        for resource, namespace, name, body in self._journal.objects():
            self._shelf(resource).objects[namespace, name] = _decode(body)
        for row in rows:
            previous = _decode(row.previous) if row.previous is not None else None
            self._shelf(row.resource).log.append(Change(row.version, row.type, _decode(row.body), previous))

    def _shelf(self, resource: str) -> _Shelf:
        found = self._shelves.get(resource)
        if found is None:
            found = self._shelves[resource] = _Shelf(self._floor)
        return found

    def introduce(self, resource: str) -> None:
        """A resource that begins to exist now: of it, nothing from before can be asked for."""
        self._shelf(resource).floor = self.version

    def get(self, resource: str, key: Key) -> Json | None:
        return self._shelf(resource).objects.get(key)

    def items(self, resource: str, namespace: str = "") -> list[Json]:
        """All objects in the order of their keys, of one namespace or of all."""
        objects = self._shelf(resource).objects
        return [objects[key] for key in sorted(objects) if not namespace or key[0] == namespace]

    def put(self, resource: str, key: Key, obj: Json) -> Json:
        """Store ``obj`` (which it keeps) under the next version, and return it."""
        previous = self._shelf(resource).objects.get(key)
        return self._commit(resource, key, "MODIFIED" if previous else "ADDED", obj, previous)

    def remove(self, resource: str, key: Key, last: Json | None = None) -> Json:
        """Take the object away; ``last``: its final state, where that is another than the stored one."""
        previous = self._shelf(resource).objects[key]
        return self._commit(resource, key, "DELETED", last or previous, previous)

    def _commit(self, resource: str, key: Key, type_: str, obj: Json, previous: Json | None) -> Json:
        version = self.version + 1
        obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}
        before = _encode(previous) if previous is not None else None
        self._journal.write(Row(version, resource, *key, type_, _encode(obj), before))
        self.version = version
        shelf = self._shelf(resource)
        if type_ == "DELETED":
            del shelf.objects[key]
        else:
            shelf.objects[key] = obj
        change = Change(version, type_, obj, previous)
        shelf.log.append(change)
        if len(shelf.log) > 2 * KEPT:
            del shelf.log[:KEPT]
            shelf.floor = shelf.log[0].version - 1
        waiting, shelf.waiting = shelf.waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)
        for listener in list(self._listeners):
            listener(resource, change)
        return obj

    @contextmanager
    def listening(self, listener: Listener) -> Iterator[None]:
        """Tell ``listener`` of each change while the context is open."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def since(self, resource: str, version: int) -> list[Change]:
        """Changes after ``version``, oldest first. Raises Expired."""
        shelf = self._shelf(resource)
        if version < shelf.floor:
            raise Expired(version, shelf.floor)
        return shelf.log[bisect.bisect_right(shelf.log, version, key=attrgetter("version")) :]

    def at(self, resource: str, version: int) -> list[Json]:
        """All objects as they were at ``version``, in the order of their keys. Raises Expired."""
        objects = dict(self._shelf(resource).objects)
        for change in reversed(self.since(resource, version)):
            key = key_of(change.obj)
            if change.previous is None:
                objects.pop(key, None)
            else:
                objects[key] = change.previous
        return [objects[key] for key in sorted(objects)]

    async def changed(self, resource: str, version: int) -> None:
        """Wait until there is a change of ``resource`` after ``version``."""
        shelf = self._shelf(resource)
        while not shelf.log or shelf.log[-1].version <= version:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            shelf.waiting.add(future)
            try:
                await future
            finally:
                shelf.waiting.discard(future)

    def forget(self, resources: Iterable[str] = ()) -> None:
        """Drop the log, as a compaction does: every older version is expired from now on."""
        for name in resources or list(self._shelves):
            shelf = self._shelf(name)
            shelf.log, shelf.floor = [], self.version

    def close(self) -> None:
        self._journal.close()


def key_of(obj: Json) -> Key:
    metadata = obj["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def copy(obj: Json) -> Json:
    """A deep copy that the caller may change."""
    return _decode(_encode(obj))
