"""Bytes to objects and back: request bodies in JSON or YAML, answers as JSON, tables or metadata only. Pure.

Called by the API's handlers.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from moorage.core.document.nodes import plain
from moorage.core.document.read import read_document
from moorage.core.kinds import Json
from moorage.embedded.api import protobuf
from moorage.embedded.faults import Answer
from moorage.embedded.refusal import Refusal, bad_request, unsupported_media
from moorage.embedded.registry.fields import Repeated

LIMIT = 3 * 1024 * 1024
_JSON = frozenset({"", "application/json", "*/*"})
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_YAML = frozenset({"application/yaml", "application/apply-patch+yaml", "application/apply-patch"})
encode = msgspec.json.Encoder().encode


def too_large() -> Refusal:
    message = f"Request entity too large: limit is {LIMIT}"
    return Refusal(413, "RequestEntityTooLarge", message, {})


def read_body(body: bytes, content_type: str) -> Any:
    """A request's body. Raises Refusal 400 or 415."""
    if content_type == _PROTOBUF:
        try:
            return protobuf.decode(body)
        except protobuf.NotProtobuf as error:
            raise Refusal(415, "UnsupportedMediaType", str(error), {}) from None
    if content_type in _YAML and not body.lstrip().startswith((b"{", b"[")):
        document = read_document(body)
        if document.root is None or document.problems:
            why = document.problems[0].message if document.problems else "empty"
            raise bad_request(f"error decoding YAML: {why}")
        return plain(document.root)
    if content_type not in _JSON and content_type not in _YAML and not content_type.endswith("+json"):
        raise unsupported_media()
    try:
        return json.loads(body, object_pairs_hook=_pairs, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None


def _pairs(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeated = Repeated(pairs)
    names = [name for name, _ in pairs]
    repeated.keys_twice = tuple(dict.fromkeys(name for name in names if names.count(name) > 1))
    return repeated


def _no_number(text: str) -> None:
    raise ValueError(f"invalid character '{text[0]}' looking for beginning of value")


def answer(body: Json, status: int = 200, warnings: list[str] | None = None) -> Answer:
    """An object as it is answered."""
    headers = {}
    if warnings:
        headers["Warning"] = ", ".join(f'299 - "{_escaped(text)}"' for text in warnings)
    return Answer(status, encode(body), "application/json", headers)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def refused(refusal: Refusal) -> Answer:
    """A refusal as it is answered."""
    headers = {}
    if refusal.problem.retry_after:
        headers["Retry-After"] = str(int(refusal.problem.retry_after))
    return Answer(refusal.problem.http_status, encode(refusal.status), "application/json", headers)


def asked_shape(accept: str) -> str:
    """``Table``, ``PartialObjectMetadata`` (of lists too) or "" for plain objects."""
    for part in accept.split(","):
        words = {word.strip() for word in part.split(";")}
        if "application/json" not in words:
            continue
        for word in words:
            if word.startswith("as="):
                return word.removeprefix("as=").removesuffix("List")
        return ""
    return ""


def metadata_only(obj: Json) -> Json:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj["metadata"],
    }
