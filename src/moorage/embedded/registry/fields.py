"""A request's object against the table of fields: unknown ones, wrong types, and what a server makes of it.

Called by the registry before anything else looks at an object. Reports as a kube-apiserver's decoder does:
the first wrong type ends it (400), unknown and duplicate fields are collected. Judges no meaning.
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import cache
from typing import Any

from moorage.core.kinds import Json
from moorage.core.quantities import parse_quantity
from moorage.core.template import schema
from moorage.core.template.schema import FieldType
from moorage.embedded.registry import fields_table
from moorage.embedded.registry.amounts import canonical

_WORDS = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}
_GO = {"": "string", "b": "bool", "i": "int32", "l": "int64", "t": "v1.Time", "x": "v1.FieldsV1"}
_QUANTITY = re.compile(r"([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_BYTES = {("Secret", "data"), ("ConfigMap", "binaryData")}


class WrongType(Exception):
    """The text of the server's decoder."""


@cache
def _ours() -> dict[str, dict[str, FieldType]]:
    joined = fields_table.TABLE.strip().replace("\n ", " ")
    return {
        name: dict(schema.read_field(word) for word in words.split())
        for name, _, words in (line.partition(" ") for line in joined.split("\n"))
    }


def fields_of(type_name: str) -> dict[str, FieldType]:
    """The fields of a type of either table. KeyError when there is none."""
    return _ours().get(type_name) or schema.fields(type_name)


class Repeated(dict[str, Any]):
    """A JSON object in which a key stood twice; ``keys_twice`` names them."""

    keys_twice: tuple[str, ...] = ()

    def again(self) -> Repeated:
        """A shallow copy that still knows."""
        found = Repeated(self)
        found.keys_twice = self.keys_twice
        return found


class Decoder:
    """One walk over one object. ``faults``: what strict validation refuses, in the order met."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def decode(self, obj: Json, type_name: str) -> Json:
        """``obj`` without what the type does not have, without nulls, empties as Go leaves them out.

        Raises WrongType.
        """
        return self._struct(obj, type_name, "", "")

    def metadata(self, obj: Json, kind: str) -> Json:
        """``obj`` of a kind without a table: its metadata decoded, all else as it is. Raises WrongType."""
        found = FieldType("ObjectMeta")
        given = obj.get("metadata")
        obj["metadata"] = self._field(
            {} if given is None else given, found, "metadata", kind, "metadata", "metadata"
        )
        return obj

    def _struct(self, value: Any, type_name: str, path: str, dotted: str) -> Json:
        known = fields_of(type_name)
        result: Json = {}
        for name in value.keys_twice if isinstance(value, Repeated) else ():
            self.faults.append(f'duplicate field "{_join(path, name)}"')
        for name, inner in value.items():
            field = known.get(name)
            if field is None:
                self.faults.append(f'unknown field "{_join(path, name)}"')
            elif inner is not None or field.kind == "x":
                found = self._field(inner, field, name, type_name, _join(path, name), _join(dotted, name))
                if not _left_out(found, field, name, type_name):
                    result[name] = found
        return result

    def _field(self, value: Any, field: FieldType, name: str, owner: str, path: str, dotted: str) -> Any:
        where = f"{owner}.{dotted}"
        if field.container == "[]":
            if not isinstance(value, list):
                raise _wrong(value, where, "[]" + _go(field.kind))
            items = enumerate(value)
            return [self._value(item, field, where, f"{path}[{at}]", dotted) for at, item in items]
        if field.container == "{}":
            if not isinstance(value, dict):
                raise _wrong(value, where, "map[string]string" if field.kind == "" else "v1.ResourceList")
            found = {
                key: self._value("" if item is None else item, field, where, f"{path}[{key}]", dotted)
                for key, item in value.items()
            }
            if (owner, name) in _BYTES:
                _check_base64(found)
            return found
        if (owner, name) in fields_table.MICRO and isinstance(value, str):
            return _micro_time(value)
        return self._value(value, field, where, path, dotted)

    def _value(self, value: Any, field: FieldType, where: str, path: str, dotted: str) -> Any:
        if field.kind == schema.ANY:
            return value
        if field.kind not in schema.LEAVES:
            if value is None:
                value = {}
            if not isinstance(value, dict):
                raise _wrong(value, where, _go(field.kind))
            return self._struct(value, field.kind, path, dotted)
        return _leaf("" if value is None else value, field.kind, where)


def _leaf(value: Any, kind: str, where: str) -> Any:
    if kind == schema.QUANTITY:
        return _quantity(value)
    if kind == schema.PORT:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise _wrong(value, where, "int32")
        return value
    wanted: tuple[type, ...] = {"b": (bool,), "i": (int,), "l": (int,)}.get(kind, (str,))
    if type(value) not in wanted:
        raise _wrong(value, where, _go(kind))
    bits = {"i": 31, "l": 63}.get(kind)
    if bits and not -(2**bits) <= value < 2**bits:
        raise _wrong(value, where, _go(kind))
    if kind == schema.TIME and not _TIME.fullmatch(value):
        layout = "2006-01-02T15:04:05Z07:00"
        raise WrongType(f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"')
    return value


def _micro_time(value: str) -> str:
    if not _MICRO_TIME.fullmatch(value):
        layout, rest = "2006-01-02T15:04:05.000000Z07:00", value[19:]
        cut = (rest, ".000000") if _TIME.fullmatch(value) else (value, "2006")
        raise WrongType(f'parsing time "{value}" as "{layout}": cannot parse "{cut[0]}" as "{cut[1]}"')
    return value


def _quantity(value: Any) -> str:
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not _QUANTITY.fullmatch(text):
        raise WrongType(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    if parse_quantity(text) is None:
        raise WrongType("unable to parse quantity's suffix")
    return canonical(text)


def _check_base64(values: Json) -> None:
    for text in values.values():
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            good = re.match(r"[A-Za-z0-9+/]*", text)
            at = len(good[0]) // 4 * 4 if good and len(good[0]) == len(text) else len(good[0] if good else "")
            raise WrongType(f"illegal base64 data at input byte {at}") from None


def _left_out(value: Any, field: FieldType, name: str, owner: str) -> bool:
    """Does Go's encoder leave it out?"""
    if (owner, name) in fields_table.ALWAYS or field.kind == "x":
        return False
    if value in ([], {}) and field.container:
        return True
    if value == "":
        return name not in fields_table.KEPT_EMPTY
    if value is False:
        return name not in fields_table.KEPT_FALSE
    return value == 0 and field.kind != schema.PORT and name in fields_table.DROPPED_ZERO


def _wrong(value: Any, where: str, wanted: str) -> WrongType:
    word = _WORDS.get(type(value), "null")
    if word == "number" and wanted in ("int32", "int64"):
        word = f"number {value}"
    return WrongType(f"json: cannot unmarshal {word} into Go struct field {where} of type {wanted}")


def _go(kind: str) -> str:
    return _GO.get(kind) or f"v1.{kind}"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
