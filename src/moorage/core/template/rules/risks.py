"""What an administrator's policy may refuse: reach into the node, more rights, credentials, moving images.

Each is a warning, or with the policy on an error, under the same code.
"""

from __future__ import annotations

import re

from moorage.core.document.nodes import Mapping, Node, Scalar, item, join, shown
from moorage.core.template.images import is_mutable
from moorage.core.template.rules.findings import Findings
from moorage.core.template.rules.pod import SPEC, Container, Pod

_HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")
# Audiences API servers accept by default or by custom; an empty one means theirs.
_API_AUDIENCE = re.compile(r"(|api|(https://)?kubernetes(\.default(\.svc(\..*)?)?)?)")


def check_risks(pod: Pod, findings: Findings) -> None:
    """Warn of every risk in the Pod, its volumes and its containers."""
    _namespaces(pod, findings)
    if _is(pod.spec, "automountServiceAccountToken", True):
        path, place = f"{SPEC}.automountServiceAccountToken", pod.spec.get("automountServiceAccountToken")
        message = "the agent can read the service account's token and use the API with it"
        findings.risk(
            place, path, "token_automount", message, "remove it, or use a service account without rights"
        )
    for path, volume in pod.volumes:
        _volume(volume, path, findings)
    for container in pod.containers:
        _container(container, findings)


def _is(mapping: Mapping | None, name: str, value: object) -> bool:
    scalar = mapping.scalar(name) if mapping else None
    return scalar is not None and scalar.value == value and type(scalar.value) is type(value)


def _namespaces(pod: Pod, findings: Findings) -> None:
    for name in _HOST_NAMESPACES:
        if not _is(pod.spec, name, True):
            continue
        path, place = f"{SPEC}.{name}", pod.spec.get(name)
        if name == "hostNetwork" and pod.options.transport == "portforward":
            message = (
                "hostNetwork puts agentctl's port on the node, where the transport portforward cannot be safe"
            )
            findings.error(
                place, path, "host_network", message, "use the transport exec, or remove hostNetwork"
            )
            continue
        message = f"{name} shares the node's {name.removeprefix('host').lower()} namespace with the agent"
        hint = "remove it unless the agent must see the node"
        if name == "hostNetwork":
            message += "; the link will use the transport exec"
        findings.risk(place, path, "host_namespace", message, hint)
    if _is(pod.spec, "shareProcessNamespace", True):
        path, place = f"{SPEC}.shareProcessNamespace", pod.spec.get("shareProcessNamespace")
        message = "every container can see and signal the processes of the others"
        findings.risk(place, path, "shared_processes", message, "remove it unless a sidecar must")


def _volume(volume: Mapping, path: str, findings: Findings) -> None:
    if (host := volume.mapping("hostPath")) is not None:
        message = f"hostPath {shown(host.text('path') or '')} reaches into the node"
        findings.risk(host, join(path, "hostPath"), "host_path", message, "use a claim or an emptyDir")
    projected = volume.mapping("projected")
    for index, source in projected.mappings("sources") if projected else ():
        token = source.mapping("serviceAccountToken")
        if token and _API_AUDIENCE.fullmatch(token.text("audience") or ""):
            where = join(item(f"{path}.projected.sources", index), "serviceAccountToken")
            message = "this token is good for the Kubernetes API"
            findings.risk(token, where, "api_token", message, "set the audience of the service it is for")


def _container(container: Container, findings: Findings) -> None:
    image = container.node.text("image")
    if image and is_mutable(image):
        message = f"{shown(image)} can change between sessions"
        hint = "use a version tag, or better a digest: name@sha256:…"
        findings.risk(
            container.node.get("image"), join(container.path, "image"), "mutable_image", message, hint
        )
    for index, port in container.node.mappings("ports"):
        if _number(port.get("hostPort")):
            path = join(item(f"{container.path}.ports", index), "hostPort")
            message = "hostPort opens a port of the node"
            findings.risk(
                port.get("hostPort"), path, "host_port", message, "reach it by port-forward instead"
            )
    security = container.node.mapping("securityContext")
    if security is not None:
        _security(security, join(container.path, "securityContext"), findings)


def _number(node: Node | None) -> bool:
    return isinstance(node, Scalar) and isinstance(node.value, int) and node.value > 0


def _security(security: Mapping, path: str, findings: Findings) -> None:
    for name, value, code, message in (
        ("privileged", True, "privileged", "a privileged container can do anything on the node"),
        ("allowPrivilegeEscalation", True, "privilege_escalation", "set-user-ID programs can gain root"),
        ("procMount", "Unmasked", "unmasked_proc", "an unmasked /proc shows and changes the node's kernel"),
    ):
        if _is(security, name, value):
            findings.risk(security.get(name), join(path, name), code, message, "remove it")
    capabilities = security.mapping("capabilities")
    for index, added in capabilities.items("add") if capabilities else ():
        where = item(f"{path}.capabilities.add", index)
        name = shown(str(added.value)) if isinstance(added, Scalar) else "a capability"
        message = f"{name} gives the container rights beyond the default"
        findings.risk(added, where, "added_capability", message, "remove it unless the image needs it")
