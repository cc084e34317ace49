"""The text of a template made into nodes. Raises BadTemplate, which says where the fault is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from moorage.cli.jsonpath.nodes import (
    Field,
    Filter,
    Node,
    Path,
    Range,
    Recursive,
    Slice,
    Template,
    Text,
    Union,
    Wildcard,
)

_ENDS: Final = frozenset(" \t\r\n.,[]$@{}")
"""Characters that end a name."""
_NUMBER: Final = re.compile(r"[+-]?[\d.]+")
_NAME: Final = re.compile(r"(?:\\.|[^ \t\r\n.,\[\]$@{}\\])*", re.S)
_SLICE: Final = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?")
_COMPARISON: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.S)
OPERATORS: Final = ("==", "!=", "<", "<=", ">", ">=")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\"}
_CODE: Final = {"x": 2, "u": 4, "U": 8}
"""Hexadecimal digits after each letter."""


class BadTemplate(ValueError):
    """What is wrong, and at which character (from 1)."""


def parse(text: str) -> Template:
    """A whole template: literal text, and paths in braces."""
    return _Template(text).read()


@dataclass
class _Open:
    """A range whose end was not read yet."""

    path: Path
    outer: list[Text | Path | Range]
    at: int


@dataclass
class _Template:
    text: str
    open: list[_Open] = field(default_factory=list)

    def read(self) -> Template:
        nodes: list[Text | Path | Range] = []
        at = 0
        while at < len(self.text):
            brace = self.text.find("{", at)
            if brace != at:
                literal = self.text[at:] if brace < 0 else self.text[at:brace]
                nodes.append(Text(literal))
                at += len(literal)
                continue
            action = _Action(self.text, brace + 1)
            path = action.read()
            at = action.at
            nodes = self._place(nodes, action.word, path, brace)
        if self.open:
            raise _fault(self.open[-1].at, "{range …} without an {end}")
        return tuple(nodes)

    def _place(
        self, nodes: list[Text | Path | Range], word: str, path: Path, at: int
    ) -> list[Text | Path | Range]:
        if word == "range":
            self.open.append(_Open(path, nodes, at))
            return []
        if word == "end":
            if not self.open:
                raise _fault(at, "{end} without a {range …} before it")
            return self._close(nodes)
        nodes.append(path)
        return nodes

    def _close(self, body: list[Text | Path | Range]) -> list[Text | Path | Range]:
        last = self.open.pop()
        last.outer.append(Range(last.path, tuple(body)))
        return last.outer


class _Action:
    """The content of one pair of braces, from ``at`` on. ``word``: ``range`` or ``end`` where it says so."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self.at = at
        self.word = ""

    def read(self) -> Path:
        nodes: list[Node] = []
        while True:
            char = self._text[self.at : self.at + 1]
            if not char or char in "\r\n":
                raise _fault(self.at, "a brace is not closed")
            if char == "}":
                self.at += 1
                return tuple(nodes)
            self._step(char, nodes)

    def _step(self, char: str, nodes: list[Node]) -> None:
        rest = self._text[self.at :]
        if rest.startswith("[?("):
            nodes.append(self._filter())
        elif rest.startswith(".."):
            self._recursive(nodes)
        elif char in " @$":
            self.at += 1
        elif char == "[":
            nodes.extend(self._brackets())
        elif char in "\"'":
            nodes.append(Text(self._quoted(char)))
        elif char == ".":
            self.at += 1
            nodes.append(self._name())
        elif char in "+-" or char.isdigit():
            nodes.append(self._number())
        elif char == "_" or char.isalpha():
            self._identifier(nodes)
        else:
            raise _fault(self.at, f"{char!r} is not expected here")

    def _recursive(self, nodes: list[Node]) -> None:
        if nodes and isinstance(nodes[-1], Recursive):
            raise _fault(self.at, "'..' stands twice")
        self.at += 2
        nodes.append(Recursive())
        follows = self._text[self.at : self.at + 1]
        if follows == "_" or follows.isalnum():
            nodes.append(self._name())

    def _name(self) -> Field | Wildcard:
        match = _NAME.match(self._text, self.at)
        assert match is not None, "the pattern matches nothing, too"
        self.at = match.end()
        return Wildcard() if match[0] == "*" else Field(match[0].replace("\\", ""))

    def _number(self) -> Text:
        match = _NUMBER.match(self._text, self.at)
        text = match[0] if match else self._text[self.at]
        try:
            value: int | float = int(text) if text.lstrip("+-").isdigit() else float(text)
        except ValueError:
            raise _fault(self.at, f"{text!r} is no number") from None
        self.at += len(text)
        return Text(value)

    def _identifier(self, nodes: list[Node]) -> None:
        begin = self.at
        while self._text[self.at : self.at + 1] not in _ENDS and self.at < len(self._text):
            self.at += 1
        word = self._text[begin : self.at]
        if word in ("true", "false"):
            nodes.append(Text(word == "true"))
        elif word in ("range", "end") and not self.word and not nodes:
            self.word = word
        else:
            raise _fault(begin, f"{word!r} is no word of a template; a field is written .{word}")

    def _quoted(self, quote: str) -> str:
        begin = self.at
        at = begin + 1
        while True:
            char = self._text[at : at + 1]
            if not char or char == "\n":
                raise _fault(begin, "a quoted text is not closed")
            if char == quote and self._text[at - 1] != "\\":
                break
            at += 1
        self.at = at + 1
        return _unescaped(self._text[begin + 1 : at], quote, begin)

    def _brackets(self) -> tuple[Node, ...]:
        begin = self.at
        close = self._text.find("]", begin)
        if close < 0 or "\n" in self._text[begin:close]:
            raise _fault(begin, "'[' is not closed")
        self.at = close + 1
        return _inside_brackets(self._text[begin + 1 : close], begin)

    def _filter(self) -> Filter:
        begin = self.at
        close = _end_of_filter(self._text, begin)
        text = self._text[begin + 3 : close]
        if self._text[close + 1 : close + 2] != "]":
            raise _fault(close, "after ')' of a filter stands ']'")
        self.at = close + 2
        match = _COMPARISON.fullmatch(text)
        if match is None:
            return Filter(_path(text, begin), "exists", ())
        if match[2] not in OPERATORS:
            raise _fault(begin, f"{match[2]!r} is no comparison; use one of {' '.join(OPERATORS)}")
        return Filter(_path(match[1], begin), match[2], _path(match[3], begin))


