"""The fields a PodTemplate may have, looked up in the generated table.

Called by the template parser and by whoever needs to know a field's type. The table is read at first use.
Knows types only; which fields Moorage keeps for itself is decided in core/template/rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from moorage.core.document.nodes import Parts, item, join
from moorage.core.template import schema_table

ROOT = "PodTemplate"
STRING, INT32, INT64, BOOL, QUANTITY, PORT, TIME, ANY = "", "i", "l", "b", "q", "p", "t", "x"
LEAVES = frozenset((STRING, INT32, INT64, BOOL, QUANTITY, PORT, TIME, ANY))


@dataclass(frozen=True, slots=True)
class FieldType:
    """What one field holds: ``kind`` is a leaf of the table or a type name, alone or in a list or map."""

    kind: str
    container: str = ""  # "", "[]" or "{}"
    required: bool = False
    values: tuple[str, ...] = ()  # the values of an enum; empty: any


def kubernetes_version() -> str:
    """The Kubernetes release the table was generated from, e.g. ``v1.36.3``."""
    return schema_table.KUBERNETES


@cache
def _paragraphs() -> dict[str, str]:
    joined = schema_table.TABLE.strip().replace("\n ", " ")
    return dict(line.partition(" ")[::2] for line in joined.split("\n"))


@cache
def fields(type_name: str) -> dict[str, FieldType]:
    """Fields of a type by name, e.g. ``fields("Container")``. Raises KeyError for an unknown type."""
    return dict(read_field(word) for word in _paragraphs()[type_name].split())


def types() -> frozenset[str]:
    """Names of all types in the closure of PodTemplate."""
    return frozenset(_paragraphs())


def spell(parts: Parts) -> str:
    """The field path of a place in a PodTemplate: keys of free maps stand in brackets, as in Kubernetes."""
    path, at = "", FieldType(ROOT)
    for part in parts:
        free = at.container == "{}"
        path = item(path, part) if free or isinstance(part, int) else join(path, part)
        if at.container:
            at = FieldType(at.kind)
        else:
            known = fields(at.kind) if at.kind not in LEAVES else {}
            at = known.get(str(part)) or FieldType(ANY)
    return path


def read_field(word: str) -> tuple[str, FieldType]:
    """One word of a table in this notation: the field's name and what it holds."""
    word, _, values = word.partition("=")
    name, _, kind = word.partition(":")
    required = name.endswith("!")
    container = kind[:2] if kind[:2] in ("[]", "{}") else ""
    return name.rstrip("!"), FieldType(
        kind=kind[len(container) :],
        container=container,
        required=required,
        values=tuple(values.split("|")) if values else (),
    )
