"""Does a server's OpenAPI know a field that our table lacks: the ``known_elsewhere`` of a template check.

Called by whoever holds a connection and met ``unknown_field``; the document is that of
``/openapi/v3/api/v1``. Pure; answers False for whatever it cannot follow.
"""

from __future__ import annotations

import re
from typing import Any

from moorage.core.kinds import Json
from moorage.core.template.rules.findings import KnownElsewhere

_ROOT = "io.k8s.api.core.v1.PodTemplate"
_PART = re.compile(r"(?P<field>[^.\[\]]+)|\[(?P<item>[^\]]*)\]")


def known_in(openapi: Json) -> KnownElsewhere:
    """A function from a field path (``template.spec.containers[0].new``) to whether the server knows it."""
    schemas = (openapi.get("components") or {}).get("schemas") or {}

    def known(path: str) -> bool:
        schema: Any = schemas.get(_ROOT)
        for part in _PART.finditer(path):
            schema = _resolve(schemas, schema)
            if part["field"] is not None:
                schema = (schema.get("properties") or {}).get(part["field"])
            else:
                schema = schema.get("items") or schema.get("additionalProperties")
            if not isinstance(schema, dict):
                return False
        return bool(path)

    return known


def _resolve(schemas: Json, schema: Any) -> Json:
    """The schema behind a reference, alone or in an ``allOf`` of one as servers write it."""
    for candidate in (schema, *(schema.get("allOf") or ())) if isinstance(schema, dict) else ():
        if "$ref" in candidate:
            found: Json = schemas.get(str(candidate["$ref"]).rsplit("/", 1)[1]) or {}
            return found
    return schema if isinstance(schema, dict) else {}
