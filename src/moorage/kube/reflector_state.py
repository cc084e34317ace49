"""What a reflector asks next, and what an answer means: decisions only.

Called by ``kube.reflector``, which sends the requests. Holds the objects; never waits, sends or reads a
clock: times and randomness are arguments.

Rules: a resourceVersion is taken from list metadata, from bookmarks and from events after the first
sync, never from the synthetic events that describe what already was. A relist removes what is gone.
410 comes as an HTTP status or as an ERROR event. A server that closes watches at once without a word
holds a stale version without saying so: back off, and list again after a few.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from moorage.core.kinds import Json

FIRST_BACKOFF = 0.8
MAX_BACKOFF = 30.0
SHORT_WATCH = 1.0
"""Seconds; a watch that ended sooner and brought nothing counts as short."""
SHORT_LIMIT = 3
"""So many short or failed watches in a row make it list again."""

INITIAL_END = "k8s.io/initial-events-end"


@dataclass(frozen=True)
class List:
    """List all objects, most recent, page by page; then call ``listed``."""


@dataclass(frozen=True)
class Watch:
    """Watch from ``resource_version``; with ``initial``, from the present state as one stream."""

    resource_version: str
    initial: bool = False


Request: TypeAlias = List | Watch


class End(Enum):
    """How a request ended."""

    CLOSED = "closed"  # orderly, or silent for too long, or cut: resume where we were
    EXPIRED = "expired"  # 410, in band or out
    UNSUPPORTED = "unsupported"  # the server refused, ignored or dropped the initial events
    FAILED = "failed"  # no answer, 5xx, 403, an ERROR event of another kind


class ReflectorState:
    """The objects of one watched set, by name, and where to go on."""

    def __init__(self, *, watch_list: bool) -> None:
        self.objects: dict[str, Json] = {}
        self.synced = False
        self._watch_list = watch_list
        self._version = ""
        self._staged: dict[str, Json] | None = None
        self._failures = 0
        self._brought = 0

    @property
    def resource_version(self) -> str:
        """Where the next watch goes on; "" when it must start anew."""
        return self._version

    def request(self) -> Request:
        """What to send now."""
        self._brought = 0
        if self._version:
            return Watch(self._version)
        if self._watch_list:
            self._staged = {}
            return Watch("", initial=True)
        return List()

    def listed(self, items: Iterable[Json], resource_version: str) -> bool:
        """A complete list came. True when it changed anything (the first one always does)."""
        found = {_name(item): _slim(item) for item in items}
        changed = self._replace(found)
        self._version, self._failures = resource_version, 0
        return changed

    def event(self, kind: str, obj: dict[str, Any]) -> bool | End:
        """One watch event. True when an object changed; an ``End`` when the watch must be given up."""
        metadata = obj.get("metadata") or {}
        if kind == "ERROR":
            return End.EXPIRED if is_expired(obj) else End.FAILED
        self._brought += 1
        if kind == "BOOKMARK":
            return self._bookmark(metadata)
        if kind not in ("ADDED", "MODIFIED", "DELETED"):
            return False
        if self._staged is not None:
            # Synthetic: it describes the state, in an order of its own. Its version proves nothing.
            if kind == "DELETED":
                self._staged.pop(_name(obj), None)
            else:
                self._staged[_name(obj)] = _slim(obj)
            return False
        self._version = str(metadata.get("resourceVersion") or self._version)
        self._failures = 0
        if kind == "DELETED":
            return self.objects.pop(_name(obj), None) is not None
        self.objects[_name(obj)] = _slim(obj)
        return True

    def ended(self, end: End, *, lasted: float, jitter: float) -> float:
        """The request ended. Returns the seconds to wait before the next; ``jitter`` is in 0..1."""
        self._staged = None
        if end is End.UNSUPPORTED:
            self._watch_list = False
            self._version = ""
            return 0.0
        if end is End.EXPIRED:
            self._version = ""
        if end is End.CLOSED and (self._brought or lasted >= SHORT_WATCH):
            self._failures = 0
            return 0.0
        self._failures += 1
        if self._failures % SHORT_LIMIT == 0:
            self._version = ""
        if end is End.EXPIRED and self._failures == 1:
            return 0.0
        backoff = min(MAX_BACKOFF, FIRST_BACKOFF * 2.0 ** min(self._failures - 1, 16))
        return backoff * (0.5 + jitter / 2)

    def _bookmark(self, metadata: dict[str, Any]) -> bool:
        version = str(metadata.get("resourceVersion") or "")
        annotations = metadata.get("annotations") or {}
        if self._staged is None:
            self._version = version or self._version
            self._failures = 0
            return False
        if annotations.get(INITIAL_END) != "true" or not version:
            return False  # a progress mark inside the initial events
        staged, self._staged = self._staged, None
        changed = self._replace(staged)
        self._version, self._failures = version, 0
        return changed

    def _replace(self, found: dict[str, Json]) -> bool:
        changed = not self.synced or found != self.objects
        self.objects, self.synced = found, True
        return changed


def is_expired(status: dict[str, Any]) -> bool:
    """Whether an ERROR event's Status says the version is gone."""
    return status.get("code") == 410 or status.get("reason") in ("Expired", "Gone")


def _name(obj: Json) -> str:
    return str((obj.get("metadata") or {}).get("name") or "")


def _slim(obj: Json) -> Json:
    """Without managedFields: a third of an object, and nothing here reads it."""
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
    return obj
