"""``/openapi/v2`` in gnostic's protobuf, the form kubectl asks for when it applies a List. Pure.

Called by ``api.server``. Holds what kubectl looks for there: which kinds take ``fieldValidation`` in a patch.
"""

from __future__ import annotations

import json

from moorage.core.kinds import Resource
from moorage.embedded.api.discovery import VERSION
from moorage.embedded.registry.kinds import Kinds

ACCEPTED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
CONTENT_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation", "force")


def document(kinds: Kinds) -> bytes:
    """An ``openapi.v2.Document``. Field numbers are those of gnostic's OpenAPIv2.proto."""
    paths = b"".join(
        _field(2, _field(1, kind.resource.path("{namespace}", "{name}")) + _field(2, _item(kind.resource)))
        for kind in kinds
        if not kind.reviews
    )
    info = _field(1, "Kubernetes") + _field(2, VERSION)
    return _field(1, "2.0") + _field(2, info) + _field(8, paths)


def _item(resource: Resource) -> bytes:
    """A ``PathItem`` with its patch operation."""
    found = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    extension = _field(1, "x-kubernetes-group-version-kind") + _field(2, _field(2, json.dumps(found)))
    parameters = b"".join(_field(8, _parameter(name)) for name in _PARAMETERS)
    return _field(8, parameters + _field(13, extension))


def _parameter(name: str) -> bytes:
    """A ``ParametersItem``: a query parameter of type string."""
    query = _field(2, "query") + _field(4, name) + _field(6, "string")
    return _field(1, _field(2, _field(3, query)))


def _field(number: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
