"""The laws of a session, judged from the API server's log and from what is stored. Pure but for its inputs.

Each function returns what is broken, in words; nothing means that the law holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from moorage.core.kinds import Json
from moorage.ports.link import Gap, Output

OBJECTS = ("pods", "persistentvolumeclaims")
WRITES = ("create", "update", "patch", "delete", "deletecollection")
ENDED = ("Succeeded", "Failed")
NONCE = "moorage.dev/create-nonce"
NEVER_READABLE = 403
"""A Namespace that may not be read: the API server's address and authority stand for it."""


@dataclass(frozen=True)
class Asked:
    """One request of the log, in short."""

    verb: str
    plural: str
    name: str
    namespace: str
    code: int
    dry_run: bool
    sent: Any
    said: Any
    uri: str

    @property
    def uid(self) -> str:
        return str(((self.said or {}).get("metadata") or {}).get("uid", ""))

    @property
    def meant(self) -> str:
        """The UID that a delete names."""
        return str(((self.sent or {}).get("preconditions") or {}).get("uid", ""))

    @property
    def version(self) -> str:
        return str(((self.said or {}).get("metadata") or {}).get("resourceVersion", ""))

    def __str__(self) -> str:
        return f"{self.verb} {self.plural}/{self.name} → {self.code}"


def read(events: list[Json]) -> list[Asked]:
    """The log's events of objects, no subresources."""
    found = []
    for event in events:
        about = event.get("objectRef") or {}
        if about.get("subresource"):
            continue
        uri = event["requestURI"]
        sent = event.get("requestObject")
        name = about.get("name", "") or str(((sent or {}).get("metadata") or {}).get("name", ""))
        found.append(
            Asked(
                event["verb"],
                about.get("resource", ""),
                name,
                about.get("namespace", ""),
                event["responseStatus"]["code"],
                "dryRun=All" in uri,
                sent,
                event.get("responseObject"),
                uri,
            )
        )
    return found


def deletes_are_proved(log: list[Asked], *, by_server: bool = False) -> Iterator[str]:
    """Nothing is deleted on Unknown, and each delete names exactly what was seen: UID and version. ``log``:
    of one command. A create's own answer needs no version: nobody has seen that object but us.
    ``by_server``: no Namespace was on record, as it might not be read."""
    seen: dict[tuple[str, str], Asked] = {}
    place: Asked | None = None
    for asked in log:
        at = (asked.plural, asked.name)
        if asked.plural == "namespaces" and asked.verb == "get":
            place = asked
        elif asked.plural in OBJECTS and asked.verb in ("get", "create") and not asked.dry_run:
            seen[at] = asked
        elif asked.verb == "deletecollection":
            yield f"{asked}: a collection was deleted"
        elif asked.plural in OBJECTS and asked.verb == "delete":
            yield from _proved(asked, seen.get(at))
            if not by_server and (place is None or place.code not in (200, NEVER_READABLE)):
                yield f"{asked}: deleted in what may not be the recorded namespace ({place})"
            if asked.plural == OBJECTS[1]:
                yield from _pod_is_gone(asked, [one for (plural, _), one in seen.items() if plural == "pods"])


def _proved(asked: Asked, last: Asked | None) -> Iterator[str]:
    wanted = ((asked.sent or {}).get("preconditions")) or {}
    if not wanted.get("uid"):
        yield f"{asked}: deleted without a UID"
    if last is None or last.code not in (200, 201):
        yield f"{asked}: deleted on Unknown: the last look at it was {last}"
        return
    if wanted.get("uid") != last.uid:
        yield f"{asked}: UID {wanted.get('uid')} is not the one seen last, {last.uid}"
    made_now = (asked.sent or {}).get("gracePeriodSeconds") == 0 and not wanted.get("resourceVersion")
    if not made_now and wanted.get("resourceVersion") != last.version:
        yield f"{asked}: version {wanted.get('resourceVersion')} is not the one seen last, {last.version}"


