"""A Pod's volumes as folders of this machine. Called by ``node.worker`` before the first container starts.

emptyDir lies in the Pod's folder (medium Memory: in the memory folder, which a reboot empties), a claim in
the folder of its volume, which outlives the Pod. Kinds of volume that ``_one`` does not know are refused.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from moorage.core.kinds import CLAIMS, CONFIG_MAPS, SECRETS, Json, Resource
from moorage.core.quantities import parse_quantity
from moorage.embedded.node import payloads
from moorage.embedded.node.environment import ConfigMissing, Lookup, expand
from moorage.embedded.seam import Objects

PERSISTENT_VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
FILES = ("configMap", "secret", "projected", "downwardAPI")
_KINDS = {"ConfigMap": CONFIG_MAPS, "Secret": SECRETS}


class Volumes:
    """The volumes of one Pod. ``folder``, ``memory``: the Pod's; ``claims``: where claims' volumes lie."""

    def __init__(self, objects: Objects, folder: Path, memory: Path, claims: Path) -> None:
        self._objects, self._folder, self._memory, self._claims = objects, folder, memory, claims

    def lookup(self, namespace: str) -> Lookup:
        """How ConfigMaps and Secrets of that namespace are found."""
        return lambda kind, name: self._objects.get(_KINDS[kind], namespace, name)

    def prepare(self, pod: Json) -> dict[str, Path]:
        """Make what is missing and bring files up to date; the volumes by name. Raises ConfigMissing."""
        found = {}
        for volume in pod["spec"].get("volumes") or []:
            name = volume["name"]
            try:
                found[name] = self._one(pod, volume)
            except ConfigMissing as error:
                raise ConfigMissing(f'MountVolume.SetUp failed for volume "{name}" : {error}') from None
        return found

    def _one(self, pod: Json, volume: Json) -> Path:
        name, group = volume["name"], _group(pod)
        if "emptyDir" in volume:
            root = self._memory if (volume["emptyDir"] or {}).get("medium") == "Memory" else self._folder
            return _folder(root / "volumes" / name, 0o777, group)
        if any(kind in volume for kind in FILES):
            return self._files(pod, volume, group)
        if "persistentVolumeClaim" in volume:
            return self._claim(pod, volume["persistentVolumeClaim"]["claimName"], group)
        if "ephemeral" in volume:
            return self._claim(pod, f"{pod['metadata']['name']}-{name}", group)
        if "hostPath" in volume:
            return _host_path(volume["hostPath"])
        kinds = ", ".join(key for key in volume if key != "name")
        raise ConfigMissing(f"volumes of kind {kinds} are not supported by the embedded node")

    def _files(self, pod: Json, volume: Json, group: int | None) -> Path:
        # In memory: what stands in a Secret should not stay on a disk.
        target = self._memory / "volumes" / str(volume["name"])
        target.mkdir(parents=True, exist_ok=True, mode=0o755)
        lookup = self.lookup(pod["metadata"].get("namespace", ""))
        token = f"embedded.{pod['metadata'].get('uid')}".encode()
        payloads.write(target, payloads.volume_files(pod, volume, lookup, token), group)
        return target

    def _claim(self, pod: Json, name: str, group: int | None) -> Path:
        claim = self._objects.get(CLAIMS, pod["metadata"].get("namespace", ""), name)
        if claim is None:
            raise ConfigMissing(f'persistentvolumeclaim "{name}" not found')
        volume_name = claim["spec"].get("volumeName")
        if not volume_name or (claim.get("status") or {}).get("phase") != "Bound":
            raise ConfigMissing(f'persistentvolumeclaim "{name}" is not bound')
        if claim["spec"].get("volumeMode") == "Block":
            raise ConfigMissing("block volumes are not supported by the embedded node")
        volume = self._objects.get(PERSISTENT_VOLUMES, "", volume_name) or {}
        given = (volume.get("spec") or {}).get("hostPath") or (volume.get("spec") or {}).get("local") or {}
        path = Path(str(given["path"])) if given.get("path") else self._claims / str(volume_name)
        return _folder(path, 0o755, group)


def memory_limits(pod: Json) -> dict[str, int]:
    """Bytes that fit into memory volumes, by name. One that a container sees only a part of (``subPath``) has
    no limit: the part is made before its tmpfs would be."""
    containers = [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or [])]
    mounts = [mount for container in containers for mount in container.get("volumeMounts") or []]
    parts = {each["name"] for each in mounts if each.get("subPath") or each.get("subPathExpr")}
    found = {}
    for volume in pod["spec"].get("volumes") or []:
        source = volume.get("emptyDir") or {}
        size = parse_quantity(str(source.get("sizeLimit") or "0"))
        if source.get("medium") == "Memory" and size and volume["name"] not in parts:
            found[volume["name"]] = int(size)
    return found


def _group(pod: Json) -> int | None:
    group = (pod["spec"].get("securityContext") or {}).get("fsGroup")
    return None if group is None else int(group)


def _folder(path: Path, mode: int, group: int | None) -> Path:
    """The folder, made with ``mode`` if absent. A group gets it and all in it, where its root is not the
    group's yet; only a node that runs as root can give files away."""
    if not path.is_dir():
        path.mkdir(parents=True)
        path.chmod(mode)
    if group is not None and os.geteuid() == 0 and path.stat().st_gid != group:
        for root, _, names in os.walk(path, topdown=False):
            for name in names:
                _give(Path(root, name), group, 0o660)
            _give(Path(root), group, 0o2770)
    return path


def _give(path: Path, group: int, rights: int) -> None:
    with contextlib.suppress(OSError):
        os.chown(path, -1, group, follow_symlinks=False)
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | rights)


def _host_path(source: Json) -> Path:
    path, kind = Path(source["path"]), source.get("type") or ""
    if kind == "DirectoryOrCreate":
        path.mkdir(parents=True, exist_ok=True)
    elif kind == "FileOrCreate":
        path.touch()
    elif not path.exists():
        raise ConfigMissing(f"hostPath type check failed: {path} is not there")
    return path


def mount_source(volumes: Mapping[str, Path], mount: Json, env: Mapping[str, str]) -> Path:
    """What a container's mount shows: the volume, or a sub path of it. Raises ConfigMissing."""
    volume = volumes[mount["name"]]
    below = mount.get("subPath") or expand(mount.get("subPathExpr") or "", env)
    if not below:
        return volume
    path = Path(os.path.normpath(volume / below))
    home = volume.resolve()
    # A link in the volume was written by a container: it must not lead out.
    if ".." in Path(below).parts or not (home == path.resolve() or home in path.resolve().parents):
        raise ConfigMissing(
            f'failed to prepare subPath for volumeMount "{mount["name"]}": it leads out of the volume'
        )
    if not path.exists():
        path.mkdir(parents=True)
        path.chmod(volume.stat().st_mode & 0o7777)
        if os.geteuid() == 0:
            os.chown(path, -1, volume.stat().st_gid)
    return path.resolve()
