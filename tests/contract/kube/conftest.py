"""The Kubernetes adapter on a real cluster, in a namespace of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from moorage import kube
from moorage.core.errors import ApiError, ApiProblem
from moorage.core.kinds import PODS
from moorage.core.observed import Present

Connect = Callable[..., kube.KubeCluster]


@pytest.fixture
async def connect(kubeconfig: Path, namespace: str) -> AsyncIterator[Connect]:
    """``connect()`` as the administrator, ``connect(path)`` as someone else; closed at the end."""
    made: list[kube.KubeCluster] = []

    def make(path: Path | None = None) -> kube.KubeCluster:
        made.append(kube.connect(str(path or kubeconfig), None, namespace))
        return made[-1]

    yield make
    for cluster in made:
        await cluster.close()


@pytest.fixture
def api(connect: Connect) -> kube.KubeCluster:
    return connect()


@pytest.fixture
def problem_of() -> Callable[[Awaitable[Any]], Awaitable[ApiProblem]]:
    """The problem that a call ends with."""

    async def catch(call: Awaitable[Any]) -> ApiProblem:
        with pytest.raises(ApiError) as caught:
            await call
        return caught.value.problem

    return catch


def pod(name: str, command: str) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "localhost/busybox:test",
        "imagePullPolicy": "Never",
        "command": ["sh", "-c", command],
    }
    spec = {
        "containers": [container],
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
    }
    return {"metadata": {"name": name}, "spec": spec}


@pytest.fixture
def running(api: kube.KubeCluster) -> Callable[..., Awaitable[str]]:
    """``await running("sleep 1000000")`` → the name of a Pod whose container runs."""

    async def make(command: str = "sleep 1000000", name: str = "p") -> str:
        await api.create(PODS, pod(name, command))
        async with asyncio.timeout(120), api.watch(PODS) as pods:
            while True:
                seen = pods.get(name)
                if isinstance(seen, Present) and seen.value.get("status", {}).get("phase") == "Running":
                    return name
                await pods.changed()

    return make
