"""The embedded cluster for tests written for a real one: in a thread of its own, seen through kubectl.

Used by tests/conftest.py where a run asks for it (``--embedded``). Such tests block while they wait for
kubectl, so the cluster cannot share their event loop.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import threading
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest
from testcluster.audit import Event, Mark, chosen, parse
from testcluster.build import bin_dir
from testcluster.testrun import RealCluster

from moorage.embedded import EmbeddedCluster
from moorage.embedded.controllers.claims import PROVISIONER
from moorage.embedded.identity import write_private
from moorage.embedded.node import LocalNode
from tests.embedded.fake_nodes import FakeNodes
from tests.embedded.local import EmbeddedLocal
from tests.embedded.rootfs import images

T = TypeVar("T")
MODE = "MOORAGE_TEST_NODE_MODE"


class Threaded:
    """An embedded cluster that runs until ``stop``."""

    def __init__(self, cluster: EmbeddedCluster, node: LocalNode) -> None:
        self.cluster, self.node = cluster, node
        self._fakes: FakeNodes | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="embedded cluster", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self.run(self.cluster.start())

    def start_fakes(self) -> None:
        """Fake nodes beside the one that runs."""
        self._fakes = FakeNodes(self.cluster.objects("kwok"))
        self.run(self._fakes.start())

    def stop(self) -> None:
        if self._fakes is not None:
            self.run(self._fakes.stop())
        self.run(self.cluster.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def end(self) -> None:
        """Stop for good: no process of a Pod is left."""
        self.run(self.node.destroy())
        self.stop()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the cluster's loop, e.g. a change of its faults, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)


def on_this_machine(folder: Path) -> Threaded:
    """A cluster with one node, not started. ``MOORAGE_TEST_NODE_MODE`` chooses namespaces or plain."""
    mode = os.environ.get(MODE, "auto")
    data = folder / "cluster"
    node = LocalNode(
        "node1",
        data / "node",
        images=images(folder / "images"),
        default_image=None,
        mode=mode,
        claims=data / "volumes",
        hidden=[data],
    )
    return Threaded(EmbeddedCluster(data, [node]), node)


class EmbeddedAudit:
    """In place of ``testcluster.audit.AuditLog``: what the embedded API was asked."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._raw: list[dict[str, Any]] = []
        cluster.set_audit(self._heard)

    def _heard(self, raw: dict[str, Any]) -> None:
        """As the policy of the test cluster has it: no discovery and health, no reviews."""
        about = raw.get("objectRef") or {}
        if about and about.get("apiGroup", "") not in ("authentication.k8s.io", "authorization.k8s.io"):
            self._raw.append(raw)

    def mark(self) -> Mark:
        return Mark(datetime.now(UTC), {0: len(self._raw)})

    def settle(self) -> None:
        """Everything answered is told before its answer is sent."""

    def events(
        self,
        since: Mark | None = None,
        *,
        agent: str = "",
        user: str = "",
        namespace: str = "",
        resource: str = "",
        name: str = "",
        writes: bool = False,
    ) -> list[Event]:
        """As ``AuditLog.events``."""
        exact = {"user": user, "namespace": namespace, "resource": resource, "name": name}
        found = [parse(raw) for raw in self._raw[since.sizes[0] if since else 0 :]]
        wanted = [event for event in found if chosen(event, exact, agent=agent, writes=writes)]
        return sorted(wanted, key=lambda event: event.received)


def find_kubectl() -> Path:
    """The cluster's own kubectl, else one on PATH. Skips where there is none."""
    built = bin_dir() / "kubectl"
    found = built if built.exists() else shutil.which("kubectl")
    if found is None:
        pytest.skip("needs kubectl: put one on PATH, or build it with ./dev cluster up")
    return Path(found)


def as_real(threaded: Threaded, folder: Path, short: Path) -> RealCluster:
    """The cluster as tests know a real one, with the storage classes of the test cluster. Both folders are
    its own; the second one has a short path."""
    kubeconfig = _kubeconfig_of_files(threaded.cluster, folder)
    threaded.start_fakes()
    program = find_kubectl()
    local = EmbeddedLocal(short, threaded.node, program.parent)
    real = RealCluster(kubeconfig, local, program)
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "volumeBindingMode": "Immediate"}
    provisioners = {"immediate": PROVISIONER, "clone": PROVISIONER, "static": "kubernetes.io/no-provisioner"}
    runc = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "runc"}
    real.apply(
        {**runc, "metadata": {"name": "runc"}},
        *({**kind, "metadata": {"name": name}, "provisioner": by} for name, by in provisioners.items()),
    )
    return real


def _kubeconfig_of_files(cluster: EmbeddedCluster, folder: Path) -> Path:
    """The administrator's kubeconfig with files instead of data, as tests of rotation expect it."""
    document = json.loads(cluster.kubeconfig.read_text())
    write_private(folder / "token", cluster.identity.token.encode())
    (folder / "ca.crt").write_text(cluster.identity.authority)
    document["clusters"][0]["cluster"] = {
        "server": cluster.address,
        "certificate-authority": str(folder / "ca.crt"),
    }
    document["users"][0]["user"] = {"tokenFile": str(folder / "token")}
    path = folder / "kubeconfig"
    write_private(path, json.dumps(document).encode())
    return path
