"""Claims and volumes: provision and bind, protect what is in use, remove what nobody claims any more.

A volume is a directory below ``folder``; the node mounts it at its path. One provisioner for every class
that names it, both binding modes, and clones of claims in the same namespace.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from pathlib import Path

from moorage.core.errors import ApiError
from moorage.core.kinds import CLAIMS, EVENTS, PODS, STORAGE_CLASSES, Json
from moorage.embedded.admission.mutate import CLAIM_PROTECTION, VOLUME_PROTECTION
from moorage.embedded.registry.amounts import amount_of
from moorage.embedded.registry.kinds import VOLUMES, key
from moorage.embedded.seam import Objects
from moorage.embedded.storage.store import Change

PROVISIONER = "moorage.dev/directory"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
_BY = "pv.kubernetes.io/provisioned-by"
_WATCHED = frozenset({key(CLAIMS), key(VOLUMES), key(STORAGE_CLASSES), key(PODS)})


class _CannotProvision(Exception):
    """The text of the ProvisioningFailed event."""


class Claims:
    """The controller."""

    def __init__(self, objects: Objects, folder: Path) -> None:
        self._objects, self._folder = objects, folder

    def wants(self, resource: str, change: Change) -> bool:
        if resource == key(PODS):
            # A Pod matters by using claims, and by ceasing to.
            ended = (change.obj.get("status") or {}).get("phase") in ("Succeeded", "Failed")
            return bool(used_claims(change.obj)) and (change.type != "MODIFIED" or ended)
        return resource in _WATCHED

    async def reconcile(self) -> None:
        """One pass over all claims and volumes."""
        claims, volumes = self._objects.list(CLAIMS), self._objects.list(VOLUMES)
        classes = {found["metadata"]["name"]: found for found in self._objects.list(STORAGE_CLASSES)}
        in_use = {
            (pod["metadata"]["namespace"], name)
            for pod in self._objects.list(PODS)
            if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
            for name in used_claims(pod)
        }
        for claim in claims:
            with contextlib.suppress(ApiError):
                if claim["metadata"].get("deletionTimestamp"):
                    self._release(claim, in_use)
                elif (claim.get("status") or {}).get("phase") == "Bound":
                    self._check_bound(claim, volumes)
                else:
                    await self._bind(claim, classes, volumes)
        for volume in self._objects.list(VOLUMES):
            with contextlib.suppress(ApiError):
                await self._reclaim(volume)

    def _release(self, claim: Json, in_use: set[tuple[str, str]]) -> None:
        metadata = claim["metadata"]
        finalizers = metadata.get("finalizers") or []
        if CLAIM_PROTECTION in finalizers and (metadata["namespace"], metadata["name"]) not in in_use:
            left = [name for name in finalizers if name != CLAIM_PROTECTION]
            self._objects.update(CLAIMS, {**claim, "metadata": {**metadata, "finalizers": left}})

    def _check_bound(self, claim: Json, volumes: list[Json]) -> None:
        name = claim["spec"].get("volumeName")
        if all(volume["metadata"]["name"] != name for volume in volumes):
            status = {**(claim.get("status") or {}), "phase": "Lost"}
            self._objects.update_status(CLAIMS, {**claim, "status": status})
            text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            self._objects.event(claim, "Warning", "ClaimLost", text)

    async def _bind(self, claim: Json, classes: dict[str, Json], volumes: list[Json]) -> None:
        volume = _volume_for(claim, volumes)
        if volume is None:
            volume = await self._provision(claim, classes)
        if volume is None:
            return
        reference = _reference(claim)
        if (volume["spec"].get("claimRef") or {}).get("uid") != reference["uid"]:
            spec = {**volume["spec"], "claimRef": reference}
            volume = self._objects.update(VOLUMES, {**volume, "spec": spec})
        self._objects.update_status(VOLUMES, {**volume, "status": {"phase": "Bound"}})
        name = volume["metadata"]["name"]
        notes = {
            **(claim["metadata"].get("annotations") or {}),
            "pv.kubernetes.io/bind-completed": "yes",
            "pv.kubernetes.io/bound-by-controller": "yes",
        }
        claim = self._objects.update(
            CLAIMS,
            {
                **claim,
                "metadata": {**claim["metadata"], "annotations": notes},
                "spec": {**claim["spec"], "volumeName": name},
            },
        )
        status = {
            "phase": "Bound",
            "accessModes": volume["spec"]["accessModes"],
            "capacity": volume["spec"]["capacity"],
        }
        self._objects.update_status(CLAIMS, {**claim, "status": status})

    async def _provision(self, claim: Json, classes: dict[str, Json]) -> Json | None:
        """A new volume for a claim; None while there is nothing to do yet."""
        name = claim["spec"].get("storageClassName")
        if not name or claim["spec"].get("volumeName"):
            text = "no persistent volumes available for this claim and no storage class is set"
            self._once(claim, "Normal", "FailedBinding", text)
            return None
        storage_class = classes.get(name)
        if storage_class is None:
            text = f'storageclass.storage.k8s.io "{name}" not found'
            self._once(claim, "Warning", "ProvisioningFailed", text)
            return None
        node = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
        if storage_class["volumeBindingMode"] == "WaitForFirstConsumer" and not node:
            text = "waiting for first consumer to be created before binding"
            self._once(claim, "Normal", "WaitForFirstConsumer", text)
            return None
        if storage_class["provisioner"] != PROVISIONER:
            text = (
                "Waiting for a volume to be created either by the external provisioner "
                f"'{storage_class['provisioner']}' or manually by the system administrator. If volume "
                "creation is delayed, please verify that the provisioner is running and correctly registered."
            )
            self._once(claim, "Normal", "ExternalProvisioning", text)
            return None
        try:
            path = await self._make(claim)
        except (_CannotProvision, OSError) as error:
            text = f'failed to provision volume with StorageClass "{name}": {error}'
            self._once(claim, "Warning", "ProvisioningFailed", text)
            return None
        made = self._objects.create(VOLUMES, _volume(claim, storage_class, path))
        text = f"Successfully provisioned volume {made['metadata']['name']}"
        self._objects.event(claim, "Normal", "ProvisioningSucceeded", text)
        return made

    async def _make(self, claim: Json) -> Path:
        if claim["spec"].get("volumeMode") == "Block":
            raise _CannotProvision("block volumes are not possible here: a volume is a directory")
        path = self._folder / f"pvc-{claim['metadata']['uid']}"
        source = claim["spec"].get("dataSource")
        if source is None:
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o777)
            return path
        origin = self._origin(claim, source)
        unfinished = path.with_suffix(".part")
        await asyncio.to_thread(_copy_tree, origin, unfinished)
        unfinished.rename(path)
        return path

    def _origin(self, claim: Json, source: Json) -> Path:
        if source.get("kind") != "PersistentVolumeClaim":
            raise _CannotProvision(f"cannot provision from {source.get('kind')}")
        namespace = claim["metadata"]["namespace"]
        found = self._objects.get(CLAIMS, namespace, source.get("name", ""))
        if found is None or not found["spec"].get("volumeName"):
            raise _CannotProvision(f"claim {source.get('name')} does not exist or is not bound")
        asked = claim["spec"]["resources"]["requests"]["storage"]
        if amount_of(asked) < amount_of(found["spec"]["resources"]["requests"]["storage"]):
            raise _CannotProvision("the clone is smaller than its source")
        volume = self._objects.get(VOLUMES, "", found["spec"]["volumeName"])
        if volume is None or "hostPath" not in volume["spec"]:
            raise _CannotProvision(f"the volume of claim {source.get('name')} is not a directory")
        return Path(volume["spec"]["hostPath"]["path"])

    def _once(self, claim: Json, type_: str, reason: str, message: str) -> None:
        """An event that is not counted up at each look: it is the same waiting."""
        if not self._told(claim, reason, message):
            self._objects.event(claim, type_, reason, message)

    def _told(self, claim: Json, reason: str, message: str) -> bool:
        uid = claim["metadata"]["uid"]
        return any(
            event.get("involvedObject", {}).get("uid") == uid
            and (event.get("reason"), event.get("message")) == (reason, message)
            for event in self._objects.list(EVENTS, claim["metadata"]["namespace"])
        )

    async def _reclaim(self, volume: Json) -> None:
        """What becomes of a volume whose claim is gone."""
        metadata, spec = volume["metadata"], volume["spec"]
        reference = spec.get("claimRef") or {}
        claim = self._objects.get(CLAIMS, reference.get("namespace", ""), reference.get("name", ""))
        bound = claim is not None and claim["metadata"]["uid"] == reference.get("uid")
        if metadata.get("deletionTimestamp"):
            finalizers = [name for name in metadata.get("finalizers") or () if name != VOLUME_PROTECTION]
            if not bound and finalizers != metadata.get("finalizers"):
                self._objects.update(VOLUMES, {**volume, "metadata": {**metadata, "finalizers": finalizers}})
            return
        phase = (volume.get("status") or {}).get("phase")
        if not reference:
            if phase != "Available":
                self._objects.update_status(VOLUMES, {**volume, "status": {"phase": "Available"}})
            return
        if bound or not reference.get("uid"):
            return
        if spec.get("persistentVolumeReclaimPolicy") != "Delete":
            if phase != "Released":
                self._objects.update_status(VOLUMES, {**volume, "status": {"phase": "Released"}})
            return
        if (metadata.get("annotations") or {}).get(_BY) == PROVISIONER:
            path = Path(spec["hostPath"]["path"])
            if path.parent == self._folder:
                await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
        self._objects.delete(VOLUMES, "", metadata["name"], metadata["uid"])


def used_claims(pod: Json) -> list[str]:
    """The names of the claims a Pod mounts."""
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    return [v["persistentVolumeClaim"]["claimName"] for v in volumes if "persistentVolumeClaim" in v]


def _reference(claim: Json) -> Json:
    metadata = claim["metadata"]
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
    }


def _volume_for(claim: Json, volumes: list[Json]) -> Json | None:
    """A volume that is there already: named by the claim, kept for it, or free and large enough."""
    spec, metadata = claim["spec"], claim["metadata"]
    fitting = []
    for volume in volumes:
        reference = volume["spec"].get("claimRef") or {}
        if volume["metadata"].get("deletionTimestamp"):
            continue
        if reference.get("uid") == metadata["uid"]:
            return volume
        ours = (reference.get("namespace"), reference.get("name")) == (
            metadata["namespace"],
            metadata["name"],
        )
        if reference and (reference.get("uid") or not ours):
            continue
        if spec.get("volumeName"):
            if volume["metadata"]["name"] == spec["volumeName"]:
                return volume
        elif ours or _fits(claim, volume):
            fitting.append(volume)
    return min(fitting, key=lambda v: amount_of(v["spec"].get("capacity", {}).get("storage")), default=None)


def _fits(claim: Json, volume: Json) -> bool:
    wanted, offered = claim["spec"], volume["spec"]
    return (
        (wanted.get("storageClassName") or "") == (offered.get("storageClassName") or "")
        and wanted.get("volumeMode") == offered.get("volumeMode")
        and set(wanted["accessModes"]) <= set(offered.get("accessModes") or ())
        and amount_of(offered.get("capacity", {}).get("storage"))
        >= amount_of(wanted["resources"]["requests"]["storage"])
    )


def _volume(claim: Json, storage_class: Json, path: Path) -> Json:
    spec = claim["spec"]
    return {
        "metadata": {"name": path.name, "annotations": {_BY: PROVISIONER}},
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "volumeMode": spec["volumeMode"],
            "storageClassName": storage_class["metadata"]["name"],
            "persistentVolumeReclaimPolicy": storage_class["reclaimPolicy"],
            "hostPath": {"path": str(path), "type": "DirectoryOrCreate"},
            "claimRef": _reference(claim),
        },
    }


def _copy_tree(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, symlinks=True)
