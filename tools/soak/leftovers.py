"""What a soak left behind once every session is gone: in the cluster, on its node, in the data folder, here.

Each look gives lines for people; none is what must be found.
"""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from tools.live_cluster import LiveCluster
from tools.soak.node import Node

KINDS = "pods,pvc,secrets,configmaps,services,serviceaccounts,leases,networkpolicies,jobs,roles,rolebindings"
OF_EVERY_NAMESPACE = ("configmap/kube-root-ca.crt", "serviceaccount/default")
PATIENCE = 90
"""Seconds for which volumes and containers may go on being removed by the cluster itself."""
OF_THE_STORE = {
    "secret": "SELECT ref FROM secrets WHERE ref LIKE 'session:%'",
    "session on record": "SELECT name FROM sessions WHERE phase <> 'deleted'",
    "lease": "SELECT session_id FROM leases WHERE owner <> ''",
    "output of no session": "SELECT DISTINCT session_id FROM transcript_chunks",
}


async def in_cluster(live: LiveCluster, node: Node) -> list[str]:
    """Objects of the namespace, volumes bound to it, containers of its Pods."""
    for _ in range(PATIENCE):
        found = await _objects(live, node)
        if not found:
            return []
        await asyncio.sleep(1.0)
    return found


async def _objects(live: LiveCluster, node: Node) -> list[str]:
    names = await asyncio.to_thread(live.kubectl, "-n", live.namespace, "get", KINDS, "-o", "name")
    there = [name for name in names.split() if name not in OF_EVERY_NAMESPACE]
    volumes = [name for name in await asyncio.to_thread(live.objects) if name.startswith("persistentvolume/")]
    containers = [f"container {one[:12]} on the node" for one in await node.containers(live.namespace)]
    return [*there, *volumes, *containers]


def in_folder(data: Path) -> list[str]:
    """Rows of the store that belong to no session, and prepared sources."""
    found = [f"source {path.name}" for path in sorted((data / "sources").glob("*")) if path.suffix != ".lock"]
    with sqlite3.connect(f"file:{data / 'moorage.db'}?mode=ro", uri=True) as store:
        for what, question in OF_THE_STORE.items():
            found += [f"{what} {row[0]}" for row in store.execute(question)]
    store.close()
    return found


def in_folder_of_temporary_files(folder: Path) -> list[str]:
    return [f"temporary file {path.name}" for path in sorted(folder.iterdir())]


def children() -> list[str]:
    """Processes we started that still run."""
    pids = [
        pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()
    ]
    return [f"process {pid}" for pid in pids]


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def resident() -> float:
    """MiB of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise LookupError("this system does not tell what memory a process has")
