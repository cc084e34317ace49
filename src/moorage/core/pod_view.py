"""What a Pod's status says, read once and by name: containers, conditions, times, its own events.

Called by ``core.diagnosis`` and ``core.status``. Reads only; a field that is missing or of year 1 is None,
never a guess. Containers are found by name, because admission may put another one first. A value of
another type than the API has counts as missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from moorage.core.cleaning import clean
from moorage.core.kinds import Json


@dataclass(frozen=True)
class Termination:
    """How a container's process ended. Times are seconds since the epoch or None."""

    reason: str
    exit_code: int | None
    signal: int | None
    message: str
    finished_at: float | None


@dataclass(frozen=True)
class ContainerView:
    """One container. ``state``: waiting, running, terminated, or unknown when the kubelet said nothing."""

    name: str
    kind: str
    state: str
    reason: str = ""
    message: str = ""
    started_at: float | None = None
    restart_count: int = 0
    container_id: str = ""
    image: str = ""
    ready: bool = False
    terminated: Termination | None = None
    last_terminated: Termination | None = None


MainContainer = ContainerView
"""The view of a session's main container."""

_STATUS_LISTS = (
    ("initContainerStatuses", "init container"),
    ("containerStatuses", "container"),
)


def main_status(pod: Json, main: str) -> MainContainer:
    """The main container, by name. Its state is ``unknown`` while the kubelet has reported none."""
    for view in containers(pod):
        if view.kind == "container" and view.name == main:
            return view
    return ContainerView(main, "container", "unknown")


def containers(pod: Json) -> Iterator[ContainerView]:
    """All reported containers, init containers first."""
    status = _mapping(pod.get("status"))
    for key, kind in _STATUS_LISTS:
        for entry in _mappings(status.get(key)):
            yield _container(entry, kind)


def condition(pod: Json, kind: str) -> Json:
    """The condition of that type, {} when there is none."""
    conditions = _mappings(_mapping(pod.get("status")).get("conditions"))
    return next((entry for entry in conditions if entry.get("type") == kind), {})


def pod_ready(pod: Json) -> bool | None:
    """The Ready condition; None when the kubelet has not said, or the node is not heard from."""
    word = condition(pod, "Ready").get("status")
    if _mapping(pod.get("metadata")).get("deletionTimestamp"):
        return False
    if _mapping(pod.get("status")).get("phase") == "Unknown":
        return None
    return {"True": True, "False": False}.get(str(word))


def claims_of(pod: Json) -> frozenset[str]:
    """Names of the claims that a Pod's volumes stand on."""
    volumes = _mappings(_mapping(pod.get("spec")).get("volumes"))
    names = (_mapping(volume.get("persistentVolumeClaim")).get("claimName") for volume in volumes)
    return frozenset(str(name) for name in names if name)


def own_events(obj: Json, events: Sequence[Json]) -> list[Json]:
    """The events about exactly this object, oldest first. One of an earlier object with its name, or of no
    UID at all, is left out."""
    uid = _mapping(obj.get("metadata")).get("uid")
    mine = [event for event in events if uid and _mapping(event.get("involvedObject")).get("uid") == uid]
    return sorted(mine, key=lambda event: event_time(event) or 0.0)


def event_time(event: Json) -> float | None:
    """When an event last happened. The old and the new event API fill different fields, or none."""
    series = _mapping(event.get("series"))
    created = _mapping(event.get("metadata")).get("creationTimestamp")
    for text in (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"), created):
        if (moment := parse_time(text)) is not None:
            return moment
    return None


def first_time(event: Json) -> float | None:
    """When an event first happened, as far as it tells."""
    first = parse_time(event.get("firstTimestamp"))
    return first if first is not None else event_time(event)


def parse_time(text: object) -> float | None:
    """RFC 3339 to seconds since the epoch; None for anything else, and for the zero time of Go (year 1)."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.year < 1970:
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


def _container(entry: Json, kind: str) -> ContainerView:
    state = _mapping(entry.get("state"))
    words = ("running", "terminated", "waiting")
    word = next((word for word in words if isinstance(state.get(word), dict)), "unknown")
    detail = _mapping(state.get(word))
    return ContainerView(
        name=str(entry.get("name") or ""),
        kind=kind,
        state=word,
        reason=clean(detail.get("reason"), 80),
        message=clean(detail.get("message")),
        started_at=parse_time(detail.get("startedAt")),
        restart_count=_whole(entry.get("restartCount")) or 0,
        container_id=str(entry.get("containerID") or ""),
        image=clean(entry.get("image"), 300),
        ready=entry.get("ready") is True,
        terminated=_termination(state.get("terminated")),
        last_terminated=_termination(_mapping(entry.get("lastState")).get("terminated")),
    )


def _termination(detail: object) -> Termination | None:
    if not isinstance(detail, dict):
        return None
    return Termination(
        reason=clean(detail.get("reason"), 80),
        exit_code=_whole(detail.get("exitCode")),
        signal=_whole(detail.get("signal")) or None,
        message=clean(detail.get("message")),
        finished_at=parse_time(detail.get("finishedAt")),
    )


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
