"""Pod Security Standards, by the namespace's label: what a level refuses, in the server's words. Pure.

Called by the registry before a Pod is stored. Levels ``baseline`` and ``restricted``, checks of the latest
version, as far as processes on this node can mean them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from moorage.core.kinds import Json
from moorage.embedded.registry.defaults import every_container

ENFORCE = "pod-security.kubernetes.io/enforce"
_DEFAULT_CAPABILITIES = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
_VOLUMES = frozenset(
    {
        "name",
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)


def violations(pod: Json, level: str) -> str:
    """What of ``pod`` the level refuses; "" when nothing."""
    if level not in ("baseline", "restricted"):
        return ""
    spec = pod["spec"]
    found = [*_baseline(spec, level)]
    if level == "restricted":
        found += _restricted(spec)
    return ", ".join(found)


def refused(pod: Json, namespace: Json) -> str:
    """The refusal of a Pod in ``namespace``; "" when its label allows it."""
    labels = namespace["metadata"].get("labels") or {}
    level = labels.get(ENFORCE, "")
    found = violations(pod, level)
    version = labels.get(f"{ENFORCE}-version", "latest")
    return f'violates PodSecurity "{level}:{version}": {found}' if found else ""


def _baseline(spec: Json, level: str) -> Iterator[str]:
    if level == "baseline":
        added = {}
        for container in every_container(spec):
            extra = set(_capabilities(container).get("add") or ()) - _DEFAULT_CAPABILITIES
            if extra:
                added[container["name"]] = extra
        if added:
            words = ", ".join(f'"{name}"' for name in sorted(set().union(*added.values())))
            text = f"{_named(added)} must not include {words} in securityContext.capabilities.add"
            yield f"non-default capabilities ({text})"
    shared = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    if shared:
        yield f"host namespaces ({', '.join(shared)})"
    if level == "baseline":
        paths = [volume["name"] for volume in spec.get("volumes") or () if "hostPath" in volume]
        if paths:
            yield f"hostPath volumes ({_volumes(paths)})"
    ports = {
        container["name"]: [port["hostPort"] for port in container.get("ports") or () if port.get("hostPort")]
        for container in every_container(spec)
    }
    taken = {name: found for name, found in ports.items() if found}
    if taken:
        numbers = sorted({port for found in taken.values() for port in found})
        word = "hostPort" if len(numbers) == 1 else "hostPorts"
        verb = "uses" if len(taken) == 1 else "use"
        yield f"hostPort ({_named(taken)} {verb} {word} {', '.join(map(str, numbers))})"
    privileged = _those(spec, lambda context: bool(context.get("privileged")))
    if privileged:
        yield f"privileged ({_named(privileged)} must not set securityContext.privileged=true)"


def _restricted(spec: Json) -> Iterator[str]:
    escalating = _those(spec, lambda context: context.get("allowPrivilegeEscalation") is not False)
    if escalating:
        text = "must set securityContext.allowPrivilegeEscalation=false"
        yield f"allowPrivilegeEscalation != false ({_named(escalating)} {text})"
    yield from _dropped(spec)
    typed = [
        (volume["name"], kind)
        for volume in spec.get("volumes") or ()
        for kind in volume
        if kind not in _VOLUMES
    ]
    if typed:
        names, kinds = [name for name, _ in typed], sorted({kind for _, kind in typed})
        words = ", ".join(f'"{kind}"' for kind in kinds)
        use = "uses" if len(names) == 1 else "use"
        word = "type" if len(kinds) == 1 else "types"
        yield f"restricted volume types ({_volumes(names)} {use} restricted volume {word} {words})"
    pod_context = spec.get("securityContext") or {}
    root = _those(
        spec, lambda context: not context.get("runAsNonRoot", pod_context.get("runAsNonRoot", False))
    )
    if root:
        yield f"runAsNonRoot != true (pod or {_named(root)} must set securityContext.runAsNonRoot=true)"
    zero = _those(spec, lambda context: context.get("runAsUser") == 0)
    if pod_context.get("runAsUser") == 0:
        yield "runAsUser=0 (pod must not set runAsUser=0)"
    elif zero:
        yield f"runAsUser=0 ({_named(zero)} must not set runAsUser=0)"
    allowed = ("RuntimeDefault", "Localhost")
    by_pod = (pod_context.get("seccompProfile") or {}).get("type")
    open_ = _those(
        spec, lambda context: (context.get("seccompProfile") or {}).get("type", by_pod) not in allowed
    )
    if open_:
        text = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        yield f"seccompProfile (pod or {_named(open_)} {text})"


def _dropped(spec: Json) -> Iterator[str]:
    keeping = [c["name"] for c in every_container(spec) if "ALL" not in (_capabilities(c).get("drop") or ())]
    adding = {
        c["name"]: set(_capabilities(c).get("add") or ()) - {"NET_BIND_SERVICE"}
        for c in every_container(spec)
    }
    adding = {name: extra for name, extra in adding.items() if extra}
    told = []
    if keeping:
        told.append(f'{_named(keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        words = ", ".join(f'"{name}"' for name in sorted(set().union(*adding.values())))
        told.append(f"{_named(adding)} must not include {words} in securityContext.capabilities.add")
    if told:
        yield f"unrestricted capabilities ({'; '.join(told)})"


def _capabilities(container: Json) -> Json:
    found: Json = (container.get("securityContext") or {}).get("capabilities") or {}
    return found


def _those(spec: Json, faulty: Callable[[Json], bool]) -> list[str]:
    return [c["name"] for c in every_container(spec) if faulty(c.get("securityContext") or {})]


def _named(names: Iterable[str]) -> str:
    quoted = [f'"{name}"' for name in names]
    return ("container " if len(quoted) == 1 else "containers ") + ", ".join(quoted)


def _volumes(names: list[str]) -> str:
    quoted = [f'"{name}"' for name in names]
    return ("volume " if len(quoted) == 1 else "volumes ") + ", ".join(quoted)
