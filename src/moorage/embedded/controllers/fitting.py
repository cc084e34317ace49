"""Does a Pod fit on a node, and why not: the scheduler's filters and their words. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from moorage.core.kinds import Json
from moorage.embedded.registry.amounts import amount_of

_SELECTOR = "node(s) didn't match Pod's node affinity/selector"


def misfit(pod: Json, node: Json, others: Iterable[Json]) -> list[str]:
    """Why not, in the scheduler's words; empty when it fits. ``others``: Pods that are there already."""
    spec = pod["spec"]
    if (node.get("spec") or {}).get("unschedulable") and not _tolerates(spec, _UNSCHEDULABLE):
        return ["node(s) were unschedulable"]
    if not _selected(spec, node):
        return [_SELECTOR]
    taints = (node.get("spec") or {}).get("taints") or ()
    if any(t.get("effect") in ("NoSchedule", "NoExecute") and not _tolerates(spec, t) for t in taints):
        return ["node(s) had untolerated taint(s)"]
    others = list(others)
    taken = {port for other in others for port in _host_ports(other["spec"])}
    if any(port in taken for port in _host_ports(spec)):
        return ["node(s) didn't have free ports for the requested pod ports"]
    return list(_lacking(pod, node, others))


_UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def _host_ports(spec: Json) -> list[tuple[int, str]]:
    return [
        (port["hostPort"], port.get("protocol", "TCP"))
        for container in spec.get("containers") or ()
        for port in container.get("ports") or ()
        if port.get("hostPort")
    ]


def _lacking(pod: Json, node: Json, others: list[Json]) -> Iterable[str]:
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    if "pods" in allocatable and len(others) + 1 > amount_of(allocatable["pods"]):
        yield "Too many pods"
    for name, wanted in requests(pod["spec"]).items():
        if not wanted:
            continue
        taken = sum((requests(other["spec"]).get(name, Fraction(0)) for other in others), Fraction(0))
        if taken + wanted > amount_of(allocatable.get(name)):
            yield f"Insufficient {name}"


def requests(spec: Json) -> dict[str, Fraction]:
    """What a Pod asks for in all: its containers and sidecars together, or its largest init container."""
    total: dict[str, Fraction] = {}
    largest: dict[str, Fraction] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        asked = (container.get("resources") or {}).get("requests") or {}
        once = container in (spec.get("initContainers") or ()) and container.get("restartPolicy") != "Always"
        for name, text in asked.items():
            amount = amount_of(text)
            if once:
                largest[name] = max(largest.get(name, Fraction(0)), amount)
            else:
                total[name] = total.get(name, Fraction(0)) + amount
    for name, text in (spec.get("overhead") or {}).items():
        total[name] = total.get(name, Fraction(0)) + amount_of(text)
    return {
        name: max(total.get(name, Fraction(0)), largest.get(name, Fraction(0))) for name in total | largest
    }


def _selected(spec: Json, node: Json) -> bool:
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(name) != value for name, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = (required or {}).get("nodeSelectorTerms") or ()
    fields = {"metadata.name": node["metadata"]["name"]}
    return not required or any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and all(_fits(rule, labels) for rule in term.get("matchExpressions") or ())
        and all(_fits(rule, fields) for rule in term.get("matchFields") or ())
        for term in terms
    )


def _fits(rule: Json, labels: Json) -> bool:
    found, values = labels.get(str(rule.get("key"))), rule.get("values") or ()
    match rule.get("operator"):
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case "Gt" | "Lt" as operator:
            if found is None or not found.lstrip("-").isdecimal() or not values:
                return False
            return int(found) > int(values[0]) if operator == "Gt" else int(found) < int(values[0])
    return False


def _tolerates(spec: Json, taint: Json) -> bool:
    for toleration in spec.get("tolerations") or ():
        if toleration.get("effect") not in (None, "", taint.get("effect")):
            continue
        if toleration.get("operator") == "Exists":
            if toleration.get("key") in (None, "", taint.get("key")):
                return True
        elif (toleration.get("key"), toleration.get("value") or "") == (
            taint.get("key"),
            taint.get("value") or "",
        ):
            return True
    return False
