"""Single values against the field table: text, numbers, booleans, quantities, ports, enums.

Called by typecheck.py for each scalar. Messages follow one pattern: what the value is, what is wanted,
what to write instead.
"""

from __future__ import annotations

import re

from moorage.core.document.nodes import Scalar, shown
from moorage.core.document.scalars import type_word
from moorage.core.names import nearest
from moorage.core.quantities import parse_quantity
from moorage.core.template import schema
from moorage.core.template.rules.findings import Findings
from moorage.core.template.schema import FieldType

_INTEGER_LIMITS = {schema.INT32: 31, schema.INT64: 63}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_MAX_PORT = 65535
_LONGEST_QUANTITY = 64


def check_leaf(findings: Findings, node: Scalar, field_type: FieldType, path: str) -> None:
    """Report what is wrong with the value at ``path``, if anything."""
    match field_type.kind:
        case schema.BOOL:
            _boolean(findings, node, path)
        case schema.INT32 | schema.INT64:
            _integer(findings, node, _INTEGER_LIMITS[field_type.kind], path)
        case schema.QUANTITY:
            _quantity(findings, node, path)
        case schema.PORT:
            _port_or_name(findings, node, path)
        case _:
            _text(findings, node, field_type, path)


def _text(findings: Findings, node: Scalar, field_type: FieldType, path: str) -> None:
    if not isinstance(node.value, str):
        findings.error(node, path, "not_text", *_not_text(node, path))
    elif field_type.kind == schema.TIME and not _TIME.fullmatch(node.value):
        findings.error(node, path, "bad_value", "this is no time", "write it like 2026-01-31T12:00:00Z")
    elif field_type.values and node.value and node.value not in field_type.values:
        message = f"{_said(node)} is none of the values allowed here"
        hint = _suggest(node.value, field_type.values)
        findings.error(node, path, "bad_value", message, hint)


def _not_text(node: Scalar, path: str) -> tuple[str, str]:
    kind = type_word(node.value)
    if node.value is None:
        return f"{_said(node)} is null here, but text is wanted", 'write "" for an empty value'
    # The value of a variable may be a credential: words like no are told, numbers are not.
    if isinstance(node.value, int | float) and not isinstance(node.value, bool) and path.endswith(".value"):
        return f"this is {kind}, but text is wanted", "quote it, with double quotes around it"
    said = shown(node.source)[1:-1]
    return f"{said} is {kind} here, but text is wanted", f'quote it: "{said}"'


def _suggest(value: str, allowed: tuple[str, ...]) -> str:
    by_lower = {word.lower(): word for word in allowed}
    close = nearest(value.lower(), by_lower)
    if close:
        return f"did you mean {by_lower[close]}?"
    return "write one of " + ", ".join(allowed)


def _said(node: Scalar) -> str:
    return shown(node.source)[1:-1] or "nothing"


def _is_quantity(text: str) -> bool:
    return len(text) <= _LONGEST_QUANTITY and parse_quantity(text) is not None


def _boolean(findings: Findings, node: Scalar, path: str) -> None:
    if not isinstance(node.value, bool):
        message = f"{_said(node)} is {type_word(node.value)}, but true or false is wanted"
        hint = (
            "remove the quotes" if node.source in ("true", "false") else "write true or false, without quotes"
        )
        findings.error(node, path, "wrong_type", message, hint)


def _integer(findings: Findings, node: Scalar, bits: int, path: str) -> None:
    value = node.value
    digits = node.source.lstrip("+-").isdecimal() and not isinstance(value, str)
    if digits and not -(2**bits) <= float(value or 0) < 2**bits:
        hint = f"the largest possible value is {2**bits - 1}"
        findings.error(node, path, "out_of_range", f"{_said(node)} does not fit this field", hint)
    elif isinstance(value, bool) or not isinstance(value, int):
        message = f"{_said(node)} is {type_word(value)}, but a whole number is wanted"
        if isinstance(value, float):
            message = f"{_said(node)} is a number with a fraction or exponent, but a whole number is wanted"
        hint = "write digits only, without quotes, point or exponent"
        findings.error(node, path, "wrong_type", message, hint)


def _quantity(findings: Findings, node: Scalar, path: str) -> None:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        message = f"{_said(node)} is no quantity"
        findings.error(node, path, "bad_quantity", message, "write it like 500m, 2 or 1.5Gi")
    elif isinstance(value, str) and not _is_quantity(value):
        message = f"{_said(node)} is no quantity"
        findings.error(node, path, "bad_quantity", message, _quantity_hint(value))


def _quantity_hint(text: str) -> str:
    """The nearest right spelling of what people write: ``1GB``, ``512 Mi``, ``512mb``, ``0,5``."""
    tight = text.replace(" ", "").replace(",", ".")
    for unit in ("K", "M", "G", "T"):
        for wrong in (f"{unit}iB", f"{unit}B", f"{unit}b", f"{unit.lower()}b", f"{unit.lower()}i"):
            if tight.endswith(wrong) and _is_quantity(number := tight.removesuffix(wrong)):
                return f"did you mean {number}{unit}i?"
    if _is_quantity(tight):
        return f"did you mean {tight}?"
    return "write it like 500m, 2 or 1.5Gi"


def _port_or_name(findings: Findings, node: Scalar, path: str) -> None:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | str):
        message = f"{_said(node)} is neither a port number nor the name of a port"
        findings.error(node, path, "wrong_type", message, "write 8080, or the name of a port")
    elif isinstance(value, int) and not 1 <= value <= _MAX_PORT:
        findings.error(node, path, "out_of_range", f"{value} is no port", f"ports go from 1 to {_MAX_PORT}")
    elif isinstance(value, str) and value.isdecimal():
        hint = "write the number without quotes"
        findings.error(node, path, "wrong_type", f'"{value}" is text, and no port has this name', hint)
