"""GET of one object and of lists: versions, pages, selectors, and the shape asked for.

Called by ``api.server``. Reads only.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass

from moorage.core.kinds import Json
from moorage.embedded.api.bodies import metadata_only
from moorage.embedded.api.calls import Call
from moorage.embedded.api.numbers import NotNumber, parse_uint, query_int
from moorage.embedded.api.tables import table
from moorage.embedded.refusal import (
    Refusal,
    bad_request,
    expired,
    internal,
    invalid_options,
    not_found,
    too_new,
)
from moorage.embedded.registry import selectors
from moorage.embedded.registry.kinds import Kind
from moorage.embedded.registry.meta import forbidden_field, unsupported
from moorage.embedded.registry.selectors import Matches
from moorage.embedded.storage.store import Expired, Store, key_of

_PAGE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show "
    "up in the list."
)
_VERSION_TOO_OLD = "The resourceVersion for the provided list is too old."


@dataclass(frozen=True)
class Shape:
    """How objects are shown: as they are, as a ``Table`` or as ``PartialObjectMetadata``."""

    name: str
    now: float
    include: str = "Metadata"

    def one(self, kind: Kind, obj: Json) -> Json:
        if self.name == "Table":
            metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
            return table(kind, [obj], metadata, self.now, self.include)
        return metadata_only(obj) if self.name == "PartialObjectMetadata" else obj

    def many(self, kind: Kind, objects: list[Json], metadata: Json) -> Json:
        if self.name == "Table":
            return table(kind, objects, metadata, self.now, self.include)
        if self.name == "PartialObjectMetadata":
            found = [metadata_only(obj) for obj in objects] or None
            return _list_of("PartialObjectMetadata", "meta.k8s.io/v1", found, metadata)
        # Items of the server's own kinds carry no type; those of custom resources do.
        items = objects if kind.custom else [_untyped(obj) for obj in objects]
        return _list_of(kind.name, kind.resource.api_version, items, metadata)


def _list_of(kind: str, api_version: str, items: list[Json] | None, metadata: Json) -> Json:
    return {"kind": f"{kind}List", "apiVersion": api_version, "metadata": metadata, "items": items}


def _untyped(obj: Json) -> Json:
    return {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}


def selected(kind: Kind, call: Call) -> Matches | None:
    """What the query's selectors mean. Raises Refusal 400."""
    chosen = selectors.labels(call.query.get("labelSelector", ""))
    return selectors.both(chosen, selectors.fields(call.query.get("fieldSelector", ""), kind))


def asked_version(call: Call) -> int | None:
    """``resourceVersion`` of the query; None when it is not given. Raises Refusal."""
    text = call.query.get("resourceVersion", "")
    if not text:
        return None
    try:
        return parse_uint(text)
    except NotNumber as error:
        what = f'resourceVersion: Invalid value: "{text}": {error}'
    if call.verb == "list":
        raise bad_request(f"invalid resource version: {what}")
    raise internal(what, "")


def read_one(store: Store, kind: Kind, call: Call, stale: int | None) -> Json:
    """One object, or as it was at version ``stale``. Raises Refusal 404."""
    version = asked_version(call)
    if stale is None:
        found = store.get(kind.key, (call.namespace if kind.resource.namespaced else "", call.name))
    else:
        namespace = call.namespace if kind.resource.namespaced else ""
        objects = {key_of(obj): obj for obj in store.at(kind.key, stale)}
        found = objects.get((namespace, call.name))
    if found is None:
        raise not_found(kind.resource, call.name)
    if version is not None and version > store.version:
        raise too_new(version, store.version)
    return found


def read_list(store: Store, kind: Kind, call: Call, shape: Shape, stale: int | None) -> Json:
    """A list or one page of it. ``stale``: as of that version. Raises Refusal 400, 410, 422 or 504."""
    limit = _limit(call)
    timeout_seconds(call)  # which ends no list here, but has to be a number
    _check_options(call)
    matches = selected(kind, call)
    token = call.query.get("continue", "")
    if token:
        if call.query.get("resourceVersion", "0") not in ("", "0"):
            _read_token(token)
            raise bad_request("specifying resource version is not allowed when using continue")
        version, after = _read_token(token)
        objects = _at(store, kind, version, after)
        version = store.version if version < 0 else version
        objects = [obj for obj in objects if _start(obj) > after]
    else:
        version = _version(store, call)
        version = stale if stale is not None else version
        try:
            current = version == store.version
            objects = store.items(kind.key) if current else store.at(kind.key, version)
        except Expired:
            raise expired(_VERSION_TOO_OLD) from None
    if kind.resource.namespaced and call.namespace:
        objects = [obj for obj in objects if obj["metadata"].get("namespace") == call.namespace]
    if matches is not None:
        objects = [obj for obj in objects if matches(obj)]
    metadata: Json = {"resourceVersion": str(version)}
    if limit and len(objects) > limit:
        metadata["continue"] = _token(version, _start(objects[limit - 1]))
        if matches is None:
            metadata["remainingItemCount"] = len(objects) - limit
        objects = objects[:limit]
    return shape.many(kind, objects, metadata)


def _version(store: Store, call: Call) -> int:
    """The version a list is answered at: the newest, unless an exact one is asked for."""
    asked, match = asked_version(call), call.query.get("resourceVersionMatch", "")
    if asked is not None and asked > store.version:
        raise too_new(asked, store.version)
    return asked if asked and match == "Exact" else store.version


def _check_options(call: Call) -> None:
    """What of a list's parameters does not go together. Raises Refusal 422."""
    given, match = call.query.get("resourceVersion", ""), call.query.get("resourceVersionMatch", "")
    field, faults = "resourceVersionMatch", []
    if match and not given:
        faults.append(forbidden_field(field, f"{field} is forbidden unless resourceVersion is provided"))
    if match and call.query.get("continue"):
        faults.append(forbidden_field(field, f"{field} is forbidden when continue is provided"))
    if match not in ("", "Exact", "NotOlderThan"):
        faults.append(unsupported(field, match, ("Exact", "NotOlderThan", "")))
    if match == "Exact" and given == "0":
        faults.append(forbidden_field(field, f'{field} "exact" is forbidden for resourceVersion "0"'))
    if "sendInitialEvents" in call.query:
        why = "sendInitialEvents is forbidden for list"
        faults.append(forbidden_field("sendInitialEvents", why))
    if faults:
        raise invalid_options("ListOptions", *faults)


def _at(store: Store, kind: Kind, version: int, after: str) -> list[Json]:
    if version < 0:
        return store.items(kind.key)
    try:
        return store.at(kind.key, version)
    except Expired:
        refusal = expired(_PAGE_TOO_OLD)
        refusal.status["metadata"] = {"continue": _token(-1, after)}
        raise refusal from None


def _limit(call: Call) -> int:
    return max(query_int(call.query.get("limit", "0")), 0)


def timeout_seconds(call: Call) -> int:
    """``timeoutSeconds`` of a list or a watch; 0 when it is not given. Raises Refusal 400."""
    return query_int(call.query.get("timeoutSeconds", "0"))


def _start(obj: Json) -> str:
    """The place of an object in the order of keys."""
    return "\0".join(key_of(obj))


def _token(version: int, after: str) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": after})
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, str]:
    try:
        found = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return int(found["rv"]), str(found["start"])
    except (ValueError, KeyError, TypeError, OverflowError, binascii.Error) as error:
        raise _bad_token(str(error)) from None


def _bad_token(why: str) -> Refusal:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")
