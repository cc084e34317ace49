"""A document as values with places: what the YAML and JSON readers make and the template checks walk.

Pure data. Lines and columns count from 1. A node that an alias repeats is one shared object.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from moorage.core.document.scalars import Value
from moorage.core.errors import Problem


@dataclass(slots=True)
class Scalar:
    """A leaf. ``source`` is the text as written, without quotes; ``quoted`` tells whether it had them.

    In every node ``weight`` counts its size and ``height`` the levels below it, aliases written out.
    """

    line: int
    column: int
    value: Value
    source: str
    quoted: bool = False
    weight: int = 0
    height: int = 0


@dataclass(slots=True)
class Sequence:
    """A list."""

    line: int
    column: int
    items: list[Node] = field(default_factory=list)
    weight: int = 0
    height: int = 1


@dataclass(slots=True)
class Entry:
    """One field of a mapping; the place is the key's."""

    line: int
    column: int
    value: Node


@dataclass(slots=True)
class Mapping:
    """Fields by name, in document order."""

    line: int
    column: int
    entries: dict[str, Entry] = field(default_factory=dict)
    weight: int = 0
    height: int = 1

    def get(self, name: str) -> Node | None:
        """The value of a field; None where it is absent or null (which Kubernetes takes for absent)."""
        entry = self.entries.get(name)
        if entry is None or (isinstance(entry.value, Scalar) and entry.value.value is None):
            return None
        return entry.value

    def mapping(self, name: str) -> Mapping | None:
        """The field as a mapping, None where it is anything else."""
        value = self.get(name)
        return value if isinstance(value, Mapping) else None

    def items(self, name: str) -> Iterator[tuple[int, Node]]:
        """Index and value of each item of a list field; nothing where it is no list."""
        value = self.get(name)
        return iter(enumerate(value.items) if isinstance(value, Sequence) else ())

    def mappings(self, name: str) -> Iterator[tuple[int, Mapping]]:
        """Index and value of each mapping in a list field."""
        return ((index, item) for index, item in self.items(name) if isinstance(item, Mapping))

    def scalar(self, name: str) -> Scalar | None:
        """The field as a scalar, None where it is anything else."""
        value = self.get(name)
        return value if isinstance(value, Scalar) else None

    def text(self, name: str) -> str | None:
        """The field's string, None where it is absent or no string."""
        value = self.get(name)
        return value.value if isinstance(value, Scalar) and isinstance(value.value, str) else None


Node: TypeAlias = Scalar | Sequence | Mapping
Parts: TypeAlias = tuple[str | int, ...]
"""A place in a document: names of fields and indexes of items from the root."""
Spell: TypeAlias = Callable[[Parts], str]
"""How a reader writes such a place as a field path."""
_LONGEST = 1000
Place: TypeAlias = Node | Entry | None


def at(place: Place, path: str, code: str, message: str, hint: str = "") -> Problem:
    """A Problem at a node or key; without a place its line and column stay 0.

    Its words quote the document, which may hold anything: they are made one line of bounded length.
    """
    line, column = (place.line, place.column) if place is not None else (0, 0)
    return Problem(_one_line(path), code, _one_line(message), _one_line(hint), line, column)


def _one_line(text: str) -> str:
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def plain(node: Node) -> Any:
    """The JSON value of a node, as written; null fields of mappings are kept."""
    if isinstance(node, Mapping):
        return {name: plain(entry.value) for name, entry in node.entries.items()}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return node.value


def not_finite(node: Scalar, path: str) -> list[Problem]:
    """The problem with ``.nan``, ``.inf`` and numbers too large for JSON, in a list of none or one."""
    if not isinstance(node.value, float) or math.isfinite(node.value):
        return []
    return [at(node, path, "bad_value", f"{shown(node.source)} is no number JSON can hold", "write digits")]


def shown(text: str, limit: int = 60) -> str:
    """A piece of the document as messages show it: in quotes, escaped, cut where it is long."""
    return repr(text if len(text) <= limit else text[:limit] + "…")


def spell_plain(parts: Parts) -> str:
    """A path of which nothing is known but its parts."""
    path = ""
    for part in parts:
        path = join(path, part) if isinstance(part, str) else item(path, part)
    return path


def join(path: str, name: str) -> str:
    """A field's path below another: ``spec`` + ``containers``; the root's path is empty."""
    return f"{path}.{_word(name)}" if path else _word(name)


def item(path: str, index: int | str) -> str:
    """An item's path: of a list by number, of a free map by key (``labels[app.kubernetes.io/name]``)."""
    return f"{path}[{index if isinstance(index, int) else _word(index)}]"


def _word(name: str) -> str:
    """A key inside a path: one line, never longer than a legal key with its prefix can be."""
    return shown(name, 320)[1:-1]
