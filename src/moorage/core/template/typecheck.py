"""A mapping against a type of the field table: unknown and missing fields, and the type of every value.

Called by template.py, once from the root. Goes on after each fault, so that one run reports them all.
Judges no meaning: that is for core/template/rules.
"""

from __future__ import annotations

from typing import Any

from moorage.core.document.nodes import Mapping, Node, Scalar, Sequence, item, join, plain
from moorage.core.document.scalars import type_word
from moorage.core.kinds import Json
from moorage.core.template import schema
from moorage.core.template.formats import check_format
from moorage.core.template.leaves import check_leaf
from moorage.core.template.misplaced import unknown_hint
from moorage.core.template.rules.findings import Findings
from moorage.core.template.schema import FieldType
from moorage.core.template.unions import check_union

# Refused as fields of ours rather than as unknown ones, whatever the schema says.
_STATUS = "status"
# Nothing here is text a person left out by mistake: absent and null mean different things to its author.
_NO_NULL = frozenset({("EnvVar", "value"), ("ObjectMeta", "labels"), ("ObjectMeta", "annotations")})


class TypeCheck:
    """One walk. ``check`` returns the mapping as JSON, null fields left out (Kubernetes drops them)."""

    def __init__(self, findings: Findings):
        self._findings = findings

    def check(self, mapping: Mapping, type_name: str, path: str = "") -> Json:
        """Check ``mapping`` as ``type_name``; every fault goes to the findings."""
        known = schema.fields(type_name)
        result: Json = {}
        for name, entry in mapping.entries.items():
            inner = join(path, name)
            field_type = known.get(name)
            if field_type is None:
                self._unknown(mapping, name, type_name, inner)
                result[name] = plain(entry.value)
            elif isinstance(entry.value, Scalar) and entry.value.value is None:
                self._null(entry.value, field_type, type_name, name, inner)
            else:
                result[name] = self._field(entry.value, field_type, inner)
                check_format(self._findings, type_name, name, entry.value, inner)
        for name, field_type in known.items():
            if field_type.required and mapping.get(name) is None:
                self._missing(mapping, name, type_name, path)
        check_union(self._findings, mapping, type_name, path)
        return result

    def _unknown(self, mapping: Mapping, name: str, type_name: str, path: str) -> None:
        place = mapping.entries[name]
        if name == _STATUS and type_name in (schema.ROOT, "PodTemplateSpec"):
            hint = "remove it; the cluster writes status"
            self._findings.error(place, path, "reserved_field", "status is not the author's", hint)
        elif self._findings.known_elsewhere(path):
            message = (
                f"{name} is not in our field table ({schema.kubernetes_version()}), but your cluster knows it"
            )
            hint = "it is sent as written; the cluster's own check decides at launch"
            self._findings.warning(place, path, "unknown_here", message, hint)
        else:
            message = f"{type_name} has no field {name}"
            hint = unknown_hint(name, type_name)
            self._findings.error(place, path, "unknown_field", message, hint)

    def _null(self, node: Scalar, field_type: FieldType, type_name: str, name: str, path: str) -> None:
        if (type_name, name) in _NO_NULL and not field_type.container:
            hint = 'write "" for an empty value'
            self._findings.error(node, path, "not_text", f"{name} is null, not text", hint)

    def _missing(self, mapping: Mapping, name: str, type_name: str, path: str) -> None:
        missing = join(path, name)
        self._findings.error(
            mapping, missing, "missing_field", f"{type_name} needs {name}", f"add {name}: to this block"
        )

    def _field(self, node: Node, field_type: FieldType, path: str) -> Any:
        if field_type.container == "[]":
            if not isinstance(node, Sequence):
                return self._wrong(node, path, "a list", "write each item on its own line, after '- '")
            return [self._item(part, field_type, item(path, index)) for index, part in enumerate(node.items)]
        if field_type.container == "{}":
            if not isinstance(node, Mapping):
                return self._wrong(node, path, "a mapping", "write name: value lines below it")
            return {
                name: self._value(entry.value, field_type, item(path, name))
                for name, entry in node.entries.items()
            }
        return self._value(node, field_type, path)

    def _item(self, node: Node, field_type: FieldType, path: str) -> Any:
        if isinstance(node, Scalar) and node.value is None:
            self._findings.error(
                node, path, "empty_item", "this item is empty", "fill it in or remove the '-'"
            )
            return None
        return self._value(node, field_type, path)

    def _value(self, node: Node, field_type: FieldType, path: str) -> Any:
        if field_type.kind == schema.ANY:
            return plain(node)
        if field_type.kind not in schema.LEAVES:
            if not isinstance(node, Mapping):
                return self._wrong(node, path, "a mapping", "write name: value lines below it")
            return self.check(node, field_type.kind, path)
        if not isinstance(node, Scalar):
            return self._wrong(node, path, "a single value", "write it on the same line, after the colon")
        check_leaf(self._findings, node, field_type, path)
        return node.value

    def _wrong(self, node: Node, path: str, wanted: str, hint: str) -> Any:
        found = {Mapping: "a mapping", Sequence: "a list"}.get(type(node)) or type_word(
            node.value if isinstance(node, Scalar) else None
        )
        self._findings.error(node, path, "wrong_type", f"this must be {wanted}, not {found}", hint)
        return plain(node)
