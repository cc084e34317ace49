"""What a YAML parser complains of, in words for the author of the document.

Called by document_yaml.py. The parser's own words name grammar productions and differ between its C and
Python editions; its places agree. Knows the text only to tell a tab.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from moorage.core.errors import Problem

LINE_END: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
DEPTH_WORDS: Final = "nesting depth"
"""What the C edition says of a text deeper than it reads."""
_OTHER: Final = (
    "this is not YAML",
    "check indentation, brackets and quotes at this place and just before it",
)
# A word of the parser's context or problem → message, hint. The first that fits; {line} is where it began.
_FAULTS: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "mapping values are not allowed",
        "a ':' stands where no field can be",
        "quote the value, or check indentation",
    ),
    ("flow sequence", "the list opened with [ on line {line} needs a ',' or ']' here", "close it with ]"),
    ("flow mapping", "the mapping opened with {{ on line {line} needs a ',' or '}}' here", "close it with }"),
    ("flow node", "a value is missing here", "fill it in, or close the bracket before it"),
    ("unexpected end of stream", "the quote opened on line {line} is never closed", "close it"),
    (
        "escape",
        "this is no escape sequence of double quotes",
        "write \\\\ for a backslash, or use single quotes",
    ),
    ("cannot start any token", "a value cannot start with this character", "put the value in quotes"),
    ("block scalar", "a block scalar starts with | or > and a line break", "put the text on the next line"),
    (
        "block mapping",
        "this fits no field of the mapping begun on line {line}",
        "check its indentation and quotes",
    ),
    (
        "block collection",
        "this is no item of the list begun on line {line}",
        "start it with '- ', or indent it less",
    ),
    ("anchor", "a name must follow &", "name the anchor, or quote the value"),
    ("alias", "a name must follow *", "name the anchor, or quote the value"),
    ("block node", "a value is missing here", "fill it in, or quote what stands here"),
    ("document start", "there is text after the end of the document", "remove it, or check its indentation"),
)


def place_of(text: str, mark: Any) -> tuple[int, int]:
    """Line and column of a parser's mark. Its C edition puts the end of a text without a last line break on
    a line that is not there."""
    lines = LINE_END.split(text)
    if mark.column == 0 and mark.index >= len(text) and lines[-1]:
        return mark.line, len(lines[-1]) + 1
    return mark.line + 1, mark.column + 1


def syntax_problem(text: str, error: yaml.MarkedYAMLError, too_deep: tuple[str, str]) -> Problem:
    """The problem an error of the parser stands for. ``too_deep``: message and hint for its depth limit."""
    mark = error.problem_mark or error.context_mark
    line, column = place_of(text, mark) if mark is not None else (1, 1)
    said = f"{error.context or ''} {error.problem or ''}"
    if DEPTH_WORDS in said:
        return Problem("", "too_deep", *too_deep, line, column)
    lines = text.split("\n")
    here = lines[line - 1][column - 1 : column] if line <= len(lines) else ""
    if here == "\t" or "tab character" in said:
        return Problem("", "yaml_tab", "a tab where YAML wants spaces", "indent with spaces", line, column)
    began = error.context_mark.line + 1 if error.context_mark is not None else line
    found = ((message, hint) for word, message, hint in _FAULTS if word in said)
    message, hint = next(found, _OTHER)
    return Problem("", "yaml_syntax", message.format(line=began), hint, line, column)
