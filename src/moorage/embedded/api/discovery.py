"""What there is: ``/version``, ``/api``, ``/apis`` and the resources of each group. Pure.

Called by ``api.server``. kubectl learns from it which words mean what.
"""

from __future__ import annotations

import platform

from moorage.core.kinds import Json
from moorage.embedded.registry.kinds import Kind, Kinds

VERSION = "v1.36.3"
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_CATEGORY_ALL = frozenset({"pods", "services"})
_STREAMS = {"exec": "PodExecOptions", "attach": "PodAttachOptions", "portforward": "PodPortForwardOptions"}


def version() -> Json:
    """``/version``."""
    _, minor, _ = VERSION.removeprefix("v").split(".")
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": "1",
        "minor": minor,
        "gitVersion": f"{VERSION}+moorage-embedded",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": f"linux/{machine}",
    }


def core_versions(address: str) -> Json:
    """``/api``."""
    here = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": here}


def groups(kinds: Kinds) -> Json:
    """``/apis``."""
    names = dict.fromkeys(kind.resource.group for kind in kinds if kind.resource.group)
    found = [_group(kinds, name) for name in names]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def group(kinds: Kinds, name: str) -> Json | None:
    """``/apis/NAME``; None when it is not served."""
    if not any(kind.resource.group == name for kind in kinds):
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(kinds, name)}


def _group(kinds: Kinds, name: str) -> Json:
    versions = dict.fromkeys(kind.resource.version for kind in kinds if kind.resource.group == name)
    found = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": found, "preferredVersion": found[0]}


def resources(kinds: Kinds, group_name: str, version_name: str) -> Json | None:
    """``/api/v1`` or ``/apis/GROUP/VERSION``; None when it is not served."""
    found = [
        kind for kind in kinds if (kind.resource.group, kind.resource.version) == (group_name, version_name)
    ]
    if not found:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": found[0].resource.api_version,
        "resources": [entry for kind in found for entry in _entries(kind)],
    }


def _entries(kind: Kind) -> list[Json]:
    resource = kind.resource
    base: Json = {
        "name": resource.plural,
        "singularName": kind.singular,
        "namespaced": resource.namespaced,
        "kind": kind.name,
        "verbs": ["create"] if kind.reviews else _VERBS,
    }
    if kind.short:
        base["shortNames"] = list(kind.short)
    if resource.plural in _CATEGORY_ALL and not resource.group:
        base["categories"] = ["all"]
    found = [base]
    if kind.status:
        found.append(_sub(kind, "status", kind.name, ["get", "patch", "update"]))
    match resource.plural:
        case "pods":
            found.append(_sub(kind, "log", kind.name, ["get"]))
            found += [_sub(kind, sub, word, ["create", "get"]) for sub, word in _STREAMS.items()]
            found.append(_sub(kind, "binding", "Binding", ["create"]))
            found.append(_sub(kind, "eviction", "Eviction", ["create"], ("policy", "v1")))
        case "namespaces":
            found.append(_sub(kind, "finalize", kind.name, ["update"]))
        case "serviceaccounts":
            where = ("authentication.k8s.io", "v1")
            found.append(_sub(kind, "token", "TokenRequest", ["create"], where))
    return found


def _sub(kind: Kind, name: str, of_kind: str, verbs: list[str], where: tuple[str, str] = ("", "")) -> Json:
    entry: Json = {
        "name": f"{kind.resource.plural}/{name}",
        "singularName": "",
        "namespaced": kind.resource.namespaced,
        "kind": of_kind,
        "verbs": verbs,
    }
    if where[1]:
        entry |= {"group": where[0], "version": where[1]}
    return entry
