"""Mounts, devices and volumes: the owned paths stay free, the workspace grant has its one shape."""

from __future__ import annotations

from moorage.core.document.nodes import Mapping, Place, item, join, shown
from moorage.core.names import nearest
from moorage.core.owned import OPT_VOLUME, RUN_VOLUME, WORKSPACE_PATH, WORKSPACE_VOLUME
from moorage.core.template.rules.findings import Findings
from moorage.core.template.rules.paths import normal_path, owned_above
from moorage.core.template.rules.pod import ORDINARY, Container, Pod

# Comparing every unknown name with every volume would take a hostile template minutes.
_CANDIDATES = 50
_GRANT_HINT = "mount moorage-workspace at /workspace, with readOnly or without, and nothing else"
# What would share a part or more of it, and the word that stands for not doing so, where there is one.
_NO_PART = {"subPath": "", "subPathExpr": "", "mountPropagation": "None", "recursiveReadOnly": "Disabled"}


def check_mounts(pod: Pod, findings: Findings) -> None:
    """Refuse mounts of or over what is ours, and mounts of nothing; warn of volumes nobody mounts."""
    names = [name for _, volume in pod.volumes if (name := volume.text("name")) is not None]
    used: set[str] = set()
    for container in pod.containers:
        used |= _container(container, names, findings)
        _message(container, findings)
    for path, volume in pod.volumes:
        name = volume.text("name")
        if name is not None and name not in used:
            message = f"no container mounts the volume {shown(name)}"
            findings.warning(volume.get("name"), path, "unused_volume", message, "mount it or remove it")


def _container(container: Container, names: list[str], findings: Findings) -> set[str]:
    used: set[str] = set()
    _env_files(container, findings)
    for part, field in (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")):
        for index, mount in container.node.mappings(part):
            path = item(join(container.path, part), index)
            name, target = mount.text("name"), mount.text(field)
            if name is not None:
                used.add(name)
            if name == WORKSPACE_VOLUME and part == "volumeMounts":
                _grant(container, mount, path, findings)
            elif name in (OPT_VOLUME, RUN_VOLUME, WORKSPACE_VOLUME):
                message = f"{name} is only for Moorage's own mounts"
                findings.error(mount.get("name"), join(path, "name"), "reserved_mount", message, "remove it")
            else:
                _ordinary(mount, name, target, field, path, names, findings)
    return used


def _env_files(container: Container, findings: Findings) -> None:
    """A variable read from a file of a volume: that would be a mount of ours by another way."""
    for index, variable in container.node.mappings("env"):
        source = variable.mapping("valueFrom")
        reference = source.mapping("fileKeyRef") if source else None
        name = reference.text("volumeName") if reference else None
        if reference and name is not None and name.startswith("moorage-"):
            path = f"{item(join(container.path, 'env'), index)}.valueFrom.fileKeyRef.volumeName"
            message = f"{shown(name)} is only for Moorage's own mounts"
            hint = "read the variable from a volume of your own"
            findings.error(reference.get("volumeName"), path, "reserved_mount", message, hint)


def _ordinary(
    mount: Mapping,
    name: str | None,
    target: str | None,
    field: str,
    path: str,
    names: list[str],
    findings: Findings,
) -> None:
    if name is not None and name not in names:
        close = nearest(name, names[:_CANDIDATES])
        hint = f"did you mean {close}?" if close else "add it to template.spec.volumes"
        message = f"there is no volume named {shown(name)}"
        findings.error(mount.get("name"), join(path, "name"), "unknown_volume", message, hint)
    owned = owned_above(target) if target else None
    if target and owned:
        hint = f"to share the workspace, {_GRANT_HINT}" if owned == WORKSPACE_PATH else "mount it elsewhere"
        _owned(mount, field, target, path, hint, findings)


def _message(container: Container, findings: Findings) -> None:
    """The file of the termination message is one more mount, where a container has ours."""
    granted = any(m.text("name") == WORKSPACE_VOLUME for _, m in container.node.mappings("volumeMounts"))
    if not container.main and not granted:
        return
    target = container.node.text("terminationMessagePath")
    if target and owned_above(target):
        hint = "choose another path, or leave it out"
        _owned(container.node, "terminationMessagePath", target, container.path, hint, findings)


def _owned(node: Mapping, field: str, target: str, path: str, hint: str, findings: Findings) -> None:
    where = shown(target) if normal_path(target) == target else f"{shown(target)} ({normal_path(target)})"
    message = f"{where} is at or under {owned_above(target)}, which is Moorage's"
    findings.error(node.get(field), join(path, field), "reserved_path", message, hint)


def _grant(container: Container, mount: Mapping, path: str, findings: Findings) -> None:
    def refuse(field: str, message: str, hint: str = _GRANT_HINT) -> None:
        place: Place = mount.get(field) or mount
        findings.error(place, join(path, field), "workspace_grant", message, hint)

    if container.kind != ORDINARY:
        refuse("name", "init and ephemeral containers never get the workspace", "use an ordinary container")
        return
    if container.main:
        refuse("name", "the main container gets the workspace from Moorage", "remove the mount")
        return
    if (target := mount.text("mountPath")) is not None and target != WORKSPACE_PATH:
        refuse("mountPath", f"the workspace stands at {shown(target)}, not at exactly {WORKSPACE_PATH}")
    for field, neutral in _NO_PART.items():
        value = mount.text(field)
        if value is not None and value != neutral:
            refuse(field, f"the workspace is shared without {field}")