def _pod_is_gone(asked: Asked, pods: list[Asked]) -> Iterator[str]:
    """A claim goes only after its Pod was proved gone, or proved not to be ours."""
    for last in pods:
        said = last.said or {}
        absent = last.code == 404 and (said.get("details") or {}).get("kind") == "pods"
        stranger = last.code == 200 and NONCE not in ((said.get("metadata") or {}).get("annotations") or {})
        if not (absent or stranger):
            yield f"{asked}: a claim was deleted while the last look at its Pod was {last}"
    if not pods:
        yield f"{asked}: a claim was deleted and nobody had looked at its Pod"


def reads_are_recent(log: list[Asked]) -> Iterator[str]:
    """No read of one object allows an old answer."""
    for asked in log:
        if asked.verb == "get" and "resourceVersion=" in asked.uri:
            yield f"{asked}: a read that allows an old answer: {asked.uri}"


def one_live_pod(pods: dict[str, Json], strangers: set[str]) -> Iterator[str]:
    """At most one Pod of a session that has not ended."""
    live: dict[str, list[str]] = {}
    for name, pod in pods.items():
        session = (pod["metadata"].get("labels") or {}).get("moorage.dev/session-id", "")
        ended = (pod.get("status") or {}).get("phase") in ENDED
        if session and not ended and pod["metadata"]["uid"] not in strangers:
            live.setdefault(session, []).append(name)
    for session, names in live.items():
        if len(names) > 1:
            yield f"session {session} has {len(names)} live Pods: {', '.join(names)}"


def strangers_are_left_alone(
    strangers: list[tuple[str, str, str]], stored: dict[str, dict[str, Json]], log: list[Asked]
) -> Iterator[str]:
    """What is not ours is as it was, and nobody wrote to it."""
    uids = {uid for _, _, uid in strangers}
    for plural, name, uid in strangers:
        found = stored[plural].get(name)
        if found is None or found["metadata"]["uid"] != uid:
            yield f"{plural}/{name} of somebody else is gone"
        elif found["metadata"].get("deletionTimestamp"):
            yield f"{plural}/{name} of somebody else is being deleted"
    for asked in log:
        if asked.verb in WRITES and 200 <= asked.code < 300 and asked.uid in uids:
            yield f"{asked}: changed what is somebody else's"


def claims_are_kept(
    owned: set[str], stored: dict[str, Json], log: list[Asked], *, removal_wished: bool
) -> Iterator[str]:
    """No claim of a session is lost, unless its removal was asked for. ``owned``: UIDs of claims we made."""
    there = {claim["metadata"]["uid"]: claim for claim in stored.values()}
    for uid in owned:
        claim = there.get(uid)
        if not removal_wished and (claim is None or claim["metadata"].get("deletionTimestamp")):
            yield f"claim {uid} is lost, and nobody asked for that"
    for asked in log:
        if asked.plural == OBJECTS[1] and asked.verb == "delete" and not removal_wished:
            yield f"{asked}: a claim was deleted, and nobody asked for that"


def output_is_whole(items: Iterable[Output | Gap]) -> Iterator[str]:
    """The agent of the script numbers its starts, from 1. Each stands once in the transcript, in order, and
    where one is missing a gap is told."""
    parts = [b""]
    for item in items:
        if isinstance(item, Gap):
            parts.append(b"")
        else:
            parts[-1] += item.data
    last, told = 0, False
    for number, part in enumerate(parts):
        told = told or number > 0
        for start in (int(found) for found in re.findall(rb"start (\d+)\n", part)):
            if start <= last:
                yield f"output was told twice or in disorder: start {start} after {last}: {parts}"
            elif start != last + 1 and not told:
                yield f"output is missing in silence between start {last} and {start}: {parts}"
            last, told = start, False


def writes(log: list[Asked]) -> list[str]:
    """What was written, or tried."""
    return [str(asked) for asked in log if asked.verb in WRITES and not asked.dry_run and asked.plural]
