"""The judge: what the API servers were asked, read from their audit logs.

Called by tests and by `launcher.py writes`. The log has every write with request and answer, and
reads of everybody but the cluster's own components. It never asks an API server about the past.
"""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from .api import Api
from .cluster import Cluster
from .controlplane import audit_logs
from .shell import Failure, wait_for

READS = ("get", "list", "watch")
# Subresources that do something although a websocket opens them with GET.
STREAMS = ("exec", "attach", "portforward", "proxy")


@dataclass(frozen=True)
class Event:
    """One answered request (or, for a stream that is still open, one begun).

    `uid` is the object's UID where request or answer tell it, else "". `preconditions` are those of
    a delete. `code` is the HTTP status, 0 while unknown. `raw` is the whole audit event.
    """

    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    uid: str
    agent: str
    user: str
    code: int
    received: datetime
    dry_run: bool
    preconditions: dict[str, str]
    raw: dict[str, Any]

    @property
    def is_write(self) -> bool:
        """Whether the request could change something: not a read, not a dry run. Streams count."""
        return (self.verb not in READS or self.subresource in STREAMS) and not self.dry_run

    @property
    def succeeded(self) -> bool:
        """Whether the API server answered with success."""
        return 100 <= self.code < 400

    def __str__(self) -> str:
        what = "/".join(part for part in (self.resource, self.subresource) if part)
        where = "/".join(part for part in (self.namespace, self.name) if part)
        return f"{self.verb} {what} {where} uid={self.uid or '?'} → {self.code} ({self.agent})"


@dataclass(frozen=True)
class Mark:
    """A moment in the log: time, and how far each file had been written."""

    time: datetime
    sizes: dict[int, int]


class AuditLog:
    """Events of all API servers of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def mark(self) -> Mark:
        """Now; give it to `events` to see only what came after."""
        return Mark(
            datetime.now(UTC), {path.stat().st_ino: path.stat().st_size for path in audit_logs(self.cluster)}
        )

    def settle(self) -> None:
        """Return when everything answered before this call is in the log."""
        token = f"settle-{uuid.uuid4()}"
        api = Api(self.cluster, agent=token)
        if api("GET", f"/api/v1/namespaces/default/configmaps/{token}")[0] != 404:
            raise Failure("the API server did not answer a read of a missing object with 404")
        since = Mark(datetime.fromtimestamp(time.time() - 60, UTC), self._recent_sizes())
        wait_for("the audit log", lambda: any(event.agent == token for event in self.events(since)), 20, 0.05)

    def _recent_sizes(self) -> dict[int, int]:
        # The token is near the end; reading all of a large log for each question would be slow.
        return {
            path.stat().st_ino: max(0, path.stat().st_size - (1 << 20)) for path in audit_logs(self.cluster)
        }

    def events(
        self,
        since: Mark | None = None,
        *,
        agent: str = "",
        user: str = "",
        namespace: str = "",
        resource: str = "",
        name: str = "",
        writes: bool = False,
    ) -> list[Event]:
        """Matching events in the order they were received.

        `agent` is a part of the user agent; the other filters are exact. `writes` drops reads and dry runs.
        """
        by_id: dict[str, Event] = {}
        for raw in self._lines(since):
            event = parse(raw)
            exact = {"user": user, "namespace": namespace, "resource": resource, "name": name}
            wanted = (since is None or event.received >= since.time) and chosen(
                event, exact, agent=agent, writes=writes
            )
            if wanted:  # a stream is logged when it begins and again when it ends: the later one stays
                by_id[raw["auditID"]] = event
        return sorted(by_id.values(), key=lambda event: event.received)

    def _lines(self, since: Mark | None) -> Iterator[dict[str, Any]]:
        for path in audit_logs(self.cluster):
            with path.open("rb") as file:
                start = since.sizes.get(path.stat().st_ino, 0) if since else 0
                file.seek(max(0, start - 1))
                if start and file.read(1) != b"\n":
                    file.readline()  # the mark fell into the middle of a line
                for line in file:
                    if line.endswith(b"\n"):
                        yield json.loads(line)


def chosen(event: Event, exact: dict[str, str], *, agent: str, writes: bool) -> bool:
    """Whether the filters of ``events`` let it through; an empty one lets everything through."""
    return (
        agent in event.agent
        and all(getattr(event, field) == value for field, value in exact.items() if value)
        and (event.is_write or not writes)
    )


class Log(Protocol):
    """What a judge reads: an ``AuditLog``, or the same of another kind of cluster."""

    def mark(self) -> Mark: ...

    def settle(self) -> None: ...

    def events(
        self,
        since: Mark | None = None,
        *,
        agent: str = "",
        user: str = "",
        namespace: str = "",
        resource: str = "",
        name: str = "",
        writes: bool = False,
    ) -> list[Event]: ...


class Judge:
    """The audit log from one moment on, complete each time it is asked."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self._since = log.mark()

    def forget(self) -> None:
        """Start anew: events up to now are not seen any more."""
        self.log.settle()
        self._since = self.log.mark()

    def events(self, **filters: Any) -> list[Event]:
        """As AuditLog.events, after everything answered so far has reached the log."""
        self.log.settle()
        return self.log.events(self._since, **filters)

    def writes(self, **filters: Any) -> list[Event]:
        """Only what could change something."""
        return self.events(writes=True, **filters)


def _mapping(value: Any) -> dict[str, Any]:
    """A JSON patch is a list, and nonsense may be anything."""
    return value if isinstance(value, dict) else {}


def parse(raw: dict[str, Any]) -> Event:
    """One audit event of audit.k8s.io/v1."""
    ref = raw.get("objectRef", {})
    request, answer = _mapping(raw.get("requestObject")), _mapping(raw.get("responseObject"))
    preconditions = request.get("preconditions") or {}
    meta = answer.get("metadata") or {}
    details = answer.get("details") or {}
    uid = ref.get("uid") or preconditions.get("uid") or meta.get("uid") or details.get("uid") or ""
    return Event(
        verb=raw["verb"],
        resource=ref.get("resource", ""),
        subresource=ref.get("subresource", ""),
        namespace=ref.get("namespace", ""),
        name=ref.get("name") or meta.get("name") or "",
        uid=uid,
        agent=raw.get("userAgent", ""),
        user=raw.get("user", {}).get("username", ""),
        code=raw.get("responseStatus", {}).get("code", 0),
        received=datetime.fromisoformat(raw["requestReceivedTimestamp"].replace("Z", "+00:00")),
        dry_run="dryRun=All" in raw.get("requestURI", "") or "All" in (request.get("dryRun") or []),
        preconditions=preconditions,
        raw=raw,
    )


def count(events: Iterable[Event]) -> Counter[tuple[str, str, str]]:
    """Number of events by user agent (first word), verb and resource with subresource."""
    counter: Counter[tuple[str, str, str]] = Counter()
    for event in events:
        what = "/".join(part for part in (event.resource, event.subresource) if part)
        counter[event.agent.split(" ")[0], event.verb, what] += 1
    return counter


def read(path: Path) -> list[Event]:
    """Every complete event of one log file, for looking at a log that was kept."""
    return [
        parse(json.loads(line))
        for line in path.read_bytes().splitlines(keepends=True)
        if line.endswith(b"\n")
    ]
