"""Containers and volumes: the main one is there, each has an image, names are free, none stands twice."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.core.document.nodes import Mapping, Place, Scalar, item, join, shown
from moorage.core.names import nearest
from moorage.core.owned import RESERVED_PREFIX
from moorage.core.template.rules.findings import Findings
from moorage.core.template.rules.paths import normal_path
from moorage.core.template.rules.pod import INIT, ORDINARY, SPEC, Container, Pod

_CANDIDATES = 50
_CLAIM_VOLUME = "workspace"
"""Kubernetes names the claim of a generic ephemeral volume POD-VOLUME: so this one is our claim's name."""


def check_containers(pod: Pod, findings: Findings) -> None:
    """Refuse a missing main container or image, names of ours, and whatever stands twice."""
    _main_present(pod, findings)
    for container in pod.containers:
        if container.node.get("image") is None:
            path = join(container.path, "image")
            whose = "the main container" if container.main else f"container {container.name or ''}".rstrip()
            findings.error(
                container.node, path, "missing_image", f"{whose} has no image", "add image: NAME:TAG"
            )
    for what, places in (("containers", list(_container_names(pod))), ("volumes", list(_volume_names(pod)))):
        for name, place, path in places:
            if name.startswith(RESERVED_PREFIX):
                message = f"names that start with {RESERVED_PREFIX} are Moorage's own {what}"
                findings.error(place, path, "reserved_name", message, "choose another name")
        _twice(places, findings, "name")
    _claim_names(pod, findings)
    _host_ports(pod, findings)
    for container in pod.containers:
        _inside(container, findings)


def _claim_names(pod: Pod, findings: Findings) -> None:
    for path, volume in pod.volumes:
        name = volume.text("name")
        if name == _CLAIM_VOLUME and volume.get("ephemeral") is not None:
            message = f"the claim of an ephemeral volume named {name} has the name of the session's own claim"
            hint = "rename the volume"
            findings.error(volume.get("name"), join(path, "name"), "reserved_name", message, hint)


def _main_present(pod: Pod, findings: Findings) -> None:
    name = pod.options.main_container
    if pod.main is not None or pod.spec.get(ORDINARY) is None:
        return
    ordinary = [
        container.name for container in pod.containers if container.kind == ORDINARY and container.name
    ]
    if any(container.kind == INIT and container.name == name for container in pod.containers):
        hint = "an init container cannot be the main one; move it to containers"
    elif close := nearest(name, ordinary[:_CANDIDATES]):
        hint = f"rename it, or choose {close} as the main container (--main-container {close})"
    elif ordinary:
        hint = f"rename one, or choose it as the main container (--main-container {ordinary[0]})"
    else:
        hint = f"add a container named {name}"
    message = f"there is no container named {shown(name)}, where the agent should run"
    place = pod.spec.entries.get(ORDINARY) or pod.spec
    findings.error(place, f"{SPEC}.{ORDINARY}", "missing_main_container", message, hint)


def _container_names(pod: Pod) -> Iterator[tuple[str, Place, str]]:
    for container in pod.containers:
        if container.name is not None:
            yield container.name, container.node.get("name"), join(container.path, "name")


def _volume_names(pod: Pod) -> Iterator[tuple[str, Place, str]]:
    for path, volume in pod.volumes:
        if (name := volume.text("name")) is not None:
            yield name, volume.get("name"), join(path, "name")


def _twice(places: list[tuple[str, Place, str]], findings: Findings, what: str) -> None:
    """Refuse the second and later of equal keys, naming the line of the first."""
    first: dict[str, tuple[Place, str]] = {}
    for key, place, path in places:
        before, where = first.setdefault(key, (place, path))
        if where != path:
            line = before.line if before is not None else 0
            message = f"{what} {shown(key)} stands twice; first on line {line}"
            findings.error(place, path, "duplicate", message, "rename or remove one of the two")


def _inside(container: Container, findings: Findings) -> None:
    fields = (("env", "name", "variable"), ("ports", "name", "port name"))
    for part, field, what in fields:
        _twice(list(_texts(container, part, field)), findings, what)
    _twice(list(_port_numbers(container)), findings, "port")
    # A mount and a device at one path are as wrong as two mounts.
    mounts = [
        *_texts(container, "volumeMounts", "mountPath"),
        *_texts(container, "volumeDevices", "devicePath"),
    ]
    _twice([(normal_path(path), place, where) for path, place, where in mounts], findings, "path")


def _texts(container: Container, part: str, field: str) -> Iterator[tuple[str, Place, str]]:
    for index, node in container.node.mappings(part):
        if text := node.text(field):
            yield text, node.get(field), join(item(join(container.path, part), index), field)


def _number(node: Mapping, field: str) -> tuple[int, Scalar] | None:
    scalar = node.scalar(field)
    return (scalar.value, scalar) if scalar and isinstance(scalar.value, int) else None


def _port_numbers(container: Container) -> Iterator[tuple[str, Place, str]]:
    for index, port in container.node.mappings("ports"):
        if number := _number(port, "containerPort"):
            path = join(item(f"{container.path}.ports", index), "containerPort")
            yield f"{number[0]}/{port.text('protocol') or 'TCP'}", number[1], path


def _host_ports(pod: Pod, findings: Findings) -> None:
    places: list[tuple[str, Place, str]] = []
    for container in pod.containers:
        for index, port in container.node.mappings("ports"):
            if number := _number(port, "hostPort"):
                path = join(item(f"{container.path}.ports", index), "hostPort")
                key = f"{port.text('hostIP') or ''}:{number[0]}/{port.text('protocol') or 'TCP'}".lstrip(":")
                places.append((key, number[1], path))
    _twice(places, findings, "host port")
