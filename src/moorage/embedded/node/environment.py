"""A container's variables, command and references to other objects, as a kubelet resolves them. Called by
``node.runtime.spec`` and ``node.volumes``.

Pure but for the lookups that are handed in. Nothing of the host's environment comes in here.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from moorage.core.kinds import Json
from moorage.core.quantities import parse_quantity
from moorage.embedded.node.capacity import host_capacity

Lookup = Callable[[str, str], Json | None]
"""``("ConfigMap" | "Secret", name)`` → the object of the Pod's namespace, or None."""

_REFERENCE = re.compile(r"\$(\$|\(([-._a-zA-Z0-9]+)\))")
_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
NODE_IP = "127.0.0.1"


class ConfigMissing(Exception):
    """Something the Pod refers to does not exist (yet); the message is the kubelet's."""


def expand(text: str, env: Mapping[str, str]) -> str:
    """``$(NAME)`` → its value; unknown names stay, ``$$`` is ``$``."""

    def value(match: re.Match[str]) -> str:
        name = match[2]
        return "$" if name is None else env.get(name, match[0])

    return _REFERENCE.sub(value, text)


def container_env(pod: Json, container: Json, lookup: Lookup, image_env: Mapping[str, str]) -> dict[str, str]:
    """All variables of a container but those the runtime adds. Raises ConfigMissing."""
    env = dict(image_env)
    for source in container.get("envFrom") or []:
        env.update(_from_source(source, lookup))
    for variable in container.get("env") or []:
        value = _value(pod, container, variable, lookup, env)
        if value is not None:
            env[variable["name"]] = value
    return env


def _from_source(source: Json, lookup: Lookup) -> dict[str, str]:
    prefix = source.get("prefix") or ""
    kind, reference = ("ConfigMap", source.get("configMapRef")) if "configMapRef" in source else (
        "Secret", source.get("secretRef"))  # fmt: skip
    data = payload(kind, reference or {}, lookup)
    return {
        prefix + key: value.decode(errors="replace")
        for key, value in data.items()
        if _NAME.fullmatch(prefix + key)
    }


def payload(kind: str, reference: Json, lookup: Lookup) -> dict[str, bytes]:
    """The bytes of a ConfigMap or Secret by key; {} for an optional one that is absent. Raises
    ConfigMissing.
    """
    name = reference.get("name") or ""
    found = lookup(kind, name)
    if found is None:
        if reference.get("optional"):
            return {}
        raise ConfigMissing(f'{kind.lower()} "{name}" not found')
    data = {key: base64.b64decode(value) for key, value in (found.get("binaryData") or {}).items()}
    for key, value in (found.get("data") or {}).items():
        data[key] = base64.b64decode(value) if kind == "Secret" else value.encode()
    return data


def _value(pod: Json, container: Json, variable: Json, lookup: Lookup, env: Mapping[str, str]) -> str | None:
    source = variable.get("valueFrom")
    if not source:
        return expand(variable.get("value") or "", env)
    if "fieldRef" in source:
        return field_value(pod, source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        return resource_value(pod, source["resourceFieldRef"], container)
    kind, reference = ("ConfigMap", source.get("configMapKeyRef")) if "configMapKeyRef" in source else (
        "Secret", source.get("secretKeyRef"))  # fmt: skip
    reference = reference or {}
    data = payload(kind, reference, lookup)
    if reference.get("key") in data:
        return data[reference["key"]].decode(errors="replace")
    if reference.get("optional"):
        return None
    place = f"{pod['metadata'].get('namespace')}/{reference.get('name')}"
    raise ConfigMissing(f"couldn't find key {reference.get('key')} in {kind} {place}")


def field_value(pod: Json, path: str) -> str:
    """A field of the downward API, as text."""
    metadata, spec = pod["metadata"], pod["spec"]
    match = re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", path)
    if match is not None:
        return str((metadata.get(match[1]) or {}).get(match[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        words = metadata.get(path.split(".")[1]) or {}
        return "\n".join(f'{key}="{_quoted(value)}"' for key, value in sorted(words.items()))
    values: dict[str, Any] = {
        "metadata.name": metadata.get("name"),
        "metadata.namespace": metadata.get("namespace"),
        "metadata.uid": metadata.get("uid"),
        "spec.nodeName": spec.get("nodeName"),
        "spec.serviceAccountName": spec.get("serviceAccountName") or "default",
        "status.hostIP": NODE_IP,
        "status.hostIPs": NODE_IP,
        "status.podIP": NODE_IP,
        "status.podIPs": NODE_IP,
    }
    return str(values.get(path) or "")


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resource_value(pod: Json, reference: Json, container: Json | None = None) -> str:
    """A request or limit, rounded up to the divisor."""
    name = reference.get("containerName")
    if name:
        container = next((each for each in pod["spec"]["containers"] if each["name"] == name), container)
    part, _, resource = reference["resource"].partition(".")
    resources = (container or {}).get("resources") or {}
    amount = (resources.get(part) or {}).get(resource)
    if amount is None and part == "limits":
        amount = host_capacity().get(resource)  # a container without a limit may use the node's
    value = parse_quantity(str(amount)) if amount is not None else None
    divisor = parse_quantity(str(reference.get("divisor") or "1"))
    return str(math.ceil((value or 0) / (divisor or 1)))


def argv(
    container: Json, entrypoint: tuple[str, ...], command: tuple[str, ...], env: Mapping[str, str]
) -> list[str]:
    """Command and arguments: those of the container before those of the image."""
    own, args = container.get("command") or [], container.get("args") or []
    words = [*own, *args] if own else [*entrypoint, *(args or command)]
    return [expand(word, env) for word in words]
