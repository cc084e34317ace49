"""Is a Pod one the server would take? Field by field, in the server's words. Pure.

Called by ``checks`` after defaulting, also for the ``template`` of a PodTemplate. Types were checked by
``fields``.
"""

from __future__ import annotations

from collections.abc import Iterable

from moorage.core.kinds import Json
from moorage.core.template import schema
from moorage.embedded.refusal import Fault
from moorage.embedded.registry.container_checks import check_container
from moorage.embedded.registry.meta import (
    bad,
    check_key,
    check_label,
    check_labels,
    check_subdomain,
    forbidden_field,
    required,
    unsupported,
)

_RESTART = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MOST = 2**31 - 1
_MODE_TEXT = "must be a number between 0 and 0777 (octal), both inclusive"


def check_pod_spec(spec: Json, path: str) -> list[Fault]:
    """Everything that is wrong with a defaulted PodSpec at ``path``."""
    faults = _volumes(spec, path)
    volumes = {
        volume.get("name"): volume
        for at, volume in enumerate(spec.get("volumes") or ())
        if not any(fault.field.startswith(f"{path}.volumes[{at}]") for fault in faults)
    }
    names: set[str] = set()
    if not spec.get("containers"):
        faults.append(required(f"{path}.containers"))
    for part in ("containers", "initContainers"):
        for at, container in enumerate(spec.get(part) or ()):
            where = f"{path}.{part}[{at}]"
            name = container.get("name") or ""
            if name and name in names:
                faults.append(Fault(f"{where}.name", "Duplicate", f'Duplicate value: "{name}"'))
            names.add(name)
            faults += check_container(container, where, volumes, spec, init=part == "initContainers")
    faults += _plain(spec, path)
    faults += _scheduling(spec, path)
    return faults


def _plain(spec: Json, path: str) -> Iterable[Fault]:
    if spec["restartPolicy"] not in _RESTART:
        yield unsupported(f"{path}.restartPolicy", spec["restartPolicy"], _RESTART)
    if spec["dnsPolicy"] not in _DNS:
        yield unsupported(f"{path}.dnsPolicy", spec["dnsPolicy"], _DNS)
    for key, value in (spec.get("nodeSelector") or {}).items():
        yield from check_labels(f"{path}.nodeSelector", {key: value})
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MOST:
        yield bad(f"{path}.activeDeadlineSeconds", deadline, f"must be between 1 and {_MOST}, inclusive")
    for name in ("serviceAccountName", "nodeName", "runtimeClassName", "priorityClassName"):
        if spec.get(name):
            yield from check_subdomain(f"{path}.{name}", spec[name])
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            yield from check_label(f"{path}.{name}", spec[name])
    security = spec.get("securityContext") or {}
    for name in ("runAsUser", "runAsGroup", "fsGroup"):
        if security.get(name) is not None and not 0 <= security[name] <= _MOST:
            why = f"must be between 0 and {_MOST}, inclusive"
            yield bad(f"{path}.securityContext.{name}", security[name], why)
    for at, setting in enumerate(security.get("sysctls") or ()):
        if not setting.get("name"):
            yield required(f"{path}.securityContext.sysctls[{at}].name")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield bad(f"{path}.securityContext.shareProcessNamespace", True, why)
    if (spec.get("os") or {}).get("name", "linux") not in ("linux", "windows"):
        yield unsupported(f"{path}.os.name", spec["os"].get("name"), ("linux", "windows"))
    for at, alias in enumerate(spec.get("hostAliases") or ()):
        for text in alias.get("hostnames") or ():
            yield from check_subdomain(f"{path}.hostAliases[{at}].hostnames", text)


def _volumes(spec: Json, path: str) -> list[Fault]:
    faults: list[Fault] = []
    seen: set[str] = set()
    for at, volume in enumerate(spec.get("volumes") or ()):
        where, name = f"{path}.volumes[{at}]", volume.get("name") or ""
        sources = [field for field in schema.fields("Volume") if field != "name" and field in volume]
        # The order in which the server looks at sources is its own; emptyDir and hostPath come first.
        sources.sort(key=lambda field: (field != "emptyDir", field != "hostPath"))
        for extra in sources[1:]:
            faults.append(forbidden_field(f"{where}.{extra}", "may not specify more than 1 volume type"))
        faults += [*check_label(f"{where}.name", name), *_source(volume, where)]
        if name and name in seen:
            faults.append(Fault(f"{where}.name", "Duplicate", f'Duplicate value: "{name}"'))
        if not any(fault.field.startswith(where) for fault in faults):
            seen.add(name)  # the name of a faulty volume is not looked at further
    return faults


