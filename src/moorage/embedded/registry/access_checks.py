"""What makes roles, bindings and network policies invalid, in the server's words. Pure.

Called by ``checks``, after defaults.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from moorage.core.kinds import Json
from moorage.embedded.refusal import Fault
from moorage.embedded.registry.container_checks import port_or_name
from moorage.embedded.registry.meta import (
    bad,
    check_key,
    check_labels,
    forbidden_field,
    required,
    unsupported,
)

_ROLE_KINDS = {"RoleBinding": ("Role", "ClusterRole"), "ClusterRoleBinding": ("ClusterRole",)}
_SUBJECTS = ("ServiceAccount", "User", "Group")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def check_rules(rules: Iterable[Json], *, namespaced: bool) -> Iterable[Fault]:
    """The rules of a Role (``namespaced``) or ClusterRole."""
    for at, rule in enumerate(rules):
        where = f"rules[{at}]"
        urls = rule.get("nonResourceURLs")
        if not rule.get("verbs"):
            yield required(f"{where}.verbs", "verbs must contain at least one value")
        if urls and namespaced:
            yield bad(f"{where}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
        if urls:
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                why = "rules cannot apply to both regular resources and non-resource URLs"
                yield bad(f"{where}.nonResourceURLs", urls, why)
            continue
        for field, what in (("apiGroups", "api group"), ("resources", "resource")):
            if not rule.get(field):
                yield required(f"{where}.{field}", f"resource rules must supply at least one {what}")


def check_aggregation(rule: Json) -> Iterable[Fault]:
    """The aggregationRule of a ClusterRole."""
    selectors = rule.get("clusterRoleSelectors") or ()
    if not selectors:
        yield required(
            "aggregationRule.clusterRoleSelectors",
            "at least one clusterRoleSelector required if aggregationRule is non-nil",
        )
    for at, selector in enumerate(selectors):
        where = f"aggregationRule.clusterRoleSelectors[{at}]"
        faults = list(check_selector(selector, where))
        yield from faults
        if faults:
            yield bad(where, None, "invalid label selector.")


def check_binding(kind: str, obj: Json) -> Iterable[Fault]:
    """A RoleBinding or ClusterRoleBinding."""
    reference = obj.get("roleRef") or {}
    if reference.get("apiGroup") != "rbac.authorization.k8s.io":
        yield unsupported("roleRef.apiGroup", reference.get("apiGroup") or "", ("rbac.authorization.k8s.io",))
    if reference.get("kind") not in _ROLE_KINDS[kind]:
        yield unsupported("roleRef.kind", reference.get("kind") or "", _ROLE_KINDS[kind])
    if not reference.get("name"):
        yield required("roleRef.name")
    for at, subject in enumerate(obj.get("subjects") or ()):
        where = f"subjects[{at}]"
        if not subject.get("name"):
            yield required(f"{where}.name")
        if subject.get("kind") not in _SUBJECTS:
            yield unsupported(f"{where}.kind", subject.get("kind") or "", _SUBJECTS)
        elif (
            subject["kind"] == "ServiceAccount"
            and kind == "ClusterRoleBinding"
            and not subject.get("namespace")
        ):
            yield required(f"{where}.namespace")


def check_selector(selector: Json, where: str) -> Iterable[Fault]:
    """A LabelSelector."""
    yield from check_labels(f"{where}.matchLabels", selector.get("matchLabels") or {})
    for at, rule in enumerate(selector.get("matchExpressions") or ()):
        path, operator = f"{where}.matchExpressions[{at}]", rule.get("operator") or ""
        if operator in ("In", "NotIn") and not rule.get("values"):
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in ("Exists", "DoesNotExist") and rule.get("values"):
            yield forbidden_field(
                f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            )
        elif operator not in _OPERATORS:
            yield bad(f"{path}.operator", operator, "not a valid selector operator")
        yield from check_key(f"{path}.key", rule.get("key") or "")


def check_network_policy(spec: Json) -> Iterable[Fault]:
    """The spec of a NetworkPolicy."""
    yield from check_selector(spec["podSelector"], "spec.podSelector")
    for part, peers in (("ingress", "from"), ("egress", "to")):
        for at, rule in enumerate(spec.get(part) or ()):
            where = f"spec.{part}[{at}]"
            for number, port in enumerate(rule.get("ports") or ()):
                yield from _port(port, f"{where}.ports[{number}]")
            for number, peer in enumerate(rule.get(peers) or ()):
                yield from _peer(peer, f"{where}.{peers}[{number}]")
    types = spec["policyTypes"]
    if len(types) > 2:
        yield bad("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for at, given in enumerate(types):
        if given not in ("Ingress", "Egress"):
            yield unsupported(f"spec.policyTypes[{at}]", given, ("Ingress", "Egress"))


def _port(port: Json, where: str) -> Iterable[Fault]:
    if port["protocol"] not in ("SCTP", "TCP", "UDP"):
        yield unsupported(f"{where}.protocol", port["protocol"], ("SCTP", "TCP", "UDP"))
    if port.get("port") is not None:
        yield from port_or_name(port["port"], f"{where}.port")


def _peer(peer: Json, where: str) -> Iterable[Fault]:
    for name in ("podSelector", "namespaceSelector"):
        if peer.get(name) is not None:
            yield from check_selector(peer[name], f"{where}.{name}")
    block = peer.get("ipBlock")
    if block is not None:
        yield from _block(block, f"{where}.ipBlock")
        if len(peer) > 1:
            yield forbidden_field(where, "may not specify both ipBlock and another peer")
    if not peer:
        yield required(where, "must specify a peer")


def _block(block: Json, where: str) -> Iterable[Fault]:
    cidr = block.get("cidr") or ""
    if not cidr:
        yield required(f"{where}.cidr")
        return
    try:
        ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        yield bad(f"{where}.cidr", cidr, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
