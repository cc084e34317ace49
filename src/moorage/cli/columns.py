"""``-o custom-columns=NAME:.path,…``: kubectl's form, width for width. Pure.

Called by ``cli.forms``. A value that is not there, or null, is ``<none>``; several are joined by commas.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from moorage.cli.jsonpath import BadTemplate, find, parse
from moorage.cli.jsonpath.evaluate import scalar_text
from moorage.cli.jsonpath.nodes import Template
from moorage.cli.text import plain

NONE: Final = "<none>"
_LEAST: Final = 6
_GAP: Final = 3
_RELAXED: Final = re.compile(r"\{\.?([^{}]+)\}|\.?([^{}]+)")
"""``.a.b``, ``a.b``, ``{.a.b}`` or ``{a.b}``."""


@dataclass(frozen=True)
class Column:
    """One column: what stands above it, and where its values are found."""

    header: str
    path: Template


def parse_columns(text: str) -> tuple[Column, ...]:
    """Raises BadTemplate."""
    if not text:
        raise BadTemplate("no columns are given, e.g. NAME:.name,STATUS:.status")
    return tuple(_column(part) for part in text.split(","))


def _column(part: str) -> Column:
    header, colon, path = part.partition(":")
    match = _RELAXED.fullmatch(path)
    if not colon or not match:
        raise BadTemplate(f"{part!r} is no column; write HEADER:.path, e.g. NAME:.name")
    return Column(header, parse(f"{{.{match[1] or match[2]}}}"))


def columns_text(columns: Sequence[Column], items: Sequence[Any], *, headers: bool = True) -> str:
    """A line for the headers, and one for each item. Raises PathFailed."""
    rows = [[plain(_cell(column, item)) for column in columns] for item in items]
    if headers:
        rows.insert(0, [plain(column.header) for column in columns])
    widths = [max(_LEAST, _GAP + max(map(len, cells))) for cells in zip(*rows, strict=True)]
    return "".join(
        "".join(f"{cell:<{width}}" for cell, width in zip(row[:-1], widths, strict=False)) + row[-1] + "\n"
        for row in rows
    )


def _cell(column: Column, item: Any) -> str:
    found = find(column.path, item)
    return ",".join(_shown(value, NONE) for value in found) if found else NONE


def _shown(value: Any, null: str) -> str:
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_shown(value[key], '<nil>')}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(_shown(item, "<nil>") for item in value) + "]"
    return scalar_text(value, null)
