"""One API server as a random script sees it: calls go in, answers come out, and what it said is remembered.

Two sides run the same script, each with versions and identities of its own. ``masks.py`` makes their answers
comparable.
"""

from __future__ import annotations

import copy
import http.client
import json
import ssl
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from .changes import NOTHING, Json, Path
from .kinds import BY_PLURAL

VERSION, OLD_VERSION, UID, PAGE = "\0version", "\0old version", "\0uid", "\0page"
OURS = frozenset(
    {"foregroundDeletion", "orphan", "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"}
)
"""Finalizers that controllers take away, each in its own time."""
FURNISHED = frozenset({"default", "kube-root-ca.crt"})
"""What every namespace has."""
_PATIENCE = 60.0


@dataclass(frozen=True)
class Step:
    """One call. ``basis``: what its body begins with: a good object, the last one seen; "" is ``raw``."""

    method: str
    plural: str
    name: str = ""
    sub: str = ""
    query: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    accept: str = "application/json"
    collection: bool = False  # the name is the body's alone
    basis: str = ""
    changes: tuple[tuple[Path, Any], ...] = ()
    raw: Any = None


@dataclass(frozen=True)
class Said:
    """An answer: its status, and its body decoded, or as text."""

    code: int
    body: Any
    warnings: tuple[str, ...] = ()


