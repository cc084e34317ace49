"""``KubeCluster``: ``ports.cluster.Cluster`` over one API server.

Built by ``kube.connect``. Turns calls into requests; keeps no state but the connections. Which requests
are tried again is ``kube.transport``'s decision.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp

from moorage.core.errors import UsageError
from moorage.core.kinds import PODS, Json, Resource
from moorage.kube import exec as pod_exec
from moorage.kube import portforward
from moorage.kube.answers import no_answer
from moorage.kube.bodies import applied, delete_options
from moorage.kube.reflector import Reflector, WatchListSupport
from moorage.kube.shapes import checked, items_of, names_served
from moorage.kube.transport import Transport
from moorage.kube.websocket import CLOSE_GRACE
from moorage.ports.cluster import ObjectCache, ServerIdentity
from moorage.ports.streams import ByteStream, ExecStream

_MERGE_PATCH = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"
_STRICT = ("fieldValidation", "Strict")
_DRY_RUN = ("dryRun", "All")


class KubeCluster:
    """One API server under one identity. ``namespace`` is the default of every namespaced call."""

    def __init__(self, transport: Transport, namespace: str, context: str = "") -> None:
        self.namespace = namespace
        self.context = context
        self._transport = transport
        self._watch_list = WatchListSupport()

    async def identity(self) -> ServerIdentity:
        version = await self._transport.call("GET", "/version")
        endpoint = await self._transport.access.current()
        return ServerIdentity(endpoint.server, endpoint.ca_sha256, str(version.get("gitVersion", "")))

    async def openapi(self) -> Json:
        return await self._transport.call("GET", "/openapi/v3/api/v1")

    async def served(self, resource: Resource) -> frozenset[str]:
        path = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
        return names_served(await self._transport.call("GET", path))

    async def try_websocket(self, namespace: str | None = None) -> None:
        params = [("watch", "true"), ("timeoutSeconds", "5"), ("fieldSelector", "metadata.name=.")]
        path = self._path(PODS, namespace)
        socket = await self._transport.websocket(path, params=params, protocols=(), origin=True)
        with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with asyncio.timeout(CLOSE_GRACE):
                await socket.close()

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Json:
        found = await self._transport.call("GET", self._path(resource, namespace, name))
        return checked(found, resource, name=name)

    async def list_all(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        page: int = 500,
    ) -> AsyncIterator[Json]:
        selectors = _selectors(label_selector, field_selector)
        token = ""
        while True:
            params = [*selectors, ("limit", str(page)), *([("continue", token)] if token else [])]
            answer = await self._transport.call("GET", self._path(resource, namespace), params=params)
            for item in items_of(answer, resource):
                # Items of a list carry no type of their own.
                yield {"apiVersion": resource.api_version, "kind": resource.kind, **item}
            token = (answer.get("metadata") or {}).get("continue") or ""
            if not token:
                return

    async def create(
        self,
        resource: Resource,
        obj: Json,
        namespace: str | None = None,
        *,
        dry_run: bool = False,
        not_after: float | None = None,
    ) -> Json:
        path = self._path(resource, namespace or _namespace_of(obj))
        made = await self._transport.call("POST", path, params=_write(dry_run), body=obj, not_after=not_after)
        return checked(made, resource, name=_name_of(obj), uid=not dry_run)

    async def replace(self, resource: Resource, obj: Json, namespace: str | None = None) -> Json:
        path = self._path(resource, namespace or _namespace_of(obj), _name_of(obj))
        stored = await self._transport.call("PUT", path, params=_write(False), body=obj)
        return checked(stored, resource, name=_name_of(obj))

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
        patched = await self._transport.call(
            "PATCH",
            self._path(resource, namespace, name, subresource),
            params=_write(dry_run),
            body=patch,
            content_type=_JSON_PATCH if isinstance(patch, list) else _MERGE_PATCH,
        )
        return checked(patched, _answered(resource, subresource), name=name)

    async def apply(
        self, resource: Resource, obj: Json, *, field_manager: str, force: bool = False, dry_run: bool = False
    ) -> Json:
        params = [*_write(dry_run), ("fieldManager", field_manager), ("force", str(force).lower())]
        stored = await self._transport.call(
            "PATCH",
            self._path(resource, _namespace_of(obj), _name_of(obj)),
            params=params,
            body=applied(resource, obj),
            content_type=_APPLY_PATCH,
        )
        return checked(stored, resource, name=_name_of(obj), uid=not dry_run)

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
        body = delete_options(uid, resource_version, grace_seconds)
        await self._transport.call_raw("DELETE", self._path(resource, namespace, name), body=body)

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AbstractAsyncContextManager[ObjectCache]:
        path = self._path(resource, namespace)
        selectors = _selectors(label_selector, field_selector)
        return Reflector(self._transport, resource, path, selectors, self._watch_list)

    async def exec(
        self,
        pod: str,
        container: str,
        command: Sequence[str],
        *,
        namespace: str | None = None,
        tty: bool = False,
        stdin: bool = True,
    ) -> ExecStream:
        _segment(pod)
        return await pod_exec.open_exec(
            self._transport, namespace or self.namespace, pod, container, command, tty=tty, stdin=stdin
        )

    async def port_forward(self, pod: str, port: int, *, namespace: str | None = None) -> ByteStream:
        _segment(pod)
        return await portforward.open_forward(self._transport, namespace or self.namespace, pod, port)

    async def logs(
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
    ) -> AsyncIterator[bytes]:
        flags = (("previous", previous), ("follow", follow), ("timestamps", timestamps))
        numbers = (("tailLines", tail_lines), ("limitBytes", limit_bytes), ("sinceSeconds", since_seconds))
        params = [("container", container)]
        params += [(name, "true") for name, wanted in flags if wanted]
        params += [(name, str(value)) for name, value in numbers if value is not None]
        path = self._path(PODS, namespace, pod, "log")
        # A followed container may say nothing for hours; TCP keepalive finds a dead connection.
        idle = None if follow else self._transport.request_timeout
        async with self._transport.stream(path, params=params, idle=idle) as response:
            try:
                async for chunk in response.content.iter_any():
                    yield chunk
            except (aiohttp.ClientError, OSError) as error:
                raise no_answer(error, self._transport.access.server) from None

    async def close(self) -> None:
        await self._transport.close()

    def _path(
        self, resource: Resource, namespace: str | None, name: str | None = None, subresource: str = ""
    ) -> str:
        if name is not None:
            _segment(name)
        return resource.path(_segment(namespace or self.namespace), name, subresource)


def _segment(name: str) -> str:
    """A name that is one path segment: anything else would ask for another object."""
    if not name or name in (".", "..") or any(character in name for character in "/%?#\\"):
        raise UsageError(f"{name!r} cannot be the name of a Kubernetes object", field="name")
    return name


def _answered(resource: Resource, subresource: str) -> Resource:
    """What kind a subresource answers with: ``scale`` has one of its own, the others the object itself."""
    return resource._replace(kind="Scale") if subresource == "scale" else resource


def _write(dry_run: bool) -> list[tuple[str, str]]:
    return [_STRICT, _DRY_RUN] if dry_run else [_STRICT]


def _selectors(label_selector: str, field_selector: str) -> list[tuple[str, str]]:
    pairs = (("labelSelector", label_selector), ("fieldSelector", field_selector))
    return [(name, value) for name, value in pairs if value]


def _metadata(obj: Json) -> dict[str, Any]:
    found = obj.get("metadata")
    return found if isinstance(found, dict) else {}


def _namespace_of(obj: Json) -> str | None:
    return _metadata(obj).get("namespace") or None


def _name_of(obj: Json) -> str:
    return str(_metadata(obj).get("name") or "")
