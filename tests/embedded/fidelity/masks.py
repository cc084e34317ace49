"""What is not compared between the embedded cluster and a real API server, and why. One table each way.

Used by the tests beside it; docs/embedded.md lists what stays different for a person.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from .changes import Json
from .kinds import BY_PLURAL, Tried
from .sides import FURNISHED, Said, Step

_UID = re.compile(r"\b(?!1{8}-|2{8}-)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TIME = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_MADE = re.compile(r"\b(made-)[a-z0-9]{5}\b")
_VERSIONS = re.compile(
    r"(ResourceVersion in (?:record|the precondition|object meta)[ :(]*)\d+|(ResourceVersion: )\d+"
)

_WORDS: tuple[tuple[re.Pattern[str], str], ...] = (
    # Go's name for a type; what is wrong with which field is compared.
    (re.compile(r"( of type )(\[\]|map\[string\])?[\w.]+$"), r"\1*"),
    # A struct as Go prints it.
    (re.compile(r"Invalid value: \{.*\}: "), "Invalid value: {*}: "),
    # What a patch makes of an object that cannot be read, as Go prints it.
    (re.compile(r'Invalid value: "(\{|map\[).*$', re.DOTALL), "Invalid value: *"),
    # Server-side apply tells of the same fault in the words of another parser.
    (
        re.compile(r"^failed to (create typed patch object|convert new object) .*", re.DOTALL),
        "no such object: *",
    ),
    # The difference between two Pods, as Go prints it.
    (re.compile(r"(if it was previously negative\)).*", re.DOTALL), r"\1"),
    # Where in etcd it is.
    (re.compile(r"Key: [^ ,]+, "), "Key: *, "),
    # What is wrong inside of a continue token, which nobody but the server reads.
    (re.compile(r"(continue key is not valid: ).*", re.DOTALL), r"\1*"),
    # What Go's parsers say of a body that they cannot read, with the beginning of the body.
    (re.compile(r"(json parse error: |error decoding patch: |yaml: ).*$", re.DOTALL), r"\1*"),
)
CONTROLLED: dict[str, tuple[str, ...]] = {
    "persistentvolumes": ("status", "metadata.annotations", "metadata.finalizers", "spec.claimRef"),
    "persistentvolumeclaims": ("metadata.annotations",),
    "resourcequotas": ("status",),
    "nodes": ("spec.taints", "metadata.annotations", "status"),
    "namespaces": (),
    "services": (
        "spec.clusterIPs",
        "spec.ipFamilies",
        "spec.ipFamilyPolicy",
    ),
}
"""Kinds that controllers write to at a time of their own: what they write, and the version."""


class Masks:
    """One side's answers with names for what is its own: versions are numbered as they are first seen."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._versions: dict[str, str] = {}

    def __call__(self, step: Step, said: Said) -> Any:
        tried = BY_PLURAL[step.plural]
        if isinstance(said.body, dict) and "strconv.ParseUint" in str(said.body.get("message")):
            return "no version", None, ()  # 400 or 500, by whether the kind is read from a cache
        return (
            said.code,
            self._value(said.body, tried),
            tuple(text for text in said.warnings if said.code < 300 and ' field \\"' in text),
        )

    def event(self, step: Step, event: Json) -> Any:
        """One event of a watch. A bookmark's version is the cluster's, not an object's."""
        told = self._value(event, BY_PLURAL[step.plural])
        if told.get("type") == "BOOKMARK":
            told["object"]["metadata"]["resourceVersion"] = "*"
        return told

    def _value(self, value: Any, tried: Tried) -> Any:
        if isinstance(value, dict):
            if "metadata" in value and isinstance(value["metadata"], dict):
                value = self._object(value, tried)
            if "rows" in value and "columnDefinitions" in value:
                value = _table(value)
            if value.get("kind") == "Status":
                value = _faults(value)
            if "items" in value and "metadata" in value:
                value = {**value, "items": value["items"] or []}
            return {name: self._value(inner, tried) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._value(inner, tried) for inner in value if not self._foreign(inner, tried)]
        return self._text(value) if isinstance(value, str) else value

    def _object(self, obj: Json, tried: Tried) -> Json:
        metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
        version = metadata.get("resourceVersion")
        if version:
            one = str(obj.get("kind", "")).endswith("List") or "rows" in obj or tried.plural in CONTROLLED
            metadata["resourceVersion"] = "*" if one else self._numbered(version)
        if metadata.get("continue"):
            metadata["continue"] = "*"
        if not tried.namespaced:
            metadata.pop("remainingItemCount", None)
        obj = {**obj, "metadata": metadata}
        for path in CONTROLLED.get(tried.plural, ()):
            obj = _without(obj, path.split("."))
        return obj

    def _numbered(self, version: str) -> str:
        return self._versions.setdefault(version, f"version {len(self._versions) + 1}")

    def _foreign(self, item: Any, tried: Tried) -> bool:
        """An object that is not the script's: of the cluster itself, or of another test."""
        metadata = _metadata_of(item)
        if metadata is None:
            return False
        name = str(metadata.get("name"))
        if not tried.namespaced:
            return not name.startswith(self._prefix)
        return name in FURNISHED or (tried.plural == "events" and "." in name and name != "a.b")

    def _text(self, text: str) -> str:
        for what, instead in _WORDS:
            text = what.sub(instead, text)
        text = _UID.sub("*", text)
        text = _MADE.sub(r"\1*", text)
        text = _VERSIONS.sub(lambda found: f"{found[1] or found[2]}*", text)
        return _TIME.sub(_recent, text)


