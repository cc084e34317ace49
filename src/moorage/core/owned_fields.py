"""The closed list of fields that are ours, and the comparison of an admitted object with the one we sent.

Called by ``engine`` after every create and by ``core.ownership`` before an adoption. A difference in a
field of this list means another hand changed what the session stands on. Everything else that admission
does (sidecars, defaults, digests, limits) is none of this module's business.

Both sides are read through the same rules, each giving a normal form in which what the API server fills in
or rewrites by itself does not show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from moorage.core import owned
from moorage.core.kinds import Json
from moorage.core.quantities import parse_quantity


@dataclass(frozen=True)
class FieldConflict:
    """One owned field that is not what we sent. ``field``: its path, containers by name."""

    field: str
    expected: Any
    found: Any


@dataclass(frozen=True)
class _Context:
    """What the rules need to know from the object we sent."""

    main: str
    claim: str
    helper_pinned: bool


_PodRule: TypeAlias = Callable[[Json, _Context], Any]
_LABELS = (*owned.IDENTITY_LABELS, owned.MANAGED_BY_LABEL)


def pod_conflicts(expected: Json, admitted: Json) -> tuple[FieldConflict, ...]:
    """Owned fields in which the admitted Pod differs from ``expected`` (what ``session_pod`` built)."""
    helper_image = str(_named(expected, "initContainers", owned.HELPER_CONTAINER).get("image"))
    context = _Context(_main_name(expected), _claim_name(expected), "@" in helper_image)
    return tuple(
        FieldConflict(name.replace("MAIN", context.main), ours, theirs)
        for name, rule in POD_FIELDS.items()
        if (ours := rule(expected, context)) != (theirs := rule(admitted, context))
    )


def claim_conflicts(expected: Json, admitted: Json) -> tuple[FieldConflict, ...]:
    """Owned fields in which the admitted claim differs from ``expected`` (what ``session_claim`` built)."""
    conflicts = [
        FieldConflict(name, ours, theirs)
        for name, rule in CLAIM_FIELDS.items()
        if (ours := rule(expected)) != (theirs := rule(admitted))
    ]
    wanted = _spec(expected).get("storageClassName")
    given = _spec(admitted).get("storageClassName")
    # Without a class of ours the cluster's default is filled in.
    if wanted is not None and wanted != given:
        conflicts.append(FieldConflict("spec.storageClassName", wanted, given))
    origin = _data_source(expected)
    # Without it the volume would be empty, and that a clone; one that somebody adds fills nothing of ours.
    if origin is not None and origin != (found := _data_source(admitted)):
        conflicts.append(FieldConflict("spec.dataSource", origin, found))
    return tuple(conflicts)


def _data_source(claim: Json) -> tuple[str, str] | None:
    """Kind and name of what a volume is made from; the API server writes it into both fields."""
    spec = _spec(claim)
    origin = spec.get("dataSource") or spec.get("dataSourceRef")
    return (str(origin.get("kind")), str(origin.get("name"))) if origin else None


def _spec(obj: Json) -> Json:
    spec: Json = obj.get("spec") or {}
    return spec


def _metadata(obj: Json) -> Json:
    metadata: Json = obj.get("metadata") or {}
    return metadata


def _label(key: str) -> Callable[[Json], Any]:
    return lambda obj: (_metadata(obj).get("labels") or {}).get(key)


def _nonce(obj: Json) -> Any:
    return (_metadata(obj).get("annotations") or {}).get(owned.NONCE_ANNOTATION)


def _containers(pod: Json, *kinds: str) -> Iterator[tuple[str, Json]]:
    """(``kind[name]``, container) of the given lists, or of all three."""
    for kind in kinds or ("initContainers", "containers", "ephemeralContainers"):
        for container in _spec(pod).get(kind) or []:
            yield f"{kind}[{container.get('name')}]", container


def _named(pod: Json, kind: str, name: str) -> Json:
    return next((c for label, c in _containers(pod, kind) if label == f"{kind}[{name}]"), {})


def _main_name(expected: Json) -> str:
    for _, container in _containers(expected, "containers"):
        if any(m.get("name") == owned.RUN_VOLUME for m in container.get("volumeMounts") or []):
            return str(container.get("name"))
    return owned.MAIN_CONTAINER


def _claim_name(expected: Json) -> str:
    for volume in _spec(expected).get("volumes") or []:
        if volume.get("name") == owned.WORKSPACE_VOLUME:
            return str((volume.get("persistentVolumeClaim") or {}).get("claimName") or "")
    return ""


def _amount(quantity: Any) -> Any:
    amount = parse_quantity(quantity) if isinstance(quantity, str) else None
    return quantity if amount is None else amount


def _volume_source(volume: Json) -> Json:
    source = {key: value for key, value in volume.items() if key != "name" and value is not None}
    if isinstance(source.get("emptyDir"), dict):
        empty = {key: value for key, value in source["emptyDir"].items() if value}
        if "sizeLimit" in empty:
            empty["sizeLimit"] = _amount(empty["sizeLimit"])
        source["emptyDir"] = empty
    if isinstance(source.get("persistentVolumeClaim"), dict):
        claim = source["persistentVolumeClaim"]
        source["persistentVolumeClaim"] = {key: value for key, value in claim.items() if value}
    return source


def _our_volumes(pod: Json, context: _Context) -> Any:
    volumes = _spec(pod).get("volumes") or []
    return {
        v.get("name"): _volume_source(v)
        for v in volumes
        if str(v.get("name")).startswith(owned.RESERVED_PREFIX)
    }


def _claim_elsewhere(pod: Json, context: _Context) -> Any:
    """Other volumes over the workspace's claim: a grant by another name."""
    return sorted(
        str(volume.get("name"))
        for volume in _spec(pod).get("volumes") or []
        if context.claim
        and volume.get("name") != owned.WORKSPACE_VOLUME
        and (volume.get("persistentVolumeClaim") or {}).get("claimName") == context.claim
    )


