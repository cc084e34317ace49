"""The port of agentctl: nothing else in the Pod may listen on it, publish it or probe it."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.core.document.nodes import Mapping, Place, item, join
from moorage.core.owned import AGENTCTL_PORT
from moorage.core.template.rules.findings import Findings
from moorage.core.template.rules.pod import Container, Pod

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_ACTIONS = ("httpGet", "tcpSocket", "grpc")


def check_ports(pod: Pod, findings: Findings) -> None:
    """Refuse AGENTCTL_PORT wherever a port stands."""
    for container in pod.containers:
        for path, owner, field in _ports(container):
            scalar = owner.scalar(field)
            # A quoted number is no legal port name, but is meant as this port all the same.
            if scalar is not None and str(scalar.value) == str(AGENTCTL_PORT):
                place: Place = scalar
                message = f"port {AGENTCTL_PORT} is agentctl's in every container of the Pod"
                findings.error(place, join(path, field), "reserved_port", message, "use another port")


def _ports(container: Container) -> Iterator[tuple[str, Mapping, str]]:
    """Path, owner and field of every place of a port in a container."""
    for index, port in container.node.mappings("ports"):
        path = item(f"{container.path}.ports", index)
        yield path, port, "containerPort"
        yield path, port, "hostPort"
    handlers = [(name, container.node.mapping(name)) for name in _PROBES]
    if lifecycle := container.node.mapping("lifecycle"):
        handlers += [(f"lifecycle.{name}", lifecycle.mapping(name)) for name in ("postStart", "preStop")]
    for name, handler in handlers:
        for action in _ACTIONS if handler else ():
            if handler and (target := handler.mapping(action)):
                yield f"{container.path}.{name}.{action}", target, "port"
