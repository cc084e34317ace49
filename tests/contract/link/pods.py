"""Pods with a waiting main container, as the node tests beside this file need them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moorage.core import owned
from moorage.core.bootstrap import entrypoint
from moorage.core.errors import LinkError
from moorage.engine.bootstrap import connect, deliver, install_helper
from moorage.engine.link import AgentLink, open_link
from moorage.kube import KubeCluster
from moorage.ports.streams import ByteStream

Kubectl = Callable[..., str]
NONCE = bytes(range(100, 132))


def waiting_pod(name: str, *, main: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A Pod whose main container waits for agentctl."""
    container = {
        "name": "agent",
        "image": "localhost/busybox:test",
        "imagePullPolicy": "Never",
        "command": entrypoint(),
        "env": [
            {"name": owned.POD_UID_ENV, "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
        ],
        "volumeMounts": [
            {"name": owned.OPT_VOLUME, "mountPath": owned.OPT_PATH},
            {"name": owned.RUN_VOLUME, "mountPath": owned.RUN_PATH},
            {"name": owned.WORKSPACE_VOLUME, "mountPath": owned.WORKSPACE_PATH},
        ],
        **(main or {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "terminationGracePeriodSeconds": 2,
            "automountServiceAccountToken": False,
            "nodeSelector": {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
            "volumes": [
                {"name": owned.OPT_VOLUME, "emptyDir": {}},
                {"name": owned.RUN_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": owned.RUN_SIZE}},
                {"name": owned.WORKSPACE_VOLUME, "emptyDir": {}},
            ],
            "containers": [container],
            **spec,
        },
    }


@dataclass
class WaitingPod:
    """One such Pod in the cluster; the calls are the engine's own."""

    cluster: KubeCluster
    kubectl: Kubectl
    name: str
    uid: str
    binary: bytes

    async def install(self) -> None:
        await install_helper(self.cluster, self.name, "agent", self.binary, "linux/amd64")

    async def deliver(self, uid: str = "") -> None:
        await deliver(self.cluster, self.name, "agent", {}, NONCE, uid or self.uid)

    async def open(self, stream: ByteStream) -> AgentLink:
        return await open_link(stream, NONCE, fence=1, expect_pod_uid=self.uid)

    async def link(
        self, transport: str = "auto", cluster: KubeCluster | None = None
    ) -> tuple[AgentLink, str]:
        """Open a link once agentctl listens; each attempt is a real connection."""
        last: Exception | None = None
        for _ in range(200):
            try:
                found = await connect(cluster or self.cluster, self.name, "agent", self.open, transport)
                return found.opened, found.transport
            except LinkError as error:
                last = error
                await asyncio.sleep(0.05)  # sleep: no event tells from outside that a port is open
        raise AssertionError(f"no link: {last}")

    async def end(self, before: str = "true") -> None:
        """Run a script and TERM the main process, which takes the exec along as often as not."""
        words = ("exec", self.name, "-c", "agent", "--", "sh", "-c", f"{before}; kill -TERM 1")
        await asyncio.to_thread(self.kubectl, *words, check=False)

    async def sh(self, script: str) -> str:
        """Run a script in the container by kubectl."""
        return await asyncio.to_thread(
            self.kubectl, "exec", self.name, "-c", "agent", "--", "sh", "-c", script
        )


async def start_pod(
    kubectl: Kubectl, cluster: KubeCluster, namespace: str, pod: dict[str, Any], helper: Path
) -> WaitingPod:
    """Create the Pod and wait until it runs."""
    name = pod["metadata"]["name"]

    def there(*args: str, **options: Any) -> str:
        return kubectl("-n", namespace, *args, **options)

    await asyncio.to_thread(there, "apply", "-f", "-", stdin=json.dumps(pod))
    await asyncio.to_thread(there, "wait", "--for=condition=Ready", f"pod/{name}", "--timeout=60s")
    uid = (await asyncio.to_thread(there, "get", "pod", name, "-o", "jsonpath={.metadata.uid}")).strip()
    return WaitingPod(cluster, there, name, uid, helper.read_bytes())