def _mount(mount: Json) -> tuple[tuple[str, Any], ...]:
    plain = {key: value for key, value in mount.items() if value not in (None, "", False)}
    if plain.get("mountPropagation") == "None":
        del plain["mountPropagation"]
    if plain.get("recursiveReadOnly") == "Disabled":
        del plain["recursiveReadOnly"]
    return tuple(sorted(plain.items()))


def _is_our_path(path: Any) -> bool:
    text = "/" + str(path).strip("/")
    return any(text == ours or text.startswith(ours + "/") for ours in owned.OWNED_PATHS)


def _is_our_volume(mount: Json) -> bool:
    return str(mount.get("name")).startswith(owned.RESERVED_PREFIX)


def _main_mounts(pod: Json, context: _Context) -> Any:
    main = _named(pod, "containers", context.main)
    mounts = main.get("volumeMounts") or []
    return sorted(_mount(m) for m in mounts if _is_our_volume(m) or _is_our_path(m.get("mountPath")))


def _main_env(pod: Json, context: _Context) -> Any:
    return [
        _env(variable)
        for variable in _named(pod, "containers", context.main).get("env") or []
        if str(variable.get("name")).startswith(owned.ENV_PREFIXES)
    ]


def _env(variable: Json) -> Json:
    source = variable.get("valueFrom") or {}
    if not source.get("fieldRef"):
        return {key: value for key, value in variable.items() if value not in (None, "")}
    field_ref = {"apiVersion": "v1", **source["fieldRef"]}
    return {**variable, "valueFrom": {**source, "fieldRef": field_ref}}


def _main_field(name: str, empty: Any) -> _PodRule:
    return lambda pod, context: _named(pod, "containers", context.main).get(name) or empty


def _helper(pod: Json, context: _Context) -> Any:
    kept = [
        c for label, c in _containers(pod, "initContainers") if label.endswith(f"[{owned.HELPER_CONTAINER}]")
    ]
    return [
        {
            # A webhook may take a pinned image from a mirror (never other bytes than those of the digest),
            # and may pin one that we named by its tag.
            "image": str(c.get("image")).partition("@")[2 if context.helper_pinned else 0],
            "command": c.get("command") or [],
            "args": c.get("args") or [],
            "workingDir": c.get("workingDir") or "",
            "restartPolicy": c.get("restartPolicy") or "",
            "volumeMounts": sorted(_mount(m) for m in c.get("volumeMounts") or [] if _is_our_volume(m)),
        }
        for c in kept
    ]


def _our_containers(pod: Json, context: _Context) -> Any:
    return sorted(
        label
        for label, container in _containers(pod)
        if str(container.get("name")).startswith(owned.RESERVED_PREFIX)
    )


def _others(pod: Json, context: _Context) -> Iterator[tuple[str, Json]]:
    ours = (f"containers[{context.main}]", f"initContainers[{owned.HELPER_CONTAINER}]")
    return ((label, container) for label, container in _containers(pod) if label not in ours)


def _grants(pod: Json, context: _Context) -> Any:
    return sorted(
        (label, _mount(mount))
        for label, container in _others(pod, context)
        for mount in container.get("volumeMounts") or []
        if mount.get("name") == owned.WORKSPACE_VOLUME
    )


