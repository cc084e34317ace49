"""What a request asks for, as authorization, audit and faults see it. Pure.

Made by ``api.server`` from each request's method, path and query.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from moorage.embedded.registry.write import User

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True)
class Call:
    """One request. For a path that names no resource, ``resource`` is empty and ``verb`` is the method."""

    verb: str
    path: str
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    query: dict[str, str] = field(default_factory=dict)
    user: User = field(default_factory=lambda: User(""))
    agent: str = ""

    @property
    def dry_run(self) -> bool:
        return self.query.get("dryRun") == "All"

    def __str__(self) -> str:
        what = "/".join(part for part in (self.resource, self.subresource) if part) or self.path
        return f"{self.verb} {what}" + (" (dry run)" if self.dry_run else "")


def is_true(query: dict[str, str], name: str) -> bool:
    """A boolean of a query: ``?watch`` and ``?watch=1`` are true, too."""
    return name in query and query[name].lower() not in ("0", "false")


def read_call(method: str, path: str, query: dict[str, str], user: User, agent: str) -> Call:
    """The request behind a method and a path."""
    parts = [part for part in path.split("/") if part]
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return Call(method.lower(), path, query=query, user=user, agent=agent)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) >= 3 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    subresource = "/".join(rest[2:])
    if rest[0] == "namespaces" and name:
        namespace = name
    return Call(
        verb=_verb(method, query, name),
        path=path,
        group=group,
        version=version,
        namespace=namespace,
        resource=rest[0],
        subresource=subresource,
        name=name,
        query=query,
        user=user,
        agent=agent,
    )


def _verb(method: str, query: dict[str, str], name: str) -> str:
    if method in ("GET", "HEAD"):
        if not name:
            return "watch" if is_true(query, "watch") else "list"
        return "get"
    if method == "DELETE" and not name:
        return "deletecollection"
    return _VERBS.get(method, method.lower())
