"""JSON text → nodes with places. Called by document.py for documents that start with ``{``.

Strict JSON (RFC 8259): no comments, no trailing commas. Unlike the json module it knows where each value
stands, refuses duplicate keys, and bounds depth.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # public in CPython, missing in typeshed

from moorage.core.document.nodes import Entry, Mapping, Node, Parts, Scalar, Sequence, Spell, at, not_finite
from moorage.core.document.yaml_text import MAX_DEPTH, Unreadable
from moorage.core.errors import Problem

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<fraction>(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS = {"true": True, "false": False, "null": None}
_HINTS = {
    "json_syntax": "what starts with { is read as JSON: quote names and strings, no trailing comma",
    "lone_surrogate": "write the character itself, or both halves of its pair",
    "many_documents": "keep one PodTemplate in the file",
    "too_deep": "a Pod needs about 15",
}


class _Reader:
    def __init__(self, text: str, spell: Spell):
        self._spell = spell
        self._text = text
        self._breaks = [-1, *(found.start() for found in re.finditer("\n", text))]
        self._position = 0
        self.problems: list[Problem] = []

    def document(self) -> Mapping | Sequence | Scalar:
        node = self._value((), 0)
        self._skip()
        if self._position < len(self._text):
            raise self._fault((), "there is more after the end of the document", "many_documents")
        return node

    def _place(self, position: int) -> tuple[int, int]:
        line = bisect_right(self._breaks, position - 1)
        return line, position - self._breaks[line - 1]

    def _fault(self, path: Parts, message: str, code: str = "json_syntax") -> Unreadable:
        place = self._place(self._position)
        return Unreadable(Problem(self._spell(path), code, message, _HINTS[code], *place))

    def _skip(self) -> str:
        """Pass white space; the next character, or nothing at the end."""
        found = _SPACE.match(self._text, self._position)
        self._position = found.end() if found else self._position
        return self._text[self._position : self._position + 1]

    def _expect(self, path: Parts, wanted: str) -> str:
        found = self._skip()
        if not found or found not in wanted:
            choice = " or ".join(wanted)
            raise self._fault(path, f"expected {choice} here, found {found or 'the end of the text'}")
        self._position += 1
        return found

    def _value(self, path: Parts, depth: int) -> Node:
        first = self._skip()
        if depth >= MAX_DEPTH:
            raise self._fault(path, f"nested deeper than {MAX_DEPTH} levels", "too_deep")
        if first == "{":
            return self._object(path, depth)
        if first == "[":
            return self._array(path, depth)
        line, column = self._place(self._position)
        if first == '"':
            text = self._string(path)
            return Scalar(line, column, text, text, quoted=True)
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._position):
                self._position += len(word)
                return Scalar(line, column, value, word)
        return self._number(path)

    def _number(self, path: Parts) -> Scalar:
        found = _NUMBER.match(self._text, self._position)
        if found is None:
            raise self._fault(path, "this is no JSON value")
        source, place = found[0], self._place(self._position)
        self._position = found.end()
        whole = not found["fraction"] and len(source) <= 20
        value = int(source) if whole else float(source)
        node = Scalar(*place, value, source)
        self.problems.extend(not_finite(node, self._spell(path)))
        return node

    def _string(self, path: Parts) -> str:
        start = self._position
        try:
            text, self._position = scanstring(self._text, self._position + 1, True)
        except JSONDecodeError as error:
            self._position = min(error.pos, len(self._text))
            raise self._fault(path, error.msg[0].lower() + error.msg[1:]) from None
        if half := _SURROGATE.search(text):
            self._position = start
            message = f"\\u{ord(half[0]):04x} is half of a character"
            raise self._fault(path, message, "lone_surrogate")
        return str(text)

    def _object(self, path: Parts, depth: int) -> Mapping:
        mapping = Mapping(*self._place(self._position))
        self._position += 1
        if self._skip() == "}":
            self._position += 1
            return mapping
        while True:
            if self._skip() != '"':
                raise self._fault(path, "a field name in double quotes must come here")
            line, column = self._place(self._position)
            name = self._string(path)
            inner = (*path, name)
            self._expect(inner, ":")
            entry = Entry(line, column, self._value(inner, depth + 1))
            first = mapping.entries.get(name)
            if first is not None:
                message = f"{name} stands twice: on line {first.line} and on line {line}"
                hint = "keep one of the two, or merge their contents"
                self.problems.append(at(entry, self._spell(inner), "duplicate_key", message, hint))
            mapping.entries[name] = entry
            if self._expect(path, ",}") == "}":
                return mapping

    def _array(self, path: Parts, depth: int) -> Sequence:
        sequence = Sequence(*self._place(self._position))
        self._position += 1
        if self._skip() == "]":
            self._position += 1
            return sequence
        while True:
            sequence.items.append(self._value((*path, len(sequence.items)), depth + 1))
            if self._expect(path, ",]") == "]":
                return sequence


def read_json(text: str, spell: Spell) -> tuple[Node, list[Problem]]:
    """The document of a JSON text and the faults found on the way. Raises Unreadable."""
    reader = _Reader(text, spell)
    return reader.document(), reader.problems
