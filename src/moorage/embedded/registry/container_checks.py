"""One container of a Pod, in the server's words. Pure; called by ``pod_checks``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from moorage.core.kinds import Json
from moorage.embedded.refusal import Fault
from moorage.embedded.registry.amounts import amount_of
from moorage.embedded.registry.meta import (
    bad,
    check_label,
    check_subdomain,
    forbidden_field,
    required,
    unsupported,
)

_PULL = ("Always", "IfNotPresent", "Never")
_MESSAGES = ("FallbackToLogsOnError", "File")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PORT_NAME = re.compile(r"[a-z0-9-]*")
_ENV_NAME = re.compile(r"[ -<>-~]+")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_FIELDS = re.compile(
    r"metadata\.(name|namespace|uid|(labels|annotations)(\['[^']+'\])?)|spec\.(nodeName|serviceAccountName)|"
    r"status\.(hostIPs?|podIPs?)"
)
_MOST = 2**31 - 1
Volumes = Mapping[str | None, Json]


def check_container(container: Json, path: str, volumes: Volumes, spec: Json, *, init: bool) -> list[Fault]:
    """Everything that is wrong with a defaulted container at ``path``."""
    faults = check_label(f"{path}.name", container.get("name") or "")
    image = container.get("image") or ""
    if not image.strip():
        faults.append(required(f"{path}.image"))
    elif image != image.strip() and not path.startswith("template."):
        faults.append(bad(f"{path}.image", image, "must not have leading or trailing whitespace"))
    faults += _lifecycle(container, path, init=init)
    if container["terminationMessagePolicy"] not in _MESSAGES:
        faults.append(
            unsupported(f"{path}.terminationMessagePolicy", container["terminationMessagePolicy"], _MESSAGES)
        )
    names: set[str] = set()
    for at, port in enumerate(container.get("ports") or ()):
        name = port.get("name") or ""
        if name and name in names:
            faults.append(Fault(f"{path}.ports[{at}].name", "Duplicate", f'Duplicate value: "{name}"'))
        names.add(name)
        faults += _port(port, f"{path}.ports[{at}]", host_network=bool(spec.get("hostNetwork")))
    for at, variable in enumerate(container.get("env") or ()):
        faults += _variable(variable, f"{path}.env[{at}]")
    for at, source in enumerate(container.get("envFrom") or ()):
        faults += _variables_from(source, f"{path}.envFrom[{at}]")
    faults += _mounts(container, path, volumes)
    if container["imagePullPolicy"] not in _PULL:
        faults.append(unsupported(f"{path}.imagePullPolicy", container["imagePullPolicy"], _PULL))
    faults += _resources(container["resources"], f"{path}.resources")
    faults += _security(container.get("securityContext") or {}, f"{path}.securityContext")
    policy = container.get("restartPolicy")
    if policy and policy not in ("Always", "Never", "OnFailure"):
        faults.append(unsupported(f"{path}.restartPolicy", policy, ("Always", "Never", "OnFailure")))
    return faults


def _lifecycle(container: Json, path: str, *, init: bool) -> Iterable[Fault]:
    sidecar = container.get("restartPolicy") == "Always"
    for name in ("postStart", "preStop"):
        handler = (container.get("lifecycle") or {}).get(name)
        if handler is not None:
            yield from _handler(handler, f"{path}.lifecycle.{name}")
    if init and not sidecar:
        for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(name) is not None:
                why = "may not be set for init containers without restartPolicy=Always"
                yield forbidden_field(f"{path}.{name}", why)
        return
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is not None:
            yield from _handler(probe, f"{path}.{name}")
            for field in (
                "initialDelaySeconds",
                "timeoutSeconds",
                "periodSeconds",
                "successThreshold",
                "failureThreshold",
            ):
                if probe.get(field, 0) < 0:
                    yield bad(f"{path}.{name}.{field}", probe[field], "must be greater than or equal to 0")
            if name != "readinessProbe" and probe.get("successThreshold", 1) != 1:
                yield bad(f"{path}.{name}.successThreshold", probe["successThreshold"], "must be 1")


def _handler(handler: Json, path: str) -> Iterable[Fault]:
    chosen = [name for name in _HANDLERS if handler.get(name) is not None]
    if not chosen:
        yield required(path, "must specify a handler type")
    for extra in chosen[1:]:
        yield forbidden_field(f"{path}.{extra}", "may not specify more than 1 handler type")
    if chosen[:1] == ["exec"] and not handler["exec"].get("command"):
        yield required(f"{path}.exec.command")
    if chosen and chosen[0] in ("httpGet", "tcpSocket", "grpc"):
        yield from port_or_name(handler[chosen[0]].get("port", 0), f"{path}.{chosen[0]}.port")


def port_or_name(port: Any, path: str) -> Iterable[Fault]:
    if isinstance(port, int) and not 1 <= port <= 65535:
        yield bad(path, port, "must be between 1 and 65535, inclusive")
    elif isinstance(port, str):
        yield from _port_name(port, path)


def _port_name(name: str, path: str) -> Iterable[Fault]:
    if len(name) > 15:
        yield bad(path, name, "must be no more than 15 characters")
    if not _PORT_NAME.fullmatch(name):
        yield bad(path, name, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in name.lower()):
        yield bad(path, name, "must contain at least one letter (a-z)")


def _port(port: Json, path: str, *, host_network: bool) -> Iterable[Fault]:
    if port.get("name"):
        yield from _port_name(port["name"], f"{path}.name")
    number = port.get("containerPort", 0)
    if not number:
        yield required(f"{path}.containerPort")
    elif not 1 <= number <= 65535:
        yield bad(f"{path}.containerPort", number, "must be between 1 and 65535, inclusive")
    host = port.get("hostPort", 0)
    if host and not 1 <= host <= 65535:
        yield bad(f"{path}.hostPort", host, "must be between 1 and 65535, inclusive")
    if port["protocol"] not in _PROTOCOLS:
        yield unsupported(f"{path}.protocol", port["protocol"], _PROTOCOLS)
    if host_network and host and host != number:
        yield bad(f"{path}.hostPort", host, "must match `containerPort` when `hostNetwork` is true")


def _variable(variable: Json, path: str) -> Iterable[Fault]:
    name = variable.get("name") or ""
    if not name:
        yield required(f"{path}.name")
    elif not _ENV_NAME.fullmatch(name):
        why = (
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
        )
        yield bad(f"{path}.name", name, why)
    source = variable.get("valueFrom")
    if source is None:
        return
    where = f"{path}.valueFrom"
    chosen = [field for field in _SOURCES if source.get(field) is not None]
    reference = source.get("fieldRef")
    if reference is not None and not _FIELDS.fullmatch(reference.get("fieldPath") or ""):
        given = reference.get("fieldPath") or ""
        if not given:
            yield required(f"{where}.fieldRef.fieldPath")
        else:
            why = f"error converting fieldPath: field label not supported: {given}"
            yield bad(f"{where}.fieldRef.fieldPath", given, why)
    for field in ("configMapKeyRef", "secretKeyRef"):
        if source.get(field) is not None and not source[field].get("key"):
            yield required(f"{where}.{field}.key")
    if not chosen:
        listed = ", ".join(f"`{field}`" for field in _SOURCES[:-1]) + f" or `{_SOURCES[-1]}`"
        yield bad(where, "", f"must specify one of: {listed}")
    elif variable.get("value"):
        yield bad(where, "", "may not be specified when `value` is not empty")
    elif len(chosen) > 1:
        yield bad(where, "", "may not have more than one field specified at a time")


def _variables_from(source: Json, path: str) -> Iterable[Fault]:
    chosen = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
    if not chosen:
        yield bad(path, "", "must specify one of: `configMapRef` or `secretRef`")
    if len(chosen) > 1:
        yield bad(path, "", "may not have more than one field specified at a time")
    for name in chosen:
        if not source[name].get("name"):
            yield required(f"{path}.{name}.name")


def _mounts(container: Json, path: str, volumes: Volumes) -> Iterable[Fault]:
    seen: set[str] = set()
    for at, mount in enumerate(container.get("volumeMounts") or ()):
        where, name = f"{path}.volumeMounts[{at}]", mount.get("name") or ""
        if not name:
            yield required(f"{where}.name")
        elif name not in volumes:
            yield Fault(f"{where}.name", "NotFound", f'Not found: "{name}"')
        target = mount.get("mountPath") or ""
        if not target:
            yield required(f"{where}.mountPath")
        elif target in seen:
            yield bad(f"{where}.mountPath", target, "must be unique")
        seen.add(target)
        sub = mount.get("subPath") or ""
        if sub.startswith("/"):
            yield bad(f"{where}.subPath", sub, "must be a relative path")
        if ".." in sub.split("/"):
            yield bad(f"{where}.subPath", sub, "must not contain '..'")
        given = mount.get("mountPropagation")
        if given and given not in ("Bidirectional", "HostToContainer", "None"):
            modes = ("Bidirectional", "HostToContainer", "None")
            yield unsupported(f"{where}.mountPropagation", given, modes)
    for at, device in enumerate(container.get("volumeDevices") or ()):
        where = f"{path}.volumeDevices[{at}]"
        if not device.get("devicePath"):
            yield required(f"{where}.devicePath")
        name = device.get("name") or ""
        volume = volumes.get(name) or {}
        if "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            if name in volumes:
                why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
                yield bad(f"{where}.name", name, why)
            else:
                yield Fault(f"{where}.name", "NotFound", f'Not found: "{name}"')


_STANDARD = ("cpu", "memory", "ephemeral-storage")


def _resources(resources: Json, path: str) -> Iterable[Fault]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            where = f"{path}.{part}[{name}]"
            if name not in _STANDARD and "/" not in name and not name.startswith("hugepages-"):
                yield bad(where, name, "must be a standard resource type or fully qualified")
                yield bad(where, name, "must be a standard resource for containers")
            elif "/" in name:
                yield from check_subdomain(where, name.partition("/")[0])
            if amount_of(amount) < 0:
                yield bad(where, amount, "must be greater than or equal to 0")
    for name in requests:
        if "/" in name and name not in limits and not name.partition("/")[0].endswith("kubernetes.io"):
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    for name, amount in requests.items():
        if name in limits and amount_of(amount) > amount_of(limits[name]):
            why = f"must be less than or equal to {name} limit of {limits[name]}"
            yield bad(f"{path}.requests", amount, why)


def _security(context: Json, path: str) -> Iterable[Fault]:
    for name in ("runAsUser", "runAsGroup"):
        if context.get(name) is not None and not 0 <= context[name] <= _MOST:
            yield bad(f"{path}.{name}", context[name], f"must be between 0 and {_MOST}, inclusive")
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield bad(path, context, why)
        added = (context.get("capabilities") or {}).get("add") or ()
        if any(name.upper() in ("SYS_ADMIN", "CAP_SYS_ADMIN") for name in added):
            why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield bad(path, context, why)
    kind = (context.get("seccompProfile") or {}).get("type")
    if context.get("seccompProfile") is not None and kind not in (
        "Localhost",
        "RuntimeDefault",
        "Unconfined",
    ):
        allowed = ("Localhost", "RuntimeDefault", "Unconfined")
        yield unsupported(f"{path}.seccompProfile.type", kind or "", allowed)
