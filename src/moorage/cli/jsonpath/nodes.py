"""What a template is made of. Made by ``parse``, walked by ``evaluate``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Text:
    """Literal text, also a quoted string or a number inside braces."""

    value: str | int | float | bool


@dataclass(frozen=True)
class Field:
    """``.name``"""

    name: str


@dataclass(frozen=True)
class Wildcard:
    """``.*``: all values of a mapping, all items of a list."""


@dataclass(frozen=True)
class Recursive:
    """``..``: the value and everything below it that has parts."""


@dataclass(frozen=True)
class Slice:
    """``[start:end:step]``; None where nothing was written. ``single``: ``[n]``."""

    start: int | None
    end: int | None = None
    step: int | None = None
    single: bool = False


@dataclass(frozen=True)
class Union:
    """``[a,b]``: what each path finds, one after the other."""

    paths: tuple[Path, ...]


@dataclass(frozen=True)
class Filter:
    """``[?(left operator right)]``; the operator ``exists`` has nothing to its right."""

    left: Path
    operator: str
    right: Path


@dataclass(frozen=True)
class Range:
    """``{range path}body{end}``: the body once for each value found."""

    path: Path
    body: Template


Node: TypeAlias = Text | Field | Wildcard | Recursive | Slice | Union | Filter
Path: TypeAlias = tuple[Node, ...]
"""Steps from a value to others: the content of one pair of braces."""
Template: TypeAlias = tuple[Text | Path | Range, ...]