def _end_of_filter(text: str, begin: int) -> int:
    """Where the ``)`` of a filter stands: not within its (one) quoted text."""
    quote = ""
    for at in range(begin + 3, len(text)):
        char = text[at]
        if char == "\n":
            break
        if quote:
            quote = "" if char == quote and text[at - 1] != "\\" else quote
        elif char in "\"'":
            quote = char
        elif char == ")":
            return at
    raise _fault(begin, "a filter is not closed")


def _inside_brackets(text: str, at: int) -> tuple[Node, ...]:
    if text == "*":
        return (Slice(None),)
    if "," in text:
        parts = [part.strip(" ") for part in text.split(",")]
        return (Union(tuple(_inside_brackets(part, at) for part in parts)),)
    if len(text) >= 2 and text[0] == text[-1] == "'" and "'" not in text[1:-1]:
        return _path(f".{text[1:-1]}", at)
    match = _SLICE.fullmatch(text)
    if match is None:
        raise _fault(at, f"[{text}] is neither a number, a slice, a name in single quotes nor a filter")
    start, end, step = (_whole(part, at) for part in match.groups())
    if match[2] is None:
        if start is None:
            raise _fault(at, "[] holds nothing")
        return (Slice(start, single=True),)
    return (Slice(start, end, step),)


def _whole(part: str | None, at: int) -> int | None:
    digits = (part or "").lstrip(":")
    if digits == "-":
        raise _fault(at, "'-' is no number")
    return int(digits) if digits else None


def _path(text: str, at: int) -> Path:
    action = _Action(text + "}", 0)
    try:
        path = action.read()
    except BadTemplate as error:
        raise _fault(at, str(error).split(": ", 1)[-1]) from None
    if action.word or action.at != len(text) + 1:
        raise _fault(at, f"{text!r} is no path")
    return path


def _unescaped(text: str, quote: str, at: int) -> str:
    """Escapes as Go has them in a string."""
    if "\\" not in text:
        return text
    out, pos = [], 0
    while pos < len(text):
        if text[pos] != "\\":
            out.append(text[pos])
            pos += 1
            continue
        letter = text[pos + 1 : pos + 2]
        if letter in _CODE:
            digits = text[pos + 2 : pos + 2 + _CODE[letter]]
            if not re.fullmatch(rf"[0-9a-fA-F]{{{_CODE[letter]}}}", digits):
                raise _fault(at, f"\\{letter}{digits} is no character")
            out.append(chr(int(digits, 16)))
            pos += 2 + len(digits)
        elif letter in _ESCAPES or letter == quote:
            out.append(_ESCAPES.get(letter, letter))
            pos += 2
        else:
            raise _fault(at, f"\\{letter} is no escape")
    return "".join(out)


def _fault(at: int, message: str) -> BadTemplate:
    return BadTemplate(f"at character {at + 1}: {message}")
