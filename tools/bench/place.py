"""What every measurement of sessions stands on: a client of our own, a template, a claim, a helper image.

Used by the session benchmarks. Objects lie in the benchmark's namespace and go with it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import yaml

from moorage.core.errors import ApiError
from moorage.core.kinds import CLAIMS, PODS, Json
from moorage.core.session import HelperSpec, WorkspaceMode, WorkspaceSpec
from moorage.engine.sources import Sources
from moorage.kube import kubeconfig
from moorage.kube.access import Access
from moorage.kube.client import KubeCluster
from moorage.kube.target import Target
from moorage.kube.transport import Transport
from moorage.ports.cluster import Cluster
from moorage.ports.sessions import LaunchRequest
from moorage.sessions.executors import ExecutorConfig, Executors
from moorage.sessions.parts import Parts
from moorage.sessions.verbs import Verbs
from moorage.store import current_owner, open_store
from moorage.system import SystemClock, SystemIds
from tools.live_cluster import LiveCluster

AGENT = ("sh", "-c", "echo ready; exec sleep 3600")
BARE = ("sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait")
CLAIM = "bench"
HELPER = "localhost/moorage-helper:bench"
TIMEOUT = 30.0


class Place:
    """One namespace of a live cluster. ``agent_name``: what the audit log calls our client."""

    def __init__(self, live: LiveCluster, root: Path, image: str, helper_image: str) -> None:
        self.live, self._root, self._image = live, root, image
        self.namespace = live.namespace
        self.agent_name = f"moorage-bench/{live.namespace}"
        self.helper_image = helper_image or self._import_helper()
        self.cluster = self._connect()

    def _connect(self) -> KubeCluster:
        def target() -> Target:
            return kubeconfig.load(self.live.kubeconfig, None, self.namespace, os.environ)

        access = Access(target(), target, os.environ, self.agent_name)
        return KubeCluster(Transport(access, TIMEOUT), self.namespace)

    def _import_helper(self) -> str:
        """The helper of this checkout as an image on the node; "" where the node is not ours."""
        if self.live.folder is None:
            return ""
        binary = self._root / "src/moorage/_helper/amd64/agentctl"
        with tempfile.TemporaryDirectory() as folder:
            image = [*self.live.launcher, "image"]
            place = ["--dir", str(self.live.folder)]
            file = ["--file", f"agentctl={binary}"]
            archive = f"{folder}/helper.tar"
            build, bring = ["build", *place, archive, "--ref", HELPER, *file], ["import", *place, archive]
            subprocess.run([*image, *build], check=True, stdout=subprocess.DEVNULL)
            pinned = subprocess.run(
                [*image, *bring, "--pin", HELPER], check=True, stdout=subprocess.PIPE, text=True
            )
        return pinned.stdout.strip()

    def _spec(self) -> Json:
        container = {"name": "agent", "image": self._image, "imagePullPolicy": "IfNotPresent"}
        return {"terminationGracePeriodSeconds": 1, "containers": [container]}

    @property
    def template(self) -> bytes:
        """The reviewed template of all sessions here."""
        document = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "bench"}}
        return yaml.safe_dump({**document, "template": {"spec": self._spec()}}).encode()

    def bare_pod(
        self, name: str, command: tuple[str, ...] = BARE, claim: str = CLAIM, init: bool = False
    ) -> Json:
        """The template's Pod with nothing of ours but the claim, mounted where sessions mount it. ``init``:
        and an init container of the same image that ends at once."""
        spec = {**self._spec(), "automountServiceAccountToken": False, "enableServiceLinks": False}
        container = {**spec["containers"][0], "command": list(command)}
        if claim:
            container["volumeMounts"] = [{"name": "work", "mountPath": "/workspace"}]
            spec["volumes"] = [{"name": "work", "persistentVolumeClaim": {"claimName": claim}}]
        if init:
            spec["initContainers"] = [{**spec["containers"][0], "name": "init", "command": ["true"]}]
        return {"metadata": {"name": name}, "spec": {**spec, "containers": [container]}}

    def manifest(self, name: str) -> bytes:
        """That Pod as kubectl takes it."""
        return yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", **self.bare_pod(name)}).encode()

    def request(self, source: str) -> LaunchRequest:
        """A session on the same claim; ``source`` is exec or image."""
        return LaunchRequest(
            template_text=self.template,
            argv=AGENT,
            workspace=WorkspaceSpec(mode=WorkspaceMode.EXISTING_CLAIM, claim_name=CLAIM),
            helper=HelperSpec(source=source, image=self.helper_image if source == "image" else ""),
        )

    async def make_claim(self) -> None:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}}
        await self.cluster.create(CLAIMS, {"metadata": {"name": CLAIM}, "spec": spec}, self.namespace)

    @contextlib.asynccontextmanager
    async def verbs(self, cluster: Cluster) -> AsyncIterator[Verbs]:
        """The engine as ``moorage`` composes it, on ``cluster``, with a data folder of its own."""

        async def connect(config: ExecutorConfig) -> Cluster:
            return cluster

        given = ExecutorConfig(self.live.kubeconfig, "", self.namespace)
        with tempfile.TemporaryDirectory() as folder:
            store = await open_store(Path(folder))
            executors = Executors(store, connect, given)
            sources = Sources(Path(folder) / "sources")
            yield Verbs(Parts(store, executors, sources, SystemClock(), SystemIds(), current_owner()))
            await store.close()

    async def delete_pod(self, name: str) -> None:
        """Delete it without grace and wait until it is gone."""
        async with self.cluster.watch(PODS, self.namespace, field_selector=f"metadata.name={name}") as pods:
            pod = await self.cluster.get(PODS, name, self.namespace)
            await self.cluster.delete(PODS, name, self.namespace, uid=pod["metadata"]["uid"], grace_seconds=0)
            while True:
                try:
                    await self.cluster.get(PODS, name, self.namespace)
                except ApiError:
                    return
                await pods.changed(1.0)
