"""Kubeconfig text to plain values, with the place of each: bounded, and without YAML's surprises.

Called by ``kube.kubeconfig``. Never opens files and never shows a value in an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from moorage.core.document.yaml_faults import DEPTH_WORDS, place_of
from moorage.core.errors import DocumentError, Problem

MAX_BYTES = 4 * 1024 * 1024
MAX_NODES = 200_000
MAX_DEPTH = 64

Value: TypeAlias = "str | bool | int | list[Value] | dict[str, Value] | None"
"""Scalars stay text: every kubeconfig field is a string, but for one boolean that its reader knows.
Only extensions, which are handed on to plugins, keep their types."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NUMBER = re.compile("[0-9]{1,19}")  # of more digits it would be another number to whoever reads it
_TOO_DEEP = "the file nests too deeply, or refers to itself"
_BOOLEANS = {"true": True, "false": False}


@dataclass
class Document:
    """One parsed file. ``places`` maps a field path (``clusters[0].name``) to line and column."""

    source: str
    root: dict[str, Value]
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    def fault(self, path: str, code: str, message: str, hint: str = "", *, place: str = "") -> DocumentError:
        """The error for ``path``; ``place`` is the path as written where that differs."""
        line, column = self.places.get(place or path, (0, 0))
        problem = Problem(path, code, message, hint, line, column)
        where = f"{self.source}:{line}:{column}" if line else self.source
        shown = f"{path}: " if path else ""
        return DocumentError(f"{where}: {shown}{message}", [problem], hint=hint)


def parse(source: str, text: bytes) -> Document:
    """Read one kubeconfig. Raises DocumentError for anything that is no bounded YAML mapping."""
    document = Document(source, {})
    if len(text) > MAX_BYTES:
        raise document.fault("", "too_large", f"a kubeconfig of more than {MAX_BYTES} bytes")
    try:
        decoded = text.decode("utf-8-sig")
        _bound_depth(document, decoded)
        node = yaml.compose(decoded, Loader=_LOADER)
        root = None if node is None else _Reader(document).read(node, "")
    except UnicodeDecodeError:
        raise document.fault("", "not_utf8", "the file is not UTF-8 text") from None
    except RecursionError:
        raise document.fault("", "too_deep", _TOO_DEEP) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        document.places[""] = place_of(decoded, mark) if mark else (0, 0)
        if DEPTH_WORDS in str(error.context or "") + str(error.problem or ""):
            raise document.fault("", "too_deep", _TOO_DEEP) from None
        # The parser's own snippet could quote a token; its problem text names only syntax.
        raise document.fault(
            "", "syntax", "this is not valid YAML", "check indentation and quotes on this line"
        ) from None
    except (yaml.YAMLError, ValueError, OverflowError):  # the latter: the parser's own, without its C edition
        raise document.fault("", "syntax", "this is not valid YAML") from None
    if root is None:
        root = {}
    if not isinstance(root, dict):
        raise document.fault("", "type", "a kubeconfig is a mapping with clusters, contexts and users")
    document.root = root
    return document


def _bound_depth(document: Document, text: str) -> None:
    """Before anything that takes a stack, or time by the square of the depth."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            document.places[""] = place_of(text, event.start_mark)
            raise document.fault("", "too_deep", _TOO_DEEP)


class _Reader:
    """Converts nodes, counting them so that alias bombs end."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._left = MAX_NODES

    def read(self, node: yaml.Node, path: str) -> Value:
        self._left -= 1
        if self._left < 0:
            raise self._document.fault(
                "", "too_large", f"more than {MAX_NODES} values once aliases are expanded"
            )
        self._document.places.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node, self._text(node, path), typed=".extensions[" in path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, f"{path}[{index}]") for index, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        raise self._document.fault(path, "type", "an unsupported kind of value")

    def _mapping(self, node: yaml.MappingNode, path: str) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._document.fault(path, "type", "keys must be plain text")
            name = self._text(key, path)
            inner = f"{path}.{name}" if path else name
            if name in found:
                raise self._document.fault(inner, "duplicate", "this key stands twice")
            found[name] = self.read(value, inner)
        return found

    def _text(self, node: yaml.ScalarNode, path: str) -> str:
        text = str(node.value)
        if _SURROGATE.search(text):  # only PyYAML's own parser lets one through
            raise self._document.fault(path, "not_utf8", "holds half a character (\\ud800 to \\udfff)")
        return text


def _scalar(node: yaml.ScalarNode, text: str, *, typed: bool) -> str | bool | int | None:
    if node.tag == "tag:yaml.org,2002:null":
        return None
    if typed and node.tag == "tag:yaml.org,2002:bool":
        return _BOOLEANS.get(text.lower(), text)
    if typed and node.tag == "tag:yaml.org,2002:int" and _NUMBER.fullmatch(text):
        return int(text)
    return text