def _runtime_mounts(pod: Json, context: _Context) -> Any:
    return sorted(
        (label, _mount(mount))
        for label, container in _others(pod, context)
        for mount in container.get("volumeMounts") or []
        if _is_our_volume(mount) and mount.get("name") != owned.WORKSPACE_VOLUME
    )


def _our_devices(pod: Json, context: _Context) -> Any:
    return sorted(
        (label, _mount(device))
        for label, container in _containers(pod)
        for device in container.get("volumeDevices") or []
        if _is_our_volume(device)
    )


def _always(rule: Callable[[Json], Any]) -> _PodRule:
    return lambda pod, context: rule(pod)


def _spec_field(name: str, default: Any) -> _PodRule:
    def read(pod: Json, context: _Context) -> Any:
        value = _spec(pod).get(name)
        return default if value is None else value

    return read


def _selector(key: str) -> _PodRule:
    return lambda pod, context: (_spec(pod).get("nodeSelector") or {}).get(key)


POD_FIELDS: dict[str, _PodRule] = {
    "metadata.name": _always(lambda pod: _metadata(pod).get("name")),
    "metadata.namespace": _always(lambda pod: _metadata(pod).get("namespace")),
    **{f"metadata.labels[{key}]": _always(_label(key)) for key in _LABELS},
    f"metadata.annotations[{owned.NONCE_ANNOTATION}]": _always(_nonce),
    "spec.restartPolicy": _spec_field("restartPolicy", "Always"),
    f"spec.nodeSelector[{owned.OS_SELECTOR}]": _selector(owned.OS_SELECTOR),
    f"spec.nodeSelector[{owned.ARCH_SELECTOR}]": _selector(owned.ARCH_SELECTOR),
    "spec.automountServiceAccountToken": _spec_field("automountServiceAccountToken", True),
    "spec.hostNetwork": _spec_field("hostNetwork", False),
    "spec.hostPID": _spec_field("hostPID", False),
    "spec.hostIPC": _spec_field("hostIPC", False),
    "spec.shareProcessNamespace": _spec_field("shareProcessNamespace", False),
    f"spec.volumes[{owned.RESERVED_PREFIX}*]": _our_volumes,
    "spec.volumes[*].persistentVolumeClaim.claimName": _claim_elsewhere,
    "spec.containers[MAIN].command": _main_field("command", []),
    "spec.containers[MAIN].args": _main_field("args", []),
    "spec.containers[MAIN].workingDir": _main_field("workingDir", ""),
    "spec.containers[MAIN].env": _main_env,
    "spec.containers[MAIN].volumeMounts": _main_mounts,
    f"spec.*[{owned.RESERVED_PREFIX}*]": _our_containers,
    f"spec.initContainers[{owned.HELPER_CONTAINER}]": _helper,
    f"spec.*[*].volumeMounts[{owned.WORKSPACE_VOLUME}]": _grants,
    f"spec.*[*].volumeMounts[{owned.OPT_VOLUME}|{owned.RUN_VOLUME}]": _runtime_mounts,
    f"spec.*[*].volumeDevices[{owned.RESERVED_PREFIX}*]": _our_devices,
}
"""The closed list: path → the field in normal form. ``MAIN`` stands for the main container's name."""

CLAIM_FIELDS: dict[str, Callable[[Json], Any]] = {
    "metadata.name": lambda claim: _metadata(claim).get("name"),
    "metadata.namespace": lambda claim: _metadata(claim).get("namespace"),
    **{f"metadata.labels[{key}]": _label(key) for key in _LABELS},
    f"metadata.annotations[{owned.NONCE_ANNOTATION}]": _nonce,
    # An owner would let garbage collection delete a workspace.
    "metadata.ownerReferences": lambda claim: _metadata(claim).get("ownerReferences") or [],
    "spec.accessModes": lambda claim: sorted(_spec(claim).get("accessModes") or []),
    "spec.volumeMode": lambda claim: _spec(claim).get("volumeMode") or "Filesystem",
    "spec.resources.requests.storage": lambda claim: _amount(
        ((_spec(claim).get("resources") or {}).get("requests") or {}).get("storage")
    ),
}
"""The closed list for claims; ``spec.storageClassName`` and ``spec.dataSource`` join where we named them."""

IDENTITY_FIELDS: frozenset[str] = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        *(f"metadata.labels[{key}]" for key in _LABELS),
        f"metadata.annotations[{owned.NONCE_ANNOTATION}]",
    }
)
"""Where one of these is not what we sent, nothing proves any more that the object is the one we sent."""
