"""Dynamic volumes, in the manner of external-provisioner, for the classes of testcluster.local/dir.

Runs as a process of its own beside the control plane. A Filesystem volume is a directory owned by
root with mode 0755, as most drivers make it; a Block volume is a loop device. It never enforces a
size, and it deletes only what carries its own annotation.
"""

from __future__ import annotations

import http.client
import shutil
import threading
import time
from pathlib import Path

from .api import Api, Json
from .cluster import Cluster
from .shell import Failure, run, say

NAME = "testcluster.local/dir"
UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
FAULTS = (OSError, http.client.HTTPException, KeyError, TypeError)


def serve(cluster: Cluster) -> None:
    """React to changes of claims and volumes; look at all of them again every 5 s. Never returns."""
    api, changed = Api(cluster, "provisioner"), threading.Event()
    for kind in ("persistentvolumeclaims", "persistentvolumes"):
        threading.Thread(target=_watch, args=(api, f"/api/v1/{kind}", changed), daemon=True).start()
    while True:
        changed.wait(5)
        changed.clear()
        try:
            look(cluster, api)
        except FAULTS as error:
            say(f"provisioner: {error!r}")


def _watch(api: Api, path: str, changed: threading.Event) -> None:
    while True:
        try:
            connection, lines = api.open("GET", f"{path}?watch=1&timeoutSeconds=300", timeout=310)
            try:
                for _ in lines:
                    changed.set()
            finally:
                connection.close()
        except (OSError, http.client.HTTPException):
            time.sleep(1)  # sleep: back off before watching again


def look(cluster: Cluster, api: Api) -> None:
    """Provision every claim that waits for us and delete every released volume of ours."""
    found = api("GET", "/apis/storage.k8s.io/v1/storageclasses")[1]["items"]
    classes = {item["metadata"]["name"]: item for item in found}
    claims = api("GET", "/api/v1/persistentvolumeclaims")[1]["items"]
    volumes = {item["metadata"]["name"]: item for item in api("GET", "/api/v1/persistentvolumes")[1]["items"]}
    for claim in claims:
        storage_class = classes.get(claim["spec"].get("storageClassName"), {})
        if _waits(claim, storage_class) and f"pvc-{claim['metadata']['uid']}" not in volumes:
            _provision(cluster, api, claim, claims, storage_class)
    for volume in volumes.values():
        _release(cluster, api, volume)


def _late(storage_class: Json) -> bool:
    return bool(storage_class.get("volumeBindingMode") == "WaitForFirstConsumer")


def _selected_node(claim: Json) -> str:
    return str(claim["metadata"].get("annotations", {}).get("volume.kubernetes.io/selected-node", ""))


def _waits(claim: Json, storage_class: Json) -> bool:
    return (
        storage_class.get("provisioner") == NAME
        and not claim["spec"].get("volumeName")
        and not claim["metadata"].get("deletionTimestamp")
        and not (_late(storage_class) and not _selected_node(claim))
    )


def _provision(cluster: Cluster, api: Api, claim: Json, claims: list[Json], storage_class: Json) -> None:
    meta, spec = claim["metadata"], claim["spec"]
    name = f"pvc-{meta['uid']}"
    try:
        device = _make(cluster, claim, claims, storage_class, cluster.dir / "volumes" / name)
    except Failure as error:
        _warn(api, claim, str(error))
        return
    where = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
    if _late(storage_class):
        where = {"key": "kubernetes.io/hostname", "operator": "In", "values": [_selected_node(claim)]}
    owner = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": meta["uid"]}
    api(
        "POST",
        "/api/v1/persistentvolumes",
        {
            "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": NAME}},
            "spec": {
                "capacity": {"storage": spec["resources"]["requests"]["storage"]},
                "accessModes": spec["accessModes"],
                # Type local and not hostPath: kubelet applies fsGroup only to the former.
                "local": {"path": device},
                "volumeMode": spec.get("volumeMode", "Filesystem"),
                "storageClassName": storage_class["metadata"]["name"],
                "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [where]}]}},
                "claimRef": {**owner, "name": meta["name"], "namespace": meta["namespace"]},
            },
        },
    )


def _make(cluster: Cluster, claim: Json, claims: list[Json], storage_class: Json, path: Path) -> str:
    """Create the data and return the path for the volume. Raises Failure with the text of the event."""
    spec, size = claim["spec"], quantity(claim["spec"]["resources"]["requests"]["storage"])
    block, source = spec.get("volumeMode") == "Block", spec.get("dataSource")
    path.parent.mkdir(exist_ok=True)
    if source:
        origin = _origin(claim, claims, storage_class, source, size)
        run("cp", "-a", "--reflink=auto", cluster.dir / "volumes" / origin, path)
    elif block:
        path.touch()
    else:
        path.mkdir(exist_ok=True)
        path.chmod(0o755)
    if not block:
        return str(path)
    with path.open("ab") as image:
        image.truncate(size)
    return run("losetup", "-f", "--show", path).strip()


def _origin(claim: Json, claims: list[Json], storage_class: Json, source: Json, size: int) -> str:
    if (
        storage_class.get("parameters", {}).get("clone") != "true"
        or source["kind"] != "PersistentVolumeClaim"
    ):
        raise Failure(f"class {storage_class['metadata']['name']} cannot provision from {source['kind']}")
    wanted = (source["name"], claim["metadata"]["namespace"])
    for other in claims:
        if (other["metadata"]["name"], other["metadata"]["namespace"]) != wanted:
            continue
        if other["status"].get("phase") != "Bound":
            break
        if size < quantity(other["status"]["capacity"]["storage"]):
            raise Failure("a clone must not be smaller than its source")
        return str(other["spec"]["volumeName"])
    raise Failure(f"source claim {source['name']} is not bound")


def _warn(api: Api, claim: Json, message: str) -> None:
    meta = claim["metadata"]
    involved = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"]}
    api(
        "POST",
        f"/api/v1/namespaces/{meta['namespace']}/events",
        {
            "metadata": {"generateName": meta["name"] + "-"},
            "type": "Warning",
            "reason": "ProvisioningFailed",
            "message": message,
            "source": {"component": "testcluster-provisioner"},
            "involvedObject": {**involved, "namespace": meta["namespace"]},
        },
    )


def _release(cluster: Cluster, api: Api, volume: Json) -> None:
    meta, spec = volume["metadata"], volume["spec"]
    ours = meta.get("annotations", {}).get("pv.kubernetes.io/provisioned-by") == NAME
    if (
        not ours
        or volume["status"].get("phase") != "Released"
        or spec["persistentVolumeReclaimPolicy"] != "Delete"
    ):
        return
    path = cluster.dir / "volumes" / meta["name"]
    if spec["volumeMode"] == "Block":
        run("losetup", "-d", spec["local"]["path"], check=False)
        path.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)
    api("DELETE", f"/api/v1/persistentvolumes/{meta['name']}")


def quantity(text: str) -> int:
    """Bytes of a Kubernetes quantity such as 16Mi or 1G."""
    for unit, factor in UNITS.items():
        if text.endswith(unit):
            return int(float(text.removesuffix(unit)) * factor)
    return int(text)
