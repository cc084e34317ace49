"""Fake nodes: KWOK keeps them Ready and their Pods Running, and answers exec, logs and port-forward.

Called by up. There is always one arm64 node beside the amd64 ones, so that Pods which select that
architecture land somewhere. It never runs a container.
"""

from __future__ import annotations

import os

from .api import Api
from .build import HERE
from .cluster import Cluster
from .controlplane import wait_nodes
from .identity import certificate, kubeconfig
from .shell import Failure

ARM_NODE = "kwok-arm64"
LOG = "2026-01-01T00:00:00.000000000Z stdout F a fake Pod has only this log\n"  # in the format of the CRI
NOBODY = 65534  # whom exec runs as when we are root: the port of a fake kubelet asks for no credentials
ROOM = {"cpu": "64", "memory": "256Gi", "pods": "1000", "ephemeral-storage": "1Ti"}


def node_names(count: int) -> dict[str, str]:
    """Name → architecture of the fake nodes for `--kwok COUNT`."""
    if not count:
        return {}
    return {**{f"kwok-{i}": "amd64" for i in range(count)}, ARM_NODE: "arm64"}


def up_kwok(cluster: Cluster) -> None:
    """Create the nodes that are missing, start kwok, and wait until all are Ready."""
    names = node_names(cluster.state.kwok)
    if not names:
        return
    api = Api(cluster)
    for name, arch in names.items():
        status, body = api("POST", "/api/v1/nodes", _node(name, arch, bool(cluster.state.nodes)))
        if status not in (201, 409):
            raise Failure(f"the API server refused node {name}: {status} {body}")
    folder = cluster.dir / "kwok-exec"
    folder.mkdir(exist_ok=True)
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    (folder / "pod.log").write_text(LOG)
    config = cluster.dir / "kwok.yaml"
    config.write_text(
        (HERE / "manifests/kwok.yaml")
        .read_text()
        .replace("@HOME@", str(cluster.dir))
        .replace("@USER@", _exec_user())
    )
    crt, key = certificate(cluster, "kwok-server", "/O=system:nodes/CN=kwok", f"IP:{cluster.host}")
    port = cluster.state.ports["kwok"]
    cluster.start(
        "kwok",
        "kwok",
        f"--kubeconfig={kubeconfig(cluster, 'kwok', 'testcluster-kwok', 'system:masters')}",
        f"--config={config}",
        "--manage-nodes-with-label-selector=type=kwok",
        "--node-lease-duration-seconds=40",  # without a lease the nodes become NotReady after a while
        f"--node-ip={cluster.host}",
        f"--node-port={port}",
        f"--server-address={cluster.host}:{port}",
        f"--tls-cert-file={crt}",
        f"--tls-private-key-file={key}",
        env={"HOME": str(cluster.dir)},  # a kwok configuration of the user's must not be mixed in
    )
    wait_nodes(cluster, list(names))


def _exec_user() -> str:
    user = NOBODY if os.geteuid() == 0 else os.geteuid()
    return f"{{runAsUser: {user}, runAsGroup: {NOBODY if user == NOBODY else os.getegid()}}}"


def _node(name: str, arch: str, real_nodes: bool) -> dict[str, object]:
    labels = {
        "type": "kwok",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": arch,
        "kubernetes.io/hostname": name,
    }
    # Beside real nodes only Pods that say so may land here; alone, these are the only nodes there are.
    taints = [{"key": "kwok", "value": "fake", "effect": "NoSchedule"}] if real_nodes else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {"allocatable": ROOM, "capacity": ROOM},
    }