def left_out(event: Json) -> bool:
    """Is an event of a watch about what every namespace has, or a bookmark of the server's own time?"""
    metadata = (event.get("object") or {}).get("metadata") or {}
    return metadata.get("name") in FURNISHED or (
        event.get("type") == "BOOKMARK" and "annotations" not in metadata
    )


def _metadata_of(item: Any) -> Json | None:
    if not isinstance(item, dict):
        return None
    found = item.get("object", item) if "cells" in item else item
    metadata = found.get("metadata") if isinstance(found, dict) else None
    return metadata if isinstance(metadata, dict) and "creationTimestamp" in metadata else None


def _recent(found: re.Match[str]) -> str:
    """Times of now are each side's own; those of a body stay."""
    then = datetime.fromisoformat(found[0])
    return "*" if abs(datetime.now(UTC) - then) < timedelta(hours=12) else found[0]


def _without(obj: Any, path: list[str]) -> Any:
    if not isinstance(obj, dict) or path[0] not in obj:
        return obj
    if len(path) == 1:
        return {name: value for name, value in obj.items() if name != path[0]}
    return {**obj, path[0]: _without(obj[path[0]], path[1:])}


def _faults(status: Json) -> Json:
    """Of invalid fields the causes are compared, in any order and each once: the text is made of them."""
    causes = (status.get("details") or {}).get("causes")
    if not causes:
        return status
    once = {str(sorted(cause.items())): cause for cause in causes}
    message = str(status.get("message")).partition(" is invalid: ")[0]
    details = {**status["details"], "causes": [once[key] for key in sorted(once)]}
    return {**status, "message": message, "details": details}


def _table(table: Json) -> Json:
    """Descriptions are documentation; ages and durations differ from second to second."""
    columns = [{**column, "description": ""} for column in table["columnDefinitions"]]
    ages = [column["name"] in ("Age", "Last Seen", "First Seen") for column in columns]
    rows = [
        {**row, "cells": ["*" if aged else cell for cell, aged in zip(row["cells"], ages, strict=False)]}
        for row in table["rows"] or ()
    ]
    return {**table, "columnDefinitions": columns, "rows": rows}
