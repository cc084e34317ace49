"""Creates, updates and patches: what a write does to an object, whoever sends it.

Called by ``embedded.api`` for clients and by ``embedded.objects`` for the cluster's own parts. Each call
is synchronous, so nothing happens between its checks and its commit. Authorization, webhooks and HTTP are
the API's. Every refusal is a ``Refusal``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from moorage.core.kinds import NAMESPACES, Json
from moorage.embedded.admission import mutate, pod_security, quota
from moorage.embedded.patching import managed
from moorage.embedded.refusal import (
    Refusal,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    internal,
    invalid,
    not_found,
    other_uid,
)
from moorage.embedded.registry import checks, defaults, meta
from moorage.embedded.registry.fields import Decoder, Repeated, WrongType
from moorage.embedded.registry.kinds import Kind, Kinds, key
from moorage.embedded.registry.write import Write
from moorage.embedded.storage.store import Key, Store, copy

_LAST_SECOND = 253402300799  # the end of the year 9999, after which Python has no time
# Kinds of which an update must name the version it changes.
_CONDITIONAL = frozenset(
    {"Lease", "RuntimeClass", "CustomResourceDefinition", "MutatingWebhookConfiguration"}
)


class Undecodable(Refusal):
    """400: an object, but none of the kind. ``why``: without saying of which."""

    def __init__(self, message: str, why: str) -> None:
        super().__init__(400, "BadRequest", message)
        self.why = why


class Registry:
    """The semantics over one store. ``now``: seconds since the epoch."""

    def __init__(self, store: Store, kinds: Kinds, now: Callable[[], float]) -> None:
        self.store, self.kinds, self._now = store, kinds, now

    def time(self, seconds: float = 0) -> str:
        """The time ``seconds`` from now as the API writes it."""
        return datetime.fromtimestamp(min(self._now() + seconds, _LAST_SECOND), UTC).strftime(
            "%Y-%m-%dT%H:%M:%SZ"
        )

    def get(self, kind: Kind, namespace: str, name: str) -> Json:
        """The stored object, not to be changed. Raises Refusal 404."""
        found = self.store.get(kind.key, (namespace, name))
        if found is None:
            raise not_found(kind.resource, name)
        return found

    def decode(self, kind: Kind, body: Any, validation: str) -> tuple[Json, list[str]]:
        """A request's body as an object of ``kind``, and warnings. Raises Refusal 400: Undecodable, where it
        is an object, but none of this kind."""
        body = {} if body is None else body
        if not isinstance(body, dict) or not all(
            isinstance(body.get(name) or "", str) for name in ("apiVersion", "kind")
        ):
            raise bad_request(
                f"the object provided is unrecognized (must be of type {kind.name}): couldn't get "
                "version/kind; json parse error: json: cannot unmarshal value into Go struct"
            )
        resource = kind.resource
        given, version = body.get("kind") or resource.kind, body.get("apiVersion") or resource.api_version
        if (given, version) != (resource.kind, resource.api_version):
            raise self._other_kind(kind, str(given), str(version))
        obj = body.copy() if not isinstance(body, Repeated) else body.again()
        obj |= {"apiVersion": resource.api_version, "kind": resource.kind}
        decoder = Decoder()
        try:
            obj = decoder.decode(obj, kind.fields) if kind.fields else decoder.metadata(copy(obj), kind.name)
        except WrongType as error:
            raise self._undecodable(kind, str(error)) from None
        if decoder.faults and validation == "Strict":
            raise self._undecodable(kind, "strict decoding error: " + ", ".join(decoder.faults))
        obj.setdefault("metadata", {})
        return obj, decoder.faults if validation == "Warn" else []

    def _undecodable(self, kind: Kind, why: str, given: str = "", version: str = "") -> Refusal:
        version, given = version or kind.resource.version, given or kind.name
        return Undecodable(f'{given} in version "{version}" cannot be handled as a {kind.name}: {why}', why)

    def _other_kind(self, kind: Kind, given: str, version: str) -> Refusal:
        short = version.rpartition("/")[2]
        if not any((k.name, k.resource.api_version) == (given, version) for k in self.kinds):
            scheme = "pkg/runtime/scheme.go:111"
            why = f'no kind "{given}" is registered for version "{version}" in scheme "{scheme}"'
            return self._undecodable(kind, why, given, short)
        if version == kind.resource.api_version:
            why = f"converting (v1.{given}) to (core.{kind.name}): unknown conversion"
            return self._undecodable(kind, why, given, short)
        return bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({kind.resource.api_version})"
        )

    def draft(self, kind: Kind, namespace: str, obj: Json, write: Write, *, applied: bool = False) -> Json:
        """A decoded object made ready for admission webhooks: named, defaulted, with what admission adds.

        The writer owns what it set and what was defaulted; with ``applied`` its managedFields stand.
        """
        metadata = obj["metadata"]
        if kind.resource.namespaced:
            if metadata.setdefault("namespace", namespace) != namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
        else:
            metadata.pop("namespace", None)
        version = str(metadata.pop("resourceVersion", ""))
        if version.isdecimal() and int(version):
            raise internal("resourceVersion should not be set on objects to be created", "")
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"] + mutate.suffix()
        elif not metadata.get("name") and kind.name == "LimitRange":
            metadata["name"] = str(uuid.uuid4())  # the one kind that needs none
        if kind.status:
            obj.pop("status", None)
        for field in meta.SERVER_SET:
            metadata.pop(field, None)
        metadata.update(uid=str(uuid.uuid4()), creationTimestamp=self.time())
        if kind.generation:
            metadata["generation"] = 1
        if kind.resource.namespaced:
            self._check_namespace(kind, namespace, metadata.get("name", ""))
        defaults.set_defaults(kind.name, obj)
        if not applied:
            self._own(kind, None, obj, write, "")
        defaults.prepare(kind.name, obj)
        mutate.admit(self.store, kind, obj)
        return obj

    def _check_namespace(self, kind: Kind, namespace: str, name: str) -> None:
        found = self.store.get(key(NAMESPACES), ("", namespace))
        if found is None:
            raise not_found(NAMESPACES, namespace)
        if found["metadata"].get("deletionTimestamp"):
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise forbidden(kind.resource, name, why, [cause])

    def create(self, kind: Kind, obj: Json, write: Write) -> Json:
        """Store a draft (see ``draft``), perhaps changed by webhooks since. Returns what is stored."""
        defaults.set_defaults(kind.name, obj)
        metadata = obj["metadata"]
        name, namespace = metadata.get("name") or "", metadata.get("namespace") or ""
        faults = checks.check(kind, obj)
        if faults:
            raise invalid(kind.name, kind.resource.group, name, faults)
        if kind.name == "Pod":
            where = self.store.get(key(NAMESPACES), ("", namespace))
            refused = pod_security.refused(obj, where) if where else ""
            if refused:
                raise forbidden(kind.resource, name, refused)
        quota.check_quota(self.store, kind, obj)
        if self.store.get(kind.key, (namespace, name)) is not None:
            raise already_exists(kind.resource, name)
        if write.dry_run:
            return obj
        return self.store.put(kind.key, (namespace, name), obj)

    def update(
        self, kind: Kind, at: Key, new: Json, write: Write, subresource: str = "", *, applied: bool = False
    ) -> Json:
        """Replace a stored object by ``new``, all but its status, or with ``subresource="status"`` just that.

        A stale ``metadata.resourceVersion`` is a conflict. A write that changes nothing stores nothing. With
        ``applied`` the managedFields of ``new`` stand as they are.
        """
        old = self.get(kind, *at)
        new = self._carried_over(kind, at, old, new, subresource)
        defaults.set_defaults(kind.name, new)
        faults = [
            *meta.check_unchanged(old["metadata"], new["metadata"]),
            *(() if subresource else checks.check_update(kind, old, new)),
            *(() if subresource else checks.check(kind, new)),
        ]
        if faults:
            raise invalid(kind.name, kind.resource.group, at[1], faults)
        if not applied:
            self._own(kind, old, new, write, subresource)
        if kind.generation and not subresource and _desired(old) != _desired(new):
            new["metadata"]["generation"] = old["metadata"].get("generation", 1) + 1
        if _same(old, new):
            return old
        if write.dry_run:
            return new
        if _finished(new):
            return self.store.remove(kind.key, at, new)
        return self.store.put(kind.key, at, new)

    def proposed(self, kind: Kind, at: Key, new: Json) -> Json:
        """What an update would store, before webhooks and checks. Raises Refusal as ``update``."""
        draft = self._carried_over(kind, at, self.get(kind, *at), new, "")
        defaults.set_defaults(kind.name, draft)
        return draft

    def _carried_over(self, kind: Kind, at: Key, old: Json, new: Json, subresource: str) -> Json:
        """``new`` with what a client cannot change; its preconditions are checked here."""
        metadata, before = dict(new["metadata"]), old["metadata"]
        misfit = checks.check_name_fits(at[1], new)
        if misfit:
            raise bad_request(misfit)
        if metadata.get("namespace", at[0]) != at[0]:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        version = metadata.get("resourceVersion")
        if version and version != before["resourceVersion"]:
            raise conflict(kind.resource, at[1])
        if not version and kind.name in _CONDITIONAL:
            fault = meta.bad("metadata.resourceVersion", "0x0", "must be specified for an update")
            fault = fault._replace(message=fault.message.replace('"0x0"', "0x0"))
            raise invalid(kind.name, kind.resource.group, at[1], [fault])
        if metadata.get("uid") and metadata["uid"] != before["uid"]:
            raise other_uid(kind.resource, at, metadata["uid"], before["uid"])
        for field in (*meta.SERVER_SET, "generation", "resourceVersion", "namespace", "name"):
            metadata.pop(field, None)
            if field in before:
                metadata[field] = before[field]
        metadata.setdefault("managedFields", before.get("managedFields") or [])
        if subresource == "status":
            kept = {k: v for k, v in old.items() if k != "status"}
            metadata["ownerReferences"] = before.get("ownerReferences") or []
            _drop_empty(metadata, "ownerReferences")
            return copy({**kept, "metadata": metadata, "status": new.get("status") or {}})
        result = copy({**new, "metadata": metadata})
        if kind.status:
            result.pop("status", None)
            if "status" in old:
                result["status"] = old["status"]
        if kind.name == "Namespace":
            result["spec"] = old.get("spec")
        return result

    def _own(self, kind: Kind, old: Json | None, new: Json, write: Write, subresource: str) -> None:
        """Keep ``managedFields``. The times and versions that the server sets belong to nobody."""
        entries = managed.updated(
            old,
            new,
            manager=write.manager,
            api_version=kind.resource.api_version,
            now=self.time(),
            subresource=subresource,
        )
        new["metadata"]["managedFields"] = entries
        _drop_empty(new["metadata"], "managedFields")


def _drop_empty(values: Json, field: str) -> None:
    if not values.get(field):
        values.pop(field, None)


def _desired(obj: Json) -> Json:
    """What counts for ``metadata.generation``."""
    return {name: value for name, value in obj.items() if name not in ("metadata", "status")}


def _same(old: Json, new: Json) -> bool:
    return _comparable(old) == _comparable(new)


def _comparable(obj: Json) -> Json:
    ignored = ("managedFields", "resourceVersion")
    owners = [
        {k: v for k, v in entry.items() if k != "time"}
        for entry in obj["metadata"].get("managedFields") or ()
    ]
    metadata = {name: value for name, value in obj["metadata"].items() if name not in ignored}
    return {**obj, "metadata": {**metadata, "owners": owners}}


def _finished(obj: Json) -> bool:
    """Was it only kept by finalizers that are gone now?"""
    metadata = obj["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if (obj.get("spec") or {}).get("finalizers") and obj.get("kind") == "Namespace":
        return False
    return not metadata.get("deletionGracePeriodSeconds")
