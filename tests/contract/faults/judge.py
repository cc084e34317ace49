"""What the API servers' own log and the cluster say of a schedule. Asks the real servers, past the proxy."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import aiohttp
from testcluster.audit import Event

PODS, CLAIMS = OBJECTS = ("pods", "persistentvolumeclaims")
SESSION_LABEL = "moorage.dev/session-id"
AGENT = "moorage/"
"""How our requests are told from all others in the log, beside the namespace."""


def faults_of(events: Iterable[Event], foreign: set[str], *, claim_stays_until: datetime | None) -> list[str]:
    """Broken promises in the requests of one session. ``foreign``: UIDs of what is not ours.
    ``claim_stays_until``: when its removal was asked for; None where that was the disturbed verb."""
    found, pods = [], set()
    for event in events:
        if event.resource not in OBJECTS or event.subresource or not event.is_write:
            continue
        early = claim_stays_until is not None and event.received < claim_stays_until
        if event.verb in ("delete", "deletecollection") and not event.preconditions.get("uid"):
            found.append(f"deleted without UID: {event}")
        if event.succeeded and event.uid in foreign:
            found.append(f"changed what is not ours: {event}")
        if event.verb == "delete" and event.resource == CLAIMS and event.succeeded and early:
            found.append(f"a claim that was to stay was deleted: {event}")
        if event.verb == "create" and event.resource == PODS and event.succeeded:
            pods.add(event.name)
    if len(pods) > 1:
        found.append(f"Pods of several names for one session: {sorted(pods)}")
    return found


class Ground:
    """One namespace of the real cluster, as its API server has it."""

    def __init__(self, http: aiohttp.ClientSession, server: str, token: str, namespace: str) -> None:
        self._http, self._token, self.namespace = http, token, namespace
        self._path = f"{server}/api/v1/namespaces/{namespace}"

    async def _objects(self) -> list[tuple[str, dict[str, Any]]]:
        """(plural, metadata) of all Pods and claims there now."""
        found: list[tuple[str, dict[str, Any]]] = []
        headers = {"Authorization": f"Bearer {self._token}", "User-Agent": "judge"}
        for plural in OBJECTS:
            async with self._http.get(f"{self._path}/{plural}", headers=headers) as answer:
                assert answer.status == 200, await answer.text()
                found += [(plural, item["metadata"]) for item in (await answer.json())["items"]]
        return found

    async def versions(self) -> dict[str, str]:
        """plural/name → UID:resourceVersion of what is not ours."""
        return {
            f"{plural}/{meta['name']}": f"{meta['uid']}:{meta['resourceVersion']}"
            for plural, meta in await self._objects()
            if SESSION_LABEL not in meta.get("labels", {})
        }

    async def of(self, session_id: str) -> dict[str, list[str]]:
        """plural → UIDs of a session's objects."""
        found: dict[str, list[str]] = {plural: [] for plural in OBJECTS}
        for plural, meta in await self._objects():
            if meta.get("labels", {}).get(SESSION_LABEL) == session_id:
                found[plural].append(meta["uid"])
        return found
