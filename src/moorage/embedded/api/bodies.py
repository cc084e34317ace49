"""Bytes to objects and back: request bodies in JSON or YAML, answers as JSON, tables or metadata only. Pure.

Called by the API's handlers.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

import msgspec

from moorage.core.document.nodes import plain
from moorage.core.document.read import read_document
from moorage.core.kinds import Json
from moorage.embedded.api import protobuf
from moorage.embedded.faults import Answer
from moorage.embedded.refusal import Refusal, bad_request
from moorage.embedded.registry.fields import Repeated

_UNKNOWN_FORMAT = (
    "the body of the request was in an unknown format - accepted media types include: application/json, "
    "application/yaml, application/vnd.kubernetes.protobuf"
)
LIMIT = 3 * 1024 * 1024
_JSON = frozenset({"", "application/json", "*/*"})
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_YAML = "application/yaml"
_GO_TYPES = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}
_EACH_BYTE = "moorage.each-byte"
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
encode = msgspec.json.Encoder().encode


def too_large() -> Refusal:
    message = f"Request entity too large: limit is {LIMIT}"
    return Refusal(413, "RequestEntityTooLarge", message, {})


def go_type(value: Any) -> str:
    """What Go's JSON decoder calls a value."""
    return _GO_TYPES.get(type(value), "null")


def read_body(body: bytes, content_type: str, kind: str = "") -> Any:
    """A request's body; ``kind``: of which object, where it must be one. Raises Refusal 400 or 415."""
    if content_type == _PROTOBUF:
        try:
            return protobuf.decode(body)
        except protobuf.NotProtobuf as error:
            raise Refusal(415, "UnsupportedMediaType", str(error), {}) from None
    if content_type == _YAML and not body.lstrip().startswith((b"{", b"[")):
        return read_yaml(body)
    if content_type not in _JSON and content_type != _YAML:
        raise Refusal(415, "UnsupportedMediaType", _UNKNOWN_FORMAT)
    try:
        return read_json(body)
    except NotJson as error:
        raise unrecognized(kind, str(error)) from None


class NotJson(Exception):
    """The words of Go's JSON decoder."""


def read_json(body: bytes) -> Any:
    """JSON that remembers repeated keys. Raises NotJson."""
    try:
        return json.loads(_text(body), object_pairs_hook=_pairs, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        if error.pos >= len(error.doc.rstrip()):
            raise NotJson("unexpected end of JSON input") from None
        found = f"invalid character '{error.doc[error.pos]}' looking for beginning of value"
        raise NotJson(found) from None
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None


def _text(body: bytes) -> str:
    """UTF-8 as Go's JSON decoder takes it: U+FFFD for each byte that is none, and for each half of a
    surrogate pair without the other (https://pkg.go.dev/encoding/json#Unmarshal)."""
    text = body.decode("utf-8", _EACH_BYTE)
    return _ESCAPE.sub(lambda found: r"\ufffd" if found["half"] else found[0], text)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error(_EACH_BYTE, _replaced)


def unrecognized(kind: str, why: str) -> Refusal:
    """400: a body that is no object; ``kind``: of which it should be, "" where any would do."""
    told = f"couldn't get version/kind; json parse error: {why}"
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {told}" if kind else told
    )


def read_yaml(body: bytes) -> Any:
    """A document, None for an empty one. Raises Refusal 400."""
    if not body.strip():
        return None
    if body.lstrip().startswith((b"{", b"[")):
        try:
            return read_json(body)
        except NotJson as error:
            raise bad_request(f"error decoding YAML: error converting YAML to JSON: yaml: {error}") from None
    document = read_document(body)
    if document.root is None or document.problems:
        why = document.problems[0].message if document.problems else "empty"
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: yaml: {why}")
    return plain(document.root)


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
