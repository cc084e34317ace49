"""A bundle restored by an init container: a Pod on the real node."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from testcluster.cluster import Cluster
from testcluster.images import Image, write_image
from testcluster.node import import_image
from testcluster.shell import wait_for
from testcluster.testrun import RealCluster

from hatch_build import build_restorers

pytestmark = pytest.mark.node
IMAGE = "localhost/moorage-restore:test"
BOX = {"image": "localhost/busybox:test", "imagePullPolicy": "Never"}
SIGNATURE = "X-Signature=s3cr3t"


@pytest.fixture(scope="module")
def restorer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    [program] = build_restorers(tmp_path_factory.mktemp("restore"), ["amd64"])
    return program


@pytest.fixture
def image(local_cluster: Cluster, helpers: dict[str, Path], restorer: Path, tmp_path: Path) -> str:
    """A helper image as one that restores must be: both programs beside each other, nothing else."""
    archive = tmp_path / "image.tar"
    write_image(archive, Image(IMAGE, {"agentctl": helpers["amd64"], "agentctl-restore": restorer}))
    import_image(local_cluster, archive)
    return IMAGE


def bundle() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("agent/settings"), b"restored\n")
    return packed.getvalue()


def pod(name: str, image: str, data: bytes, digest: str) -> dict[str, Any]:
    """A store on the Pod's own loopback (a native sidecar), the restore, and who reads what it left."""
    serve = (
        f"echo {base64.b64encode(data).decode()} | base64 -d > /tmp/bundle && exec httpd -f -p 8080 -h /tmp"
    )
    home = {"name": "home", "mountPath": "/home"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "securityContext": {"runAsUser": 1000, "runAsNonRoot": True, "fsGroup": 1000},
            "volumes": [
                {"name": "home", "emptyDir": {}},
                {"name": "bundle", "secret": {"secretName": name, "defaultMode": 0o440}},
            ],
            "initContainers": [
                {**BOX, "name": "store", "restartPolicy": "Always", "command": ["sh", "-c", serve]},
                {
                    "name": "restore",
                    "image": image,
                    "imagePullPolicy": "Never",
                    "command": [
                        "/agentctl",
                        "restore",
                        "--url-file",
                        "/bundle/url",
                        "--max-bytes",
                        "1000000",
                    ],
                    "args": ["/home"],
                    "env": [{"name": "AGENTCTL_RESTORE_SHA256", "value": digest}],
                    "securityContext": {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False},
                    "volumeMounts": [home, {"name": "bundle", "mountPath": "/bundle"}],
                },
            ],
            "containers": [
                {**BOX, "name": "main", "command": ["cat", "/home/agent/settings"], "volumeMounts": [home]}
            ],
        },
    }


def ended(cluster: RealCluster, namespace: str, manifest: dict[str, Any]) -> dict[str, Any]:
    """The Pod once it has ended."""
    name = manifest["metadata"]["name"]
    url = {"url": f"http://127.0.0.1:8080/bundle?{SIGNATURE}"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": url}
    for document in (secret, manifest):
        cluster.kubectl("-n", namespace, "apply", "-f", "-", stdin=json.dumps(document))
    seen: dict[str, Any] = {}

    def over() -> bool:
        seen.update(cluster.get("-n", namespace, "pod", name))
        return seen["status"]["phase"] in ("Succeeded", "Failed")

    wait_for(f"the end of Pod {name}", over, 120)
    return seen


def restore_state(seen: dict[str, Any]) -> dict[str, Any]:
    [status] = [s for s in seen["status"]["initContainerStatuses"] if s["name"] == "restore"]
    state: dict[str, Any] = status["state"]["terminated"]
    return state


def test_an_init_container_restores_a_bundle_without_root(
    cluster: RealCluster, namespace: str, kubectl: Callable[..., str], image: str
) -> None:
    data = bundle()
    seen = ended(cluster, namespace, pod("good", image, data, hashlib.sha256(data).hexdigest()))
    assert seen["status"]["phase"] == "Succeeded", seen["status"]
    assert kubectl("-n", namespace, "logs", "good", "-c", "main") == "restored\n"


def test_a_wrong_digest_ends_the_pod_with_the_reason_in_its_status(
    cluster: RealCluster, namespace: str, kubectl: Callable[..., str], image: str
) -> None:
    seen = ended(cluster, namespace, pod("bad", image, bundle(), "0" * 64))
    state = restore_state(seen)
    assert state["exitCode"] == 12
    assert state["message"].startswith("integrity: the bundle has SHA-256 ")
    said = kubectl("-n", namespace, "logs", "bad", "-c", "restore") + json.dumps(seen)
    assert "s3cr3t" not in said