class Side:
    """A connection to one API server as its administrator. ``reconnect`` makes a new one."""

    def __init__(self, name: str, host: str, port: int, tls: ssl.SSLContext, headers: dict[str, str]) -> None:
        self.name, self._headers = name, headers
        self._host, self._port, self._tls = host, port, tls
        self._connection = self._connect()

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self._host, self._port, context=self._tls, timeout=_PATIENCE)

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Said:
        """One request on the kept connection."""
        self._connection.request(method, path, body, {**self._headers, **headers})
        answer = self._connection.getresponse()
        data = answer.read()
        warnings = tuple(answer.headers.get_all("Warning") or ())
        try:
            return Said(answer.status, json.loads(data), warnings)
        except ValueError:
            return Said(answer.status, data.decode(errors="replace"), warnings)

    def open(self, path: str) -> tuple[http.client.HTTPSConnection, http.client.HTTPResponse]:
        """A GET on a connection of its own, to be read line by line."""
        connection = self._connect()
        connection.request("GET", path, headers=self._headers)
        return connection, connection.getresponse()

    def close(self) -> None:
        self._connection.close()

    def json(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Said:
        """One request about JSON."""
        data = json.dumps(body).encode() if body is not None else None
        return self.send(method, path, data, {"Content-Type": kind})


@dataclass
class Run:
    """One script on one side, in ``namespace``; ``prefix`` begins the names of cluster-wide objects."""

    side: Side
    namespace: str
    prefix: str
    seen: dict[tuple[str, str], list[Json]] = field(default_factory=dict)
    page: str = "nonsense"
    touched: set[str] = field(default_factory=set)

    def name(self, plural: str, name: str) -> str:
        return name if BY_PLURAL[plural].namespaced or not name else f"{self.prefix}{name}"

    def do(self, step: Step) -> Said:
        """One step, and then what controllers do after it."""
        tried, name = BY_PLURAL[step.plural], self.name(step.plural, step.name)
        path = tried.collection(self.namespace)
        path += f"/{quote(name, safe='')}" if name and not step.collection else ""
        path += f"/{step.sub}" if step.sub else ""
        query = {key: self._resolved(value, step) for key, value in step.query}
        headers = {"Accept": step.accept}
        body = self._body(step)
        if body is not None:
            headers["Content-Type"] = step.content_type
        said = self.side.send(step.method, path + (f"?{urlencode(query)}" if query else ""), body, headers)
        dry = "dryRun" in query or (body is not None and b'"dryRun"' in body)
        told = isinstance(said.body, dict) and said.body.get("kind") == tried.kind
        if said.code < 300 and told and not dry:
            shown = said.body["metadata"]["name"].removeprefix(self.prefix)
            self.seen.setdefault((step.plural, shown), []).append(said.body)
        if said.code < 300 and step.method in ("POST", "PUT", "PATCH"):
            self.touched.add(step.plural)
        if isinstance(said.body, dict) and (said.body.get("metadata") or {}).get("continue"):
            self.page = said.body["metadata"]["continue"]
        if step.method == "DELETE" and said.code < 300:
            self._settle(tried.collection(self.namespace), name)
        return said

    def _body(self, step: Step) -> bytes | None:
        if step.basis == "":
            if step.raw is None or isinstance(step.raw, bytes):
                return step.raw
            return json.dumps(self._resolved(step.raw, step)).encode()
        body = self._basis(step)
        for path, value in step.changes:
            body = changed(body, path, self._resolved(value, step))
        return json.dumps(body).encode()

    def _basis(self, step: Step) -> Any:
        found = self.seen.get((step.plural, step.name))
        if step.basis == "last" and found:
            return copy.deepcopy(found[-1])
        tried = BY_PLURAL[step.plural]
        metadata = {} if step.basis == "unnamed" else {"name": self.name(step.plural, step.name)}
        good = {"apiVersion": tried.version, "kind": tried.kind, "metadata": metadata, **tried.body()}
        return json.loads(json.dumps(good).replace("NAMESPACE", self.namespace))

    def _resolved(self, value: Any, step: Step) -> Any:
        """Versions and identities as this side has told them."""
        if isinstance(value, dict):
            return {key: self._resolved(inner, step) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._resolved(inner, step) for inner in value]
        if value == PAGE:
            return self.page
        if value in (VERSION, OLD_VERSION, UID):
            found = self.seen.get((step.plural, step.name)) or [{"metadata": {}}]
            metadata = found[0 if value == OLD_VERSION else -1]["metadata"]
            if value == UID:
                return metadata.get("uid", "22222222-2222-2222-2222-222222222222")
            return metadata.get("resourceVersion", "1")
        return value

    def _settle(self, path: str, name: str) -> None:
        """Until the controllers have done with what was deleted."""
        where = f"{path}/{name}" if name else path
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            body = self.side.json("GET", where).body
            found = body.get("items", [body]) if isinstance(body, dict) else []
            if not any(_awaited(obj) for obj in found if not name or obj.get("kind") != "Status"):
                return
            time.sleep(0.01)  # sleep: the controllers of another process announce nothing
        raise AssertionError(f"{self.side.name}: controllers did not finish with {where}")

    def clear(self) -> None:
        """Remove all that the script made."""
        for plural in sorted(self.touched):
            tried = BY_PLURAL[plural]
            path = tried.collection(self.namespace)
            if not tried.stored:
                continue
            for obj in self.side.json("GET", path).body["items"]:
                name = obj["metadata"]["name"]
                if name in FURNISHED or (not tried.namespaced and not name.startswith(self.prefix)):
                    continue
                if obj["metadata"].get("finalizers"):
                    patch = {"metadata": {"finalizers": None}}
                    self.side.json(
                        "PATCH", f"{path}/{quote(name, safe='')}", patch, "application/merge-patch+json"
                    )
                self.side.json("DELETE", f"{path}/{quote(name, safe='')}", {"gracePeriodSeconds": 0})
                self._settle(path, name)


def _awaited(obj: Json) -> bool:
    metadata = obj.get("metadata") or {}
    return bool(metadata.get("deletionTimestamp") and OURS & set(metadata.get("finalizers") or ()))


def changed(obj: Any, path: Path, value: Any) -> Any:
    """``obj`` with ``value`` at ``path``; where the path does not fit, as it is."""
    if not path:
        return obj if value == NOTHING else value
    head, rest = path[0], path[1:]
    if isinstance(obj, dict) and isinstance(head, str):
        if not rest and value == NOTHING:
            return {name: inner for name, inner in obj.items() if name != head}
        return {**obj, head: changed(obj.get(head, {}) if rest else None, rest, value)}
    if isinstance(obj, list) and isinstance(head, int) and head < len(obj):
        return [changed(item, rest, value) if at == head else item for at, item in enumerate(obj)]
    return obj
