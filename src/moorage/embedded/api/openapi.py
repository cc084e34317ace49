"""OpenAPI documents, made from the table of fields: enough for kubectl's checks and for our own.

Called by ``api.server``. Pure. Descriptions are left out: nobody reads this API with ``kubectl explain``.
"""

from __future__ import annotations

from moorage.core.kinds import Json
from moorage.core.template import schema
from moorage.core.template.schema import FieldType
from moorage.embedded.api.discovery import VERSION
from moorage.embedded.patching.lists import keys_of, merge_key
from moorage.embedded.registry.fields import fields_of
from moorage.embedded.registry.kinds import Kind, Kinds

_META = frozenset({"ObjectMeta", "OwnerReference", "LabelSelector", "LabelSelectorRequirement"})
_LEAVES: dict[str, Json] = {
    schema.STRING: {"type": "string"},
    schema.INT32: {"type": "integer", "format": "int32"},
    schema.INT64: {"type": "integer", "format": "int64"},
    schema.BOOL: {"type": "boolean"},
    schema.TIME: {"type": "string", "format": "date-time"},
    schema.QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
    schema.PORT: {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
    schema.ANY: {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
_NAMES = {
    "": "io.k8s.api.core.v1",
    "storage.k8s.io": "io.k8s.api.storage.v1",
    "node.k8s.io": "io.k8s.api.node.v1",
    "scheduling.k8s.io": "io.k8s.api.scheduling.v1",
    "networking.k8s.io": "io.k8s.api.networking.v1",
    "coordination.k8s.io": "io.k8s.api.coordination.v1",
    "rbac.authorization.k8s.io": "io.k8s.api.rbac.v1",
}


def index(kinds: Kinds) -> Json:
    """``/openapi/v3``."""
    paths = {_path(kind): {"serverRelativeURL": f"/openapi/v3/{_path(kind)}"} for kind in kinds}
    return {"paths": paths}


def _path(kind: Kind) -> str:
    resource = kind.resource
    return f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"


def document(kinds: Kinds, path: str) -> Json | None:
    """``/openapi/v3/PATH``; None when there is no such group and version."""
    found = [kind for kind in kinds if _path(kind) == path]
    if not found:
        return None
    schemas: Json = {}
    for kind in found:
        _add_kind(schemas, kind, "#/components/schemas/")
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": VERSION},
        "paths": {url: entry for kind in found for url, entry in _paths(kind).items()},
        "components": {"schemas": schemas},
    }


def swagger(kinds: Kinds) -> Json:
    """``/openapi/v2``."""
    definitions: Json = {}
    for kind in kinds:
        _add_kind(definitions, kind, "#/definitions/")
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": VERSION},
        "paths": {url: entry for kind in kinds for url, entry in _paths(kind).items()},
        "definitions": definitions,
    }


def _group_version_kind(kind: Kind) -> Json:
    resource = kind.resource
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _paths(kind: Kind) -> Json:
    """Paths with the parameters kubectl looks for before it trusts the server's own validation."""
    resource = kind.resource
    names = ("dryRun", "fieldManager", "fieldValidation", "force")
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]
    gvk = _group_version_kind(kind)
    operation = {"parameters": parameters, "x-kubernetes-group-version-kind": gvk, "responses": {}}
    collection = resource.path("{namespace}")
    if kind.reviews:
        return {collection: {"post": {**operation, "x-kubernetes-action": "post"}}}
    writes = {verb: {**operation, "x-kubernetes-action": verb} for verb in ("put", "patch", "delete", "get")}
    return {
        collection: {verb: {**operation, "x-kubernetes-action": verb} for verb in ("post", "get")},
        resource.path("{namespace}", "{name}"): writes,
    }


def _add_kind(schemas: Json, kind: Kind, prefix: str) -> None:
    package = _NAMES.get(kind.resource.group, kind.resource.group)
    name = f"{package}.{kind.name}"
    if kind.fields:
        found = _type(kind.fields, prefix)
        _add_types(schemas, kind.fields, prefix)
    else:
        found = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schemas[name] = {**found, "x-kubernetes-group-version-kind": [_group_version_kind(kind)]}


def _add_types(schemas: Json, type_name: str, prefix: str) -> None:
    for field in fields_of(type_name).values():
        if field.kind in schema.LEAVES or _name(field.kind) in schemas:
            continue
        schemas[_name(field.kind)] = {}
        schemas[_name(field.kind)] = _type(field.kind, prefix)
        _add_types(schemas, field.kind, prefix)


def _name(type_name: str) -> str:
    package = "io.k8s.apimachinery.pkg.apis.meta.v1" if type_name in _META else "io.k8s.api.core.v1"
    return f"{package}.{type_name}"


def _type(type_name: str, prefix: str) -> Json:
    fields = fields_of(type_name)
    found: Json = {
        "type": "object",
        "properties": {name: _field(name, field, prefix) for name, field in fields.items()},
    }
    required = [name for name, field in fields.items() if field.required]
    return {**found, "required": required} if required else found


def _field(name: str, field: FieldType, prefix: str) -> Json:
    inner: Json = (
        _LEAVES[field.kind] if field.kind in schema.LEAVES else {"$ref": f"{prefix}{_name(field.kind)}"}
    )
    if field.container == "{}":
        return {"type": "object", "additionalProperties": inner}
    if field.container == "[]":
        keys, merged = keys_of(name, ()), merge_key(name, ())
        listed: Json = {"type": "array", "items": inner}
        if keys and field.kind not in schema.LEAVES:
            listed |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
            listed |= {"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": merged}
        return listed
    return inner
