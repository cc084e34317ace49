"""The node's own objects: its Node, with what it has and how it feels, and its Lease. Called by
``node.local``.

Whether Pods are kept apart is said in words: as a condition, a label and an annotation.
"""

from __future__ import annotations

import asyncio
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from moorage.core.errors import ApiError
from moorage.core.kinds import LEASES, NODES, Json
from moorage.embedded.node.admit import architecture
from moorage.embedded.node.capacity import host_capacity
from moorage.embedded.node.parts import Parts
from moorage.embedded.node.status import stamp

LEASE_NAMESPACE = "kube-node-lease"
ISOLATION_LABEL = "embedded.moorage.dev/isolation"
WORDS_ANNOTATION = "embedded.moorage.dev/isolation"
NOT_ISOLATED = (
    "not isolated: containers are processes of this machine and share its network and kernel; "
    "run only what you would run yourself"
)
VERSION = "v1.36.0-moorage"


def node_object(parts: Parts, why_plain: str) -> Json:
    """The Node at its registration. ``why_plain``: what keeps namespaces from working."""
    arch = architecture()
    words = NOT_ISOLATED + (f"; mode plain ({why_plain})" if parts.mode == "plain" else "; mode namespaces")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": parts.name,
            "labels": {
                "kubernetes.io/hostname": parts.name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": arch,
                "beta.kubernetes.io/os": "linux",
                "beta.kubernetes.io/arch": arch,
                ISOLATION_LABEL: "none-" + parts.mode,
            },
            "annotations": {WORDS_ANNOTATION: words},
        },
        "spec": {},
    }


def node_status(parts: Parts, old: Json, why_plain: str, now: float) -> Json:
    """Ready, with the heartbeat's time. ``old``: the status so far, whose transition times stay."""
    before = {each["type"]: each for each in old.get("conditions") or []}
    pressure = {"reason": "KubeletHasSufficientMemory", "message": "not watched by the embedded node"}
    isolation = {
        "reason": parts.mode.capitalize(),
        "message": NOT_ISOLATED + (f" ({why_plain})" if why_plain else ""),
    }
    conditions = [
        ("MemoryPressure", "False", pressure),
        ("DiskPressure", "False", {**pressure, "reason": "KubeletHasNoDiskPressure"}),
        ("PIDPressure", "False", {**pressure, "reason": "KubeletHasSufficientPID"}),
        ("Isolated", "False", isolation),
        ("Ready", "True", {"reason": "KubeletReady", "message": "the embedded node runs Pods"}),
    ]
    capacity = host_capacity()
    return {
        "capacity": capacity,
        "allocatable": capacity,
        "addresses": [
            {"type": "InternalIP", "address": "127.0.0.1"},
            {"type": "Hostname", "address": parts.name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
        "nodeInfo": _info(),
        "conditions": [
            {
                "type": name,
                "status": value,
                "lastHeartbeatTime": stamp(now),
                "lastTransitionTime": before[name]["lastTransitionTime"]
                if before.get(name, {}).get("status") == value
                else stamp(now),
                **words,
            }
            for name, value, words in conditions
        ],
    }


def _info() -> Json:
    return {
        "architecture": architecture(),
        "operatingSystem": "linux",
        "kernelVersion": platform.release(),
        "osImage": _os_name(),
        "kubeletVersion": VERSION,
        "kubeProxyVersion": "",
        "containerRuntimeVersion": "moorage://1",
        "machineID": _read("/etc/machine-id"),
        "systemUUID": "",
        "bootID": _read("/proc/sys/kernel/random/boot_id"),
    }


def _os_name() -> str:
    for line in _read("/etc/os-release").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return os.uname().sysname


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


class Registration:
    """Keeps the Node and its Lease up to date; somebody who deletes them gets them back."""

    def __init__(self, parts: Parts, why_plain: str, every: float) -> None:
        self._parts, self._why, self._every = parts, why_plain, every

    def beat(self) -> None:
        """Write what is due now."""
        objects, now = self._parts.objects, self._parts.clock()
        wanted = node_object(self._parts, self._why)
        node = objects.get(NODES, "", self._parts.name) or objects.create(NODES, wanted)
        metadata = node["metadata"]
        for part in ("labels", "annotations"):
            metadata[part] = {**(metadata.get(part) or {}), **wanted["metadata"][part]}
        node = objects.update(NODES, node)
        node["status"] = node_status(self._parts, node.get("status") or {}, self._why, now)
        objects.update_status(NODES, node)
        self._renew(now)

    def _renew(self, now: float) -> None:
        objects = self._parts.objects
        lease = objects.get(LEASES, LEASE_NAMESPACE, self._parts.name)
        renewed = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {
            "holderIdentity": self._parts.name,
            "leaseDurationSeconds": int(self._every * 4) or 1,
            "renewTime": renewed,
        }
        if lease is not None:
            objects.update(LEASES, {**lease, "spec": {**(lease.get("spec") or {}), **spec}})
            return
        metadata = {"name": self._parts.name, "namespace": LEASE_NAMESPACE}
        objects.create(
            LEASES,
            {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec},
        )

    async def keep(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(self._every)
            try:
                self.beat()
            except ApiError:
                continue  # somebody wrote at the same time; the next beat comes soon
