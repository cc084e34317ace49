"""The files of ConfigMap, Secret, projected and downwardAPI volumes. Called by ``node.volumes``.

Written the way a kubelet does: a fresh folder, and one rename of ``..data`` to it, so that a reader sees all
of the old or all of the new.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from moorage.core.kinds import Json
from moorage.embedded.node.environment import ConfigMissing, Lookup, field_value, payload, resource_value

DEFAULT_MODE = 0o644


class File(NamedTuple):
    """One file; ``mode`` as for chmod."""

    data: bytes
    mode: int


Files = Mapping[str, File]
"""By path within the volume."""


def volume_files(pod: Json, volume: Json, lookup: Lookup, token: bytes) -> Files:
    """What a volume of these kinds holds now. Raises ConfigMissing."""
    if "projected" in volume:
        source = volume["projected"]
        mode = source.get("defaultMode") or DEFAULT_MODE
        found: dict[str, File] = {}
        for part in source.get("sources") or []:
            found.update(_source(pod, part, mode, lookup, token))
        return found
    kinds = {"configMap": "configMap", "secret": "secret", "downwardAPI": "downwardAPI"}
    (kind,) = (name for name in kinds if name in volume)
    source = dict(volume[kind])
    if kind == "secret":
        source["name"] = source.get("secretName")
    return _source(pod, {kind: source}, source.get("defaultMode") or DEFAULT_MODE, lookup, token)


def _source(pod: Json, part: Json, mode: int, lookup: Lookup, token: bytes) -> dict[str, File]:
    if "serviceAccountToken" in part:
        return {part["serviceAccountToken"].get("path") or "token": File(token, mode & 0o600 | 0o400)}
    if "downwardAPI" in part:
        return {item["path"]: _field(pod, item, mode) for item in part["downwardAPI"].get("items") or []}
    for kind, name in (("ConfigMap", "configMap"), ("Secret", "secret")):
        if name in part:
            return _keys(part[name], payload(kind, part[name], lookup), mode)
    raise ConfigMissing(f"a projected source of kind {', '.join(part)} is not supported by the embedded node")


def _field(pod: Json, item: Json, mode: int) -> File:
    if "fieldRef" in item:
        text = field_value(pod, item["fieldRef"]["fieldPath"])
    else:
        text = resource_value(pod, item["resourceFieldRef"])
    return File(text.encode(), item.get("mode") or mode)


def _keys(source: Json, data: Mapping[str, bytes], mode: int) -> dict[str, File]:
    items = source.get("items")
    if not items:
        return {key: File(value, mode) for key, value in data.items()}
    found = {}
    for item in items:
        if item["key"] in data:
            found[item["path"]] = File(data[item["key"]], item.get("mode") or mode)
        elif not source.get("optional"):
            raise ConfigMissing(f"references non-existent config key: {item['key']}")
    return found


def write(folder: Path, files: Files, group: int | None) -> None:
    """Make ``folder`` hold exactly ``files``; nothing is written when it does already."""
    if _same(folder, files):
        return
    fresh = folder / f"..{secrets.token_hex(6)}"
    fresh.mkdir(mode=0o755, parents=True)
    for name, file in files.items():
        path = fresh / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        if group is not None and os.geteuid() == 0:
            os.chown(path, -1, group)
        path.chmod(file.mode | (0o440 if group is not None else 0))
    old = folder / os.readlink(folder / "..data") if (folder / "..data").is_symlink() else None
    link = folder / "..data_tmp"
    link.symlink_to(fresh.name)
    link.rename(folder / "..data")
    wanted = {Path(name).parts[0] for name in files}
    for name in wanted - set(os.listdir(folder)):
        (folder / name).symlink_to(f"..data/{name}")
    for entry in set(os.listdir(folder)) - wanted:
        if not entry.startswith(".."):
            (folder / entry).unlink()
    if old is not None:
        shutil.rmtree(old)


def _same(folder: Path, files: Files) -> bool:
    current = folder / "..data"
    if not current.is_symlink():
        return False
    there = {
        str(Path(root, name).relative_to(current)) for root, _, names in os.walk(current) for name in names
    }
    return there == set(files) and all(
        (current / name).read_bytes() == file.data for name, file in files.items()
    )
