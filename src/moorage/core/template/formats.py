"""Names, keys, ports and images: fields whose text must have a form the schema does not state.

Called by typecheck.py for each known field. The forms are those Kubernetes 1.32 to 1.36 validate: RFC 1123
labels and subdomains, qualified names for keys, service names for ports. Where releases differ, the widest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from moorage.core.document.nodes import Mapping, Node, Scalar, item, shown
from moorage.core.names import is_dns_label, is_label_value, is_object_name
from moorage.core.owned import RESERVED_PREFIX
from moorage.core.template.amounts import check_amounts, check_requests
from moorage.core.template.images import image_fault
from moorage.core.template.rules.findings import Findings

_Check: TypeAlias = Callable[[Findings, Node, str], None]

_PORT_NAME = re.compile(r"(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_KEY_NAME = re.compile(r"(?=.{1,63}$)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_ENV_NAME = re.compile(r"[\x20-\x3c\x3e-\x7e]+")
_MAX_PORT = 65535
_IDENTITIES = 2**31


def _string(node: Node) -> str | None:
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else None


def _label_name(findings: Findings, node: Node, path: str) -> None:
    text = _string(node)
    if text is not None and not is_dns_label(text):
        message = f"{shown(text)} is no valid name here"
        hint = "use a-z, 0-9 and '-', at most 63 characters, a letter or digit first and last"
        findings.error(node, path, "bad_name", message, hint)


def _object_name(findings: Findings, node: Node, path: str) -> None:
    text = _string(node)
    if text is not None and not is_object_name(text):
        message = f"{shown(text)} cannot name a Kubernetes object"
        hint = (
            "use a-z, 0-9, '-' and '.', at most 253 characters; objects of other namespaces cannot be named"
        )
        findings.error(node, path, "bad_name", message, hint)


def _reference(findings: Findings, node: Node, path: str) -> None:
    """The name of another object, which may not be one of ours: their secrets open sessions."""
    text = _string(node)
    if text is not None and text.startswith(RESERVED_PREFIX):
        message = f"{shown(text)} may belong to Moorage: names that start with {RESERVED_PREFIX} are reserved"
        hint = "copy what you need into an object of your own"
        if path.endswith("claimName"):
            hint = "a session's claim is never shared; use a claim of your own"
        findings.error(node, path, "reserved_reference", message, hint)
    else:
        _object_name(findings, node, path)


def _port_name(findings: Findings, node: Node, path: str) -> None:
    text = _string(node)
    if text is not None and not _PORT_NAME.fullmatch(text):
        hint = "use a-z, 0-9 and '-', at most 15 characters, at least one letter"
        findings.error(node, path, "bad_name", f"{shown(text)} is no valid port name", hint)


def _port_number(findings: Findings, node: Node, path: str) -> None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, int) and not isinstance(value, bool) and not 1 <= value <= _MAX_PORT:
        findings.error(node, path, "out_of_range", f"{value} is no port", f"ports go from 1 to {_MAX_PORT}")


def _host_port(findings: Findings, node: Node, path: str) -> None:
    if not (isinstance(node, Scalar) and node.value == 0):  # 0 is how Kubernetes spells none
        _port_number(findings, node, path)


def _identity(findings: Findings, node: Node, path: str) -> None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, int) and not isinstance(value, bool) and not 0 <= value < _IDENTITIES:
        hint = f"user and group numbers go from 0 to {_IDENTITIES - 1}"
        findings.error(node, path, "out_of_range", f"{value} is no user or group", hint)


def _env_name(findings: Findings, node: Node, path: str) -> None:
    text = _string(node)
    if text is not None and not _ENV_NAME.fullmatch(text):
        message = f"{shown(text)} cannot name an environment variable"
        findings.error(node, path, "bad_name", message, "use letters, digits and '_'; '=' is not possible")


def _image(findings: Findings, node: Node, path: str) -> None:
    text = _string(node)
    if text is not None and (fault := image_fault(text)):
        findings.error(node, path, "bad_image", *fault)


def _mount_path(findings: Findings, node: Node, path: str) -> None:
    if _string(node) == "":
        findings.error(node, path, "bad_path", "the path is empty", "write an absolute path")


def _sub_path(findings: Findings, node: Node, path: str) -> None:
    text = _string(node)
    if text is not None and (text.startswith("/") or ".." in text.split("/")):
        message = f"{shown(text)} leaves the volume"
        findings.error(node, path, "bad_path", message, "write a relative path without '..'")


def _is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return _KEY_NAME.fullmatch(name) is not None and (not slash or is_object_name(prefix))


def _keys(findings: Findings, node: Node, path: str) -> None:
    for key, entry in node.entries.items() if isinstance(node, Mapping) else ():
        if not _is_key(key):
            message = f"{shown(key)} is no valid key"
            hint = "write name or domain/name; the name has at most 63 letters, digits, '-', '_', '.'"
            findings.error(entry, item(path, key), "bad_name", message, hint)


def _labels(findings: Findings, node: Node, path: str) -> None:
    _keys(findings, node, path)
    for key, entry in node.entries.items() if isinstance(node, Mapping) else ():
        text = _string(entry.value)
        if text is not None and not is_label_value(text):
            message = f"{shown(text)} is no label value"
            hint = "use at most 63 letters, digits, '-', '_', '.', or move it to an annotation"
            findings.error(entry.value, item(path, key), "bad_name", message, hint)


_REFERENCES = (
    "ConfigMapEnvSource",
    "ConfigMapKeySelector",
    "ConfigMapProjection",
    "ConfigMapVolumeSource",
    "LocalObjectReference",
    "SecretEnvSource",
    "SecretKeySelector",
    "SecretProjection",
)
_FORMATS: Final[dict[tuple[str, str], _Check]] = {
    **{(kind, "name"): _label_name for kind in ("Container", "EphemeralContainer", "Volume")},
    **{(kind, "name"): _reference for kind in _REFERENCES},
    ("SecretVolumeSource", "secretName"): _reference,
    ("PersistentVolumeClaimVolumeSource", "claimName"): _reference,
    **{("PodSpec", name): _object_name for name in ("priorityClassName", "runtimeClassName")},
    **{("PodSpec", name): _reference for name in ("serviceAccountName", "serviceAccount")},
    **{("PodSpec", name): _label_name for name in ("hostname", "subdomain")},
    ("PodSpec", "nodeSelector"): _labels,
    ("ObjectMeta", "labels"): _labels,
    ("ObjectMeta", "annotations"): _keys,
    ("LabelSelector", "matchLabels"): _labels,
    ("ContainerPort", "name"): _port_name,
    ("ContainerPort", "containerPort"): _port_number,
    ("ContainerPort", "hostPort"): _host_port,
    **{
        (kind, name): _identity
        for kind in ("PodSecurityContext", "SecurityContext")
        for name in ("fsGroup", "runAsGroup", "runAsUser")
    },
    **{("ResourceRequirements", name): check_amounts for name in ("limits", "requests")},
    **{(kind, "resources"): check_requests for kind in ("Container", "PodSpec")},
    ("EnvVar", "name"): _env_name,
    **{(kind, "image"): _image for kind in ("Container", "EphemeralContainer")},
    ("VolumeMount", "mountPath"): _mount_path,
    ("VolumeDevice", "devicePath"): _mount_path,
    ("VolumeMount", "subPath"): _sub_path,
    ("VolumeMount", "subPathExpr"): _sub_path,
}


def check_format(findings: Findings, type_name: str, field: str, node: Node, path: str) -> None:
    """Report what is wrong with the form of a field's value; wrong types are reported elsewhere."""
    check = _FORMATS.get((type_name, field))
    # Kubernetes takes an empty name of these for none.
    unset = type_name == "PodSpec" and _string(node) == ""
    if check is not None and not unset:
        check(findings, node, path)
