"""Fake nodes beside the embedded one, as KWOK keeps them in the test cluster: Ready, their Pods Running, and
nothing behind them. A node is one of them by its label ``type=kwok``. Started by ``running.as_real``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from datetime import UTC, datetime

from testcluster.kwok import ARM_NODE, ROOM

from moorage.core.errors import ApiError
from moorage.core.kinds import NODES, PODS, Json, Resource
from moorage.embedded.seam import Objects

POD_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")


class FakeNodes:
    """Looks after them until ``stop``; one for arm64 is there from the start."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        labels = {"type": "kwok", "kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64"}
        taint = {"key": "kwok", "value": "fake", "effect": "NoSchedule"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": ARM_NODE, "labels": labels}}
        room = {"allocatable": ROOM, "capacity": ROOM}
        self._objects.create(NODES, {**node, "spec": {"taints": [taint]}, "status": room})
        for resource, told in ((NODES, self._node), (PODS, self._pod)):
            self._tasks.append(asyncio.create_task(self._watch(resource, told)))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _watch(self, resource: Resource, told: Callable[[Json], None]) -> None:
        async with self._objects.watch(resource) as changes:
            async for kind, obj in changes:
                if kind != "DELETED":
                    with contextlib.suppress(ApiError):  # changed meanwhile: that is told too
                        told(obj)

    def _node(self, node: Json) -> None:
        status = node.get("status") or {}
        if not fake(node) or status.get("nodeInfo", {}).get("architecture"):
            return
        info = dict.fromkeys(("bootID", "machineID", "systemUUID", "kubeProxyVersion"), "") | dict.fromkeys(
            ("kernelVersion", "osImage", "kubeletVersion", "containerRuntimeVersion"), "kwok"
        )
        arch = node["metadata"]["labels"]["kubernetes.io/arch"]
        info |= {"architecture": arch, "operatingSystem": "linux"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": now()}
        node["status"] = {**status, "nodeInfo": info, "conditions": [ready]}
        self._objects.update_status(NODES, node)

    def _pod(self, pod: Json) -> None:
        metadata = pod["metadata"]
        node = self._objects.get(NODES, "", pod["spec"].get("nodeName") or "")
        if node is None or not fake(node):
            return
        if metadata.get("deletionTimestamp"):
            self._objects.remove(PODS, metadata["namespace"], metadata["name"], metadata["uid"])
        elif pod["status"]["phase"] == "Pending":
            self._objects.update_status(PODS, {**pod, "status": running(pod)})


def fake(node: Json) -> bool:
    return bool((node["metadata"].get("labels") or {}).get("type") == "kwok")


def running(pod: Json) -> Json:
    """The status of a Pod whose containers all run, and whose init containers are through."""
    at = now()
    runs = {"running": {"startedAt": at}}
    conditions = [{"type": name, "status": "True", "lastTransitionTime": at} for name in POD_CONDITIONS]
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at}
    through = {"terminated": ended}
    init = pod["spec"].get("initContainers") or []

    def container(spec: Json, state: Json) -> Json:
        started = "running" in state
        return {
            **{key: spec[key] for key in ("name", "image")},
            "imageID": "",
            "containerID": f"kwok://{spec['name']}",
            "restartCount": 0,
            "ready": True,
            "started": started,
            "state": state,
        }

    return {
        "phase": "Running",
        "startTime": at,
        "conditions": [*pod["status"].get("conditions", []), *conditions],
        "containerStatuses": [container(each, runs) for each in pod["spec"]["containers"]],
        "initContainerStatuses": [
            container(each, runs if each.get("restartPolicy") == "Always" else through) for each in init
        ],
        "podIP": "127.0.0.1",
        "podIPs": [{"ip": "127.0.0.1"}],
    }


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
