"""An embedded cluster in the test's own event loop, without a node; asked over real HTTPS."""

from __future__ import annotations

import io
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from moorage import kube
from moorage.embedded import EmbeddedCluster

Asked = Callable[..., Awaitable["Said"]]


class Said(NamedTuple):
    """An answer: its status and its decoded body (or text)."""

    code: int
    body: Any

    @property
    def version(self) -> str:
        return str(self.body["metadata"]["resourceVersion"])

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])

    @property
    def reason(self) -> str:
        return str(self.body.get("reason", ""))


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[EmbeddedCluster]:
    """A running cluster."""
    cluster = EmbeddedCluster(tmp_path / "cluster")
    await cluster.start()
    yield cluster
    await cluster.stop()


@pytest.fixture
async def http(here: EmbeddedCluster) -> AsyncIterator[aiohttp.ClientSession]:
    """A session that trusts the cluster; it sends no token of its own."""
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=here.identity.authority))
    async with aiohttp.ClientSession(here.address, connector=connector) as session:
        yield session


@pytest.fixture
def ask(here: EmbeddedCluster, http: aiohttp.ClientSession) -> Asked:
    """``await ask("GET", path, body, content_type=…, token=…)``; a path without ``/`` is in default."""

    async def send(
        method: str, path: str, body: Any = None, content_type: str = "application/json", token: str = ""
    ) -> Said:
        url = path if path.startswith("/") else f"/api/v1/namespaces/default/{path}"
        headers = {"Authorization": f"Bearer {token or here.identity.token}"}
        if body is not None:
            headers["Content-Type"] = content_type
        data = io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
        async with http.request(
            method, url, data=data if body is not None else None, headers=headers
        ) as answer:
            text = await answer.text()
        return Said(answer.status, json.loads(text) if text.startswith("{") else text)

    return send


@pytest.fixture
async def client(here: EmbeddedCluster) -> AsyncIterator[kube.KubeCluster]:
    """The product's own adapter, connected by the cluster's kubeconfig."""
    connected = kube.connect(str(here.kubeconfig), None, "default")
    yield connected
    await connected.close()


MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


def pod(name: str, container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    main = {"name": "main", "image": "localhost/none:1", **(container or {})}
    return {"metadata": {"name": name}, "spec": {"containers": [main], **spec}}