def _source(volume: Json, where: str) -> Iterable[Fault]:
    claim = volume.get("persistentVolumeClaim")
    if claim is not None and not claim.get("claimName"):
        yield required(f"{where}.persistentVolumeClaim.claimName")
    if "configMap" in volume and not volume["configMap"].get("name"):
        yield required(f"{where}.configMap.name")
    if "secret" in volume and not volume["secret"].get("secretName"):
        yield required(f"{where}.secret.secretName")
    if "hostPath" in volume:
        path = volume["hostPath"].get("path") or ""
        if not path:
            yield required(f"{where}.hostPath.path")
        elif ".." in path.split("/"):
            yield bad(f"{where}.hostPath.path", path, "must not contain '..'")
    for name in ("configMap", "secret", "downwardAPI", "projected"):
        mode = (volume.get(name) or {}).get("defaultMode")
        if mode is not None and not 0 <= mode <= 0o777:
            yield bad(f"{where}.{name}.defaultMode", mode, _MODE_TEXT)
    limit = (volume.get("emptyDir") or {}).get("sizeLimit")
    if limit and str(limit).startswith("-"):
        yield forbidden_field(
            f"{where}.emptyDir.sizeLimit", "SizeLimit field must be a valid resource quantity"
        )
    for kind, key in (("configMap", "items"), ("secret", "items")):
        for at, item in enumerate((volume.get(kind) or {}).get(key) or ()):
            for field in ("key", "path"):
                if not item.get(field):
                    yield required(f"{where}.{kind}.items[{at}].{field}")
            if ".." in (item.get("path") or "").split("/"):
                yield bad(f"{where}.{kind}.items[{at}].path", item["path"], "must not contain '..'")


def _scheduling(spec: Json, path: str) -> Iterable[Fault]:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    wanted = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if wanted is not None:
        where = (
            f"{path}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        )
        if not wanted.get("nodeSelectorTerms"):
            yield required(where, "must have at least one node selector term")
        for at, term in enumerate(wanted.get("nodeSelectorTerms") or ()):
            for number, rule in enumerate(term.get("matchExpressions") or ()):
                yield from _requirement(rule, f"{where}[{at}].matchExpressions[{number}]")
    for at, toleration in enumerate(spec.get("tolerations") or ()):
        where = f"{path}.tolerations[{at}]"
        if toleration.get("key"):
            yield from check_key(f"{where}.key", toleration["key"])
        operator = toleration.get("operator") or "Equal"
        if not toleration.get("key") and operator != "Exists":
            why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield bad(f"{where}.operator", toleration.get("operator") or "", why)
        if toleration.get("tolerationSeconds") is not None and toleration.get("effect") != "NoExecute":
            why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield bad(f"{where}.effect", toleration.get("effect") or "", why)
        if operator not in ("Equal", "Exists"):
            yield unsupported(f"{where}.operator", operator, ("Equal", "Exists"))
        if operator == "Exists" and toleration.get("value"):
            yield bad(f"{where}.operator", toleration, "value must be empty when `operator` is 'Exists'")
        effect = toleration.get("effect")
        if effect and effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            yield unsupported(f"{where}.effect", effect, ("NoSchedule", "PreferNoSchedule", "NoExecute"))
    for at, gate in enumerate(spec.get("schedulingGates") or ()):
        yield from check_key(f"{path}.schedulingGates[{at}]", gate.get("name") or "")
    for at, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        where = f"{path}.topologySpreadConstraints[{at}]"
        if constraint.get("maxSkew", 0) <= 0:
            yield bad(f"{where}.maxSkew", constraint.get("maxSkew", 0), "must be greater than zero")
        if not constraint.get("topologyKey"):
            yield required(f"{where}.topologyKey", "can not be empty")
        if constraint.get("whenUnsatisfiable") not in ("DoNotSchedule", "ScheduleAnyway"):
            given = constraint.get("whenUnsatisfiable") or ""
            yield unsupported(f"{where}.whenUnsatisfiable", given, ("DoNotSchedule", "ScheduleAnyway"))


_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


def _requirement(rule: Json, where: str) -> Iterable[Fault]:
    operator = rule.get("operator") or ""
    if operator in ("In", "NotIn") and not rule.get("values"):
        yield required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator not in _OPERATORS:
        yield bad(f"{where}.operator", operator, "not a valid selector operator")
    yield from check_key(f"{where}.key", rule.get("key") or "")
