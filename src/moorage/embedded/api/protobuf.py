"""Kubernetes' protobuf encoding of the kinds that kubectl sends in it (``create``, ``auth can-i``).

Called by ``bodies`` for requests only; answers are JSON, which every client takes. Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from moorage.core.kinds import Json

MAGIC = b"k8s\x00"
_LAST_SECOND = 253402300799  # the end of the year 9999
# A type a line: its name, then number:field:type. Types: s text, i number, b boolean, y bytes (base64 in
# JSON), t time, q quantity, else a type of this table; [] a list, {} a map of text to it. From the
# generated.proto files of the Kubernetes API.
_TABLE = """
ClusterRole 1:metadata:ObjectMeta 2:rules:[]PolicyRule
ClusterRoleBinding 1:metadata:ObjectMeta 2:subjects:[]Subject 3:roleRef:RoleRef
ConfigMap 1:metadata:ObjectMeta 2:data:{}s 3:binaryData:{}y 4:immutable:b
DeleteOptions 1:gracePeriodSeconds:i 2:preconditions:Preconditions 3:orphanDependents:b 4:propagationPolicy:s 5:dryRun:[]s
Eviction 1:metadata:ObjectMeta 2:deleteOptions:DeleteOptions
LocalObjectReference 1:name:s
Namespace 1:metadata:ObjectMeta 2:spec:NamespaceSpec 3:status:NamespaceStatus
NamespaceSpec 1:finalizers:[]s
NamespaceStatus 1:phase:s
NonResourceAttributes 1:path:s 2:verb:s
ObjectMeta 1:name:s 2:generateName:s 3:namespace:s 5:uid:s 6:resourceVersion:s 7:generation:i 8:creationTimestamp:t 9:deletionTimestamp:t 10:deletionGracePeriodSeconds:i 11:labels:{}s 12:annotations:{}s 13:ownerReferences:[]OwnerReference 14:finalizers:[]s
ObjectReference 1:kind:s 2:namespace:s 3:name:s 4:uid:s 5:apiVersion:s 6:resourceVersion:s 7:fieldPath:s
OwnerReference 1:kind:s 3:name:s 4:uid:s 5:apiVersion:s 6:controller:b 7:blockOwnerDeletion:b
PolicyRule 1:verbs:[]s 2:apiGroups:[]s 3:resources:[]s 4:resourceNames:[]s 5:nonResourceURLs:[]s
Preconditions 1:uid:s 2:resourceVersion:s
PriorityClass 1:metadata:ObjectMeta 2:value:i 3:globalDefault:b 4:description:s 5:preemptionPolicy:s
ResourceAttributes 1:namespace:s 2:verb:s 3:group:s 4:version:s 5:resource:s 6:subresource:s 7:name:s
ResourceQuota 1:metadata:ObjectMeta 2:spec:ResourceQuotaSpec
ResourceQuotaSpec 1:hard:{}q 2:scopes:[]s
Role 1:metadata:ObjectMeta 2:rules:[]PolicyRule
RoleBinding 1:metadata:ObjectMeta 2:subjects:[]Subject 3:roleRef:RoleRef
RoleRef 1:apiGroup:s 2:kind:s 3:name:s
Secret 1:metadata:ObjectMeta 2:data:{}y 3:type:s 4:stringData:{}s 5:immutable:b
SelfSubjectAccessReview 1:metadata:ObjectMeta 2:spec:SelfSubjectAccessReviewSpec
SelfSubjectAccessReviewSpec 1:resourceAttributes:ResourceAttributes 2:nonResourceAttributes:NonResourceAttributes
SelfSubjectReview 1:metadata:ObjectMeta
SelfSubjectRulesReview 1:metadata:ObjectMeta 2:spec:SelfSubjectRulesReviewSpec
SelfSubjectRulesReviewSpec 1:namespace:s
ServiceAccount 1:metadata:ObjectMeta 2:secrets:[]ObjectReference 3:imagePullSecrets:[]LocalObjectReference 4:automountServiceAccountToken:b
Subject 1:kind:s 2:apiGroup:s 3:name:s 4:namespace:s
TokenRequest 1:metadata:ObjectMeta 2:spec:TokenRequestSpec
TokenRequestSpec 1:audiences:[]s 3:boundObjectRef:BoundObjectReference 4:expirationSeconds:i
BoundObjectReference 1:kind:s 2:apiVersion:s 3:name:s 4:uid:s
"""  # noqa: E501 - a table
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class NotProtobuf(ValueError):
    """The bytes are no message, or of a type that is not in the table."""


class _Field(NamedTuple):
    name: str
    kind: str
    container: str


@cache
def _types() -> dict[str, dict[int, _Field]]:
    found = {}
    for line in _TABLE.strip().split("\n"):
        name, *words = line.split(" ")
        found[name] = dict(_read(word) for word in words)
    return found


def _read(word: str) -> tuple[int, _Field]:
    number, name, kind = word.split(":")
    container = kind[:2] if kind[:2] in ("[]", "{}") else ""
    return int(number), _Field(name, kind[len(container) :], container)


def decode(body: bytes) -> Json:
    """A request's body as the object its JSON would be. Raises NotProtobuf."""
    if not body.startswith(MAGIC):
        raise NotProtobuf("not a Kubernetes protobuf message")
    envelope = dict(_fields(body[len(MAGIC) :]))
    type_meta = dict(_fields(_bytes(envelope.get(1, b""))))
    api_version, kind = (_bytes(type_meta.get(at, b"")).decode("utf-8", "replace") for at in (1, 2))
    if kind not in _types():
        raise NotProtobuf(f"protobuf is not taken for {kind}, only JSON and YAML")
    return {"apiVersion": api_version, "kind": kind, **_message(_bytes(envelope.get(2, b"")), kind)}


def _message(data: bytes, type_name: str) -> Json:
    known = _types()[type_name]
    result: Json = {}
    for number, value in _fields(data):
        field = known.get(number)
        if field is None:
            continue
        if field.container == "{}":
            entry = dict(_fields(_bytes(value)))
            key = _bytes(entry.get(1, b"")).decode("utf-8", "replace")
            result.setdefault(field.name, {})[key] = _value(entry.get(2, b""), field.kind)
        elif field.container == "[]":
            result.setdefault(field.name, []).append(_value(value, field.kind))
        else:
            found = _value(value, field.kind)
            if found not in ("", None):
                result[field.name] = found
    return result


def _value(value: int | bytes, kind: str) -> Any:
    match kind:
        case "s":
            return _bytes(value).decode("utf-8", "replace")
        case "y":
            return base64.b64encode(_bytes(value)).decode()
        case "b":
            return bool(value)
        case "i":
            number = value if isinstance(value, int) else 0
            return number - (1 << 64) if number >= 1 << 63 else number
        case "t":
            return _time(_bytes(value))
        case "q":
            return _bytes(dict(_fields(_bytes(value))).get(1, b"0")).decode("utf-8", "replace")
    return _message(_bytes(value), kind)


def _time(data: bytes) -> str | None:
    seconds = dict(_fields(data)).get(1)
    if not isinstance(seconds, int) or seconds > _LAST_SECOND:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise NotProtobuf("a number where bytes are wanted")
    return value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
        elif wire == _BYTES:
            length, at = _varint(data, at)
            if at + length > len(data):
                raise NotProtobuf("the message ends early")
            yield number, data[at : at + length]
            at += length
        elif wire in (_FIXED64, _FIXED32):
            at += 8 if wire == _FIXED64 else 4
        else:
            raise NotProtobuf(f"wire type {wire}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7
    raise NotProtobuf("the message ends early")
