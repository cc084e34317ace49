"""What Moorage asks of a Kubernetes API. Implemented by ``kube`` (and by ``embedded`` behind it).

Every call raises ``ApiError`` with an ``ApiProblem`` when it does not succeed. Nothing here retries a
write; reads and 429 answers are retried inside the caller's time limit. No call ever sends
``resourceVersion=0``: reads are most-recent.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from moorage.core.kinds import Json, Resource
from moorage.core.observed import Observed
from moorage.ports.streams import ByteStream, ExecStream


@dataclass(frozen=True)
class ServerIdentity:
    """Who the API server is, without secrets: address, SHA-256 of the CA bundle, and its version."""

    address: str
    ca_sha256: str
    version: str


class ObjectCache(Protocol):
    """A watched set of objects, kept current by a reflector."""

    def get(self, name: str) -> Observed[Json]:
        """Present or Absent while synced; Unknown before the first sync and while the watch is stale."""

    def items(self) -> Mapping[str, Json]:
        """All objects by name."""

    async def changed(self, timeout: float | None = None) -> bool:
        """Wait for the next change (or the first sync); False when ``timeout`` seconds passed without one."""


class Cluster(Protocol):
    """One API server under one identity."""

    namespace: str
    """The namespace this executor works in."""

    async def identity(self) -> ServerIdentity: ...

    async def openapi(self) -> Json:
        """The server's OpenAPI v3 document of ``core/v1``: what this very server knows."""

    async def served(self, resource: Resource) -> frozenset[str]:
        """What discovery lists in the group and version of ``resource``: ``pods``, ``pods/exec`` …"""

    async def try_websocket(self, namespace: str | None = None) -> None:
        """Open a WebSocket and close it again, by a watch of no Pod: does one get through to the server?"""

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Json:
        """A most-recent read of one object."""

    def list_all(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        page: int = 500,
    ) -> AsyncIterator[Json]:
        """All objects, in pages; an expired continue token restarts nothing silently: ApiError 410."""

    async def create(
        self,
        resource: Resource,
        obj: Json,
        namespace: str | None = None,
        *,
        dry_run: bool = False,
        not_after: float | None = None,
    ) -> Json:
        """POST with ``fieldValidation=Strict``. Returns the admitted object. ``not_after``, seconds since the
        epoch: no attempt begins after it; then ApiError, sent ``no``, reason ``TooLate``."""

    async def replace(self, resource: Resource, obj: Json, namespace: str | None = None) -> Json: ...

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Json | list[Json],
        namespace: str | None = None,
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Json:
        """Merge patch (a dict) or JSON patch (a list)."""

    async def apply(
        self, resource: Resource, obj: Json, *, field_manager: str, force: bool = False, dry_run: bool = False
    ) -> Json:
        """Server-side apply."""

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str,
        resource_version: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        """Delete exactly the object with ``uid``: the precondition is not optional."""

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AbstractAsyncContextManager[ObjectCache]:
        """Run a reflector for as long as the context is open."""

    async def exec(
        self,
        pod: str,
        container: str,
        command: Sequence[str],
        *,
        namespace: str | None = None,
        tty: bool = False,
        stdin: bool = True,
    ) -> ExecStream: ...

    async def port_forward(self, pod: str, port: int, *, namespace: str | None = None) -> ByteStream:
        """One TCP connection to ``port`` on the Pod's loopback."""

    def logs(
        self,
        pod: str,
        container: str,
        *,
        namespace: str | None = None,
        previous: bool = False,
        follow: bool = False,
        tail_lines: int | None = None,
        limit_bytes: int | None = None,
        timestamps: bool = False,
        since_seconds: int | None = None,
    ) -> AsyncIterator[bytes]: ...

    async def close(self) -> None: ...
