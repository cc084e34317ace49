"""Integers of a query, read as Go's ``strconv`` reads them and refused in its words. Pure.

Called by everything in ``api`` that reads a number of a query; nothing there asks ``str.isdigit``, which also
admits digits that are no numbers.
"""

from __future__ import annotations

import json
import re

from moorage.embedded.refusal import bad_request

_SIGNED = re.compile(r"[+-]?[0-9]+", re.ASCII)
_UNSIGNED = re.compile(r"[0-9]+", re.ASCII)
_DIGITS = 20  # of 2**64 - 1; Python itself reads a few thousand and then refuses
INT64 = range(-(2**63), 2**63)
_UINT64 = range(2**64)


class NotNumber(ValueError):
    """Not an integer of 64 bits; the message is Go's."""


def parse_int(text: str) -> int:
    """``strconv.ParseInt(text, 10, 64)``. Raises NotNumber."""
    return _parse(text, "ParseInt", _SIGNED, INT64)


def parse_uint(text: str) -> int:
    """``strconv.ParseUint(text, 10, 64)``: without a sign. Raises NotNumber."""
    return _parse(text, "ParseUint", _UNSIGNED, _UINT64)


def query_int(text: str) -> int:
    """An integer of a query. Raises Refusal 400 as a kube-apiserver's conversion of queries does."""
    try:
        return parse_int(text)
    except NotNumber as error:
        raise bad_request(str(error)) from None


def _parse(text: str, function: str, form: re.Pattern[str], bounds: range) -> int:
    what = f"strconv.{function}: parsing {json.dumps(text, ensure_ascii=False)}"
    if form.fullmatch(text) is None:
        raise NotNumber(f"{what}: invalid syntax")
    if len(text.lstrip("+-").lstrip("0")) > _DIGITS or int(text) not in bounds:
        raise NotNumber(f"{what}: value out of range")
    return int(text)
