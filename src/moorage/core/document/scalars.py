"""What a YAML scalar is, by the rules kubectl's YAML reader follows (YAML 1.1 without sexagesimals).

Called by document_yaml.py for every unquoted scalar. ``no``, ``on``, ``y`` are booleans, ``0123``, ``1_000``,
``1e3`` are numbers, ``12:30`` and ``2024-01-01`` are strings. PyYAML's own table differs, so it is not used.
tests/core/template_document/scalars.json holds what kubectl's library answered for each form.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

Value: TypeAlias = "str | int | float | bool | None"

_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL = ("", "~", "null", "Null", "NULL")
_NAN = (".nan", ".NaN", ".NAN")
_INFINITE = tuple(sign + word for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF"))
_WORDS: Final[dict[str, Value]] = {
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys(_NULL, None),
    **dict.fromkeys(_NAN, float("nan")),
    **{word: float(word.replace(".", "")) for word in _INFINITE},
}
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)"
    r"|(?P<dec>0|[1-9][0-9]*))"
)
_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BETWEEN_DIGITS = re.compile(r"(?<=[0-9])_(?=[0-9])")
_STARTS_NUMBER = frozenset("+-.0123456789")

STR_TAG: Final = "tag:yaml.org,2002:str"
_TYPED: Final[dict[str, tuple[type, ...]]] = {
    "tag:yaml.org,2002:int": (int,),
    "tag:yaml.org,2002:float": (float, int),
    "tag:yaml.org,2002:bool": (bool,),
    "tag:yaml.org,2002:null": (type(None),),
}


def resolve_plain(text: str) -> Value:
    """The value of an unquoted, untagged scalar. Total: whatever is nothing else is a string."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _STARTS_NUMBER:
        return text
    # Underscores are dropped before a number is read; after a leading point only those between digits.
    digits = _BETWEEN_DIGITS.sub("", text) if text[0] == "." else text.replace("_", "")
    for read in (_integer, _float):
        if (number := read(digits)) is not None:
            return number
    return text


def resolve_tagged(tag: str, text: str) -> Value:
    """The value of a scalar with a core tag (``!!int 5``). Raises ValueError where they disagree."""
    if tag == STR_TAG:
        return text
    value = resolve_plain(text)
    wanted = _TYPED.get(tag)
    if wanted is None or type(value) not in wanted:
        raise ValueError(tag)
    return float(value) if wanted[0] is float and isinstance(value, int) else value


def type_word(value: Value) -> str:
    """How messages call the type of a value."""
    if value is None:
        return "null"
    return {bool: "a boolean", int: "a number", float: "a number", str: "a string"}[type(value)]


def _integer(text: str) -> int | None:
    found = _INTEGER.fullmatch(text)
    if found is None:
        return None
    base, digits = next((base, found[name]) for name, base in _BASES.items() if found[name])
    # 64 bits at most, and only an unsigned number may use the upper half; larger ones are floats.
    limit = 2**64 - 1 if not found["sign"] else 2**63 - (found["sign"] == "+")
    if len(digits) > 70 or (number := int(digits, base)) > limit:
        return None
    return -number if found["sign"] == "-" else number


def _float(text: str) -> float | None:
    if not _FLOAT.fullmatch(text):
        return None
    number = float(text)
    return None if number in (float("inf"), float("-inf")) else number
