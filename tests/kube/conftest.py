"""A loopback API server whose every answer a test decides, and a cluster that talks to it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from moorage import kube

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Api:
    """Answers each path with the next of its handlers; the last one stays."""

    def __init__(self, folder: Path) -> None:
        self.requests: list[tuple[web.Request, bytes]] = []
        self._handlers: dict[tuple[str, str], list[Handler]] = {}
        self._folder = folder
        self._clusters: list[kube.KubeCluster] = []
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._dispatch)
        self.server = TestServer(app)

    async def _dispatch(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request, await request.read()))
        handlers = self._handlers.get((request.method, request.path))
        if not handlers:
            return web.Response(status=501, text=f"no handler for {request.method} {request.path}")
        handler = handlers.pop(0) if len(handlers) > 1 else handlers[0]
        return await handler(request)

    def on(self, method: str, path: str, *handlers: Handler) -> None:
        self._handlers.setdefault((method, path), []).extend(handlers)

    @property
    def url(self) -> str:
        return str(self.server.make_url("/")).rstrip("/")

    def seen(self, method: str, path: str) -> list[web.Request]:
        return [r for r, _ in self.requests if (r.method, r.path) == (method, path)]

    def bodies(self, method: str, path: str) -> list[Any]:
        return [json.loads(b) for r, b in self.requests if (r.method, r.path) == (method, path)]

    def kubeconfig(self, user: dict[str, Any] | None = None, **cluster: Any) -> Path:
        """Write a kubeconfig for this server; also the way to rotate one."""
        document = {
            "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": self.url, **cluster}}],
            "users": [{"name": "u", "user": user or {}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "ns"}}],
        }
        path = self._folder / "config"
        path.write_text(json.dumps(document))
        return path

    def cluster(
        self, user: dict[str, Any] | None = None, *, timeout: float = 10.0, act_as: str = "", **cluster: Any
    ) -> kube.KubeCluster:
        config = str(self.kubeconfig(user, **cluster))
        made = kube.connect(config, None, None, timeout, act_as=act_as, environ={})
        self._clusters.append(made)
        return made

    async def close(self) -> None:
        for cluster in self._clusters:
            await cluster.close()
        await self.server.close()


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    made = Api(tmp_path)
    await made.server.start_server()
    yield made
    await made.close()


@pytest.fixture
def answer() -> Callable[..., Handler]:
    """A handler that answers JSON: ``answer(obj)``, ``answer(obj, status=404)``."""

    def make(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Handler:
        async def handle(_: web.Request) -> web.StreamResponse:
            return web.json_response(value, status=status, headers=headers)

        return handle

    return make


@pytest.fixture
def refuse(answer: Callable[..., Handler]) -> Callable[..., Handler]:
    """A handler that answers a Status: ``refuse(404, "NotFound", kind="pods", name="p")``."""

    def make(
        code: int, reason: str, message: str = "", headers: dict[str, str] | None = None, **details: Any
    ) -> Handler:
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}
        return answer(
            {**status, "reason": reason, "message": message or reason, "details": details}, code, headers
        )

    return make
