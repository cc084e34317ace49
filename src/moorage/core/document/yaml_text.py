"""YAML text → nodes with places. Called by document.py only.

PyYAML delivers parser events; everything else is decided here: types of scalars (scalars.py), duplicate
keys, merge keys, tags, and bounds on depth and on what aliases expand to. Nothing is ever constructed
from a tag. Works without recursion, so nesting cannot exhaust a stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from moorage.core.document.nodes import Entry, Mapping, Node, Scalar, Sequence, Spell, at, item, not_finite
from moorage.core.document.scalars import STR_TAG, resolve_plain, resolve_tagged, type_word
from moorage.core.document.yaml_faults import syntax_problem
from moorage.core.errors import Problem

MAX_DEPTH = 64
MAX_WEIGHT = 1024 * 1024
"""Bound on a document with its aliases expanded: 16 a value plus its characters."""
_TOO_DEEP = (f"nested deeper than {MAX_DEPTH} levels", "a Pod needs about 15")
_VALUE_WEIGHT = 16
_MERGE = "<<"
_CORE_TAGS = {"map": "tag:yaml.org,2002:map", "seq": "tag:yaml.org,2002:seq"}
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Unreadable(Exception):
    """Reading cannot go on; carries the one problem that says why."""

    def __init__(self, problem: Problem):
        super().__init__(problem.message)
        self.problem = problem


@dataclass(slots=True)
class _Frame:
    """An open mapping or list. ``key`` is the mapping's field whose value comes next."""

    node: Mapping | Sequence
    anchor: str | None
    key: Scalar | None = None
    skip_value: bool = False  # the key could not be used; its value is read and dropped
    merge: Node | None = None
    merge_key: Scalar | None = None
    before_merge: list[str] = field(default_factory=list)


class _Builder:
    def __init__(self, spell: Spell) -> None:
        self._spell = spell
        self.problems: list[Problem] = []
        self.documents: list[Node] = []
        self._stack: list[_Frame] = []
        self._anchors: dict[str, Node] = {}
        self._open_anchors: set[str] = set()
        self._weight = 0

    def feed(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent():
                self._close(self._scalar(event), event.anchor)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._open(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._end()
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.DocumentStartEvent():
                self._anchors, self._open_anchors = {}, set()
            case _:
                pass

    def _path(self, *below: str) -> str:
        parts: list[str | int] = []
        for frame in self._stack:
            if isinstance(frame.node, Sequence):
                parts.append(len(frame.node.items))
            elif frame.key is not None:
                parts.append(frame.key.source)
        return self._spell((*parts, *below))

    def _place(self, event: Any) -> tuple[int, int]:
        return event.start_mark.line + 1, event.start_mark.column + 1

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        line, column = self._place(event)
        text, plain = event.value, event.style in (None, "")
        node = Scalar(line, column, text, text, not plain, _VALUE_WEIGHT + len(text))
        tag = event.tag
        if tag in (None, "!"):
            node.value = resolve_plain(text) if plain and tag is None else text
            self.problems.extend(not_finite(node, self._path()))
            return node
        try:
            node.value = resolve_tagged(tag, text)
        except ValueError:
            self._bad_tag(node, tag)
        node.quoted = tag == STR_TAG
        self.problems.extend(not_finite(node, self._path()))
        return node

    def _bad_tag(self, node: Node, tag: str) -> None:
        shown = tag.replace("tag:yaml.org,2002:", "!!")
        hint = "remove the tag; quote the value if it is text"
        self.problems.append(at(node, self._path(), "yaml_tag", f"the tag {shown} is not allowed here", hint))

    def _open(self, event: Any) -> None:
        line, column = self._place(event)
        mapping = isinstance(event, yaml.MappingStartEvent)
        node: Mapping | Sequence = Mapping(line, column) if mapping else Sequence(line, column)
        if event.tag not in (None, "!", _CORE_TAGS["map" if mapping else "seq"]):
            self._bad_tag(node, event.tag)
        if event.anchor:
            self._open_anchors.add(event.anchor)
        node.weight = _VALUE_WEIGHT
        self._bound_depth(node)
        self._stack.append(_Frame(node, event.anchor))

    def _bound_depth(self, node: Node) -> None:
        """Aliases count with what they stand for, so that every walk of the result is bounded too."""
        if len(self._stack) + node.height > MAX_DEPTH:
            raise Unreadable(at(node, self._path(), "too_deep", *_TOO_DEEP))

    def _end(self) -> None:
        frame = self._stack.pop()
        if isinstance(frame.node, Mapping) and frame.merge is not None:
            self._apply_merge(frame, frame.node, frame.merge)
        if frame.anchor:
            self._open_anchors.discard(frame.anchor)
        self._close(frame.node, frame.anchor)

    def _alias(self, event: yaml.AliasEvent) -> None:
        line, column = self._place(event)
        name = event.anchor
        if name in self._open_anchors or name not in self._anchors:
            recursive = name in self._open_anchors
            message = f"*{name} contains itself" if recursive else f"*{name} has no anchor before it"
            hint = "write the part out" if recursive else f"put &{name} on the value to repeat"
            raise Unreadable(Problem(self._path(), "yaml_alias", message, hint, line, column))
        self._bound_depth(self._anchors[name])
        self._close(self._anchors[name], None)

    def _close(self, node: Node, anchor: str | None) -> None:
        """A whole node was read: remember its anchor and hand it to what encloses it."""
        if anchor:
            self._anchors[anchor] = node
        if not self._stack:
            self.documents.append(node)
            return
        frame = self._stack[-1]
        frame.node.weight += node.weight
        frame.node.height = max(frame.node.height, node.height + 1)
        if frame.node.weight > MAX_WEIGHT:
            message = "the document becomes too large when its aliases are written out"
            raise Unreadable(at(node, self._path(), "too_large", message, "repeat less by alias"))
        if isinstance(frame.node, Sequence):
            frame.node.items.append(node)
        elif frame.key is None and not frame.skip_value:
            self._take_key(frame, frame.node, node)
        else:
            self._take_value(frame, frame.node, node)

    def _take_key(self, frame: _Frame, mapping: Mapping, node: Node) -> None:
        if not isinstance(node, Scalar):
            self.problems.append(
                at(node, self._path(), "bad_key", "a field name must be text", "use a plain word as the key")
            )
            frame.skip_value = True
        elif node.value == _MERGE and not node.quoted:
            frame.key = node
            if frame.merge_key is not None:
                self._duplicate(node, frame.merge_key.line)
            frame.merge_key, frame.before_merge = node, list(mapping.entries)
        elif not isinstance(node.value, str):
            shown = node.source or "null"
            message = f"the field name {shown} is {type_word(node.value)}, not text"
            path = item(self._path(), shown)
            self.problems.append(at(node, path, "bad_key", message, f'quote it: "{shown}"'))
            frame.skip_value = True
        else:
            frame.key = node
            if node.value in mapping.entries:
                self._duplicate(node, mapping.entries[node.value].line)

    def _duplicate(self, key: Scalar, first: int) -> None:
        message = f"{key.source} stands twice: on line {first} and on line {key.line}"
        hint = "keep one of the two, or merge their contents"
        self.problems.append(at(key, self._path(), "duplicate_key", message, hint))

    def _take_value(self, frame: _Frame, mapping: Mapping, node: Node) -> None:
        key, frame.key = frame.key, None
        if frame.skip_value or key is None:
            frame.skip_value = False
        elif key is frame.merge_key:
            frame.merge = node
        else:
            mapping.entries[str(key.value)] = Entry(key.line, key.column, node)

    def _apply_merge(self, frame: _Frame, mapping: Mapping, merge: Node) -> None:
        for source in merge.items if isinstance(merge, Sequence) else [merge]:
            if not isinstance(source, Mapping):
                hint = "merge a mapping: <<: *anchor"
                self.problems.append(at(source, self._path(), "yaml_merge", "<< takes mappings only", hint))
                continue
            for name, entry in source.entries.items():
                if name in frame.before_merge:
                    # YAML keeps the explicit value, kubectl the merged one: nobody should have to know.
                    message = f"{name} stands before << which sets it too; readers differ on which one wins"
                    place = mapping.entries[name]
                    self.problems.append(at(place, self._path(name), "yaml_merge", message, "put << first"))
                mapping.entries.setdefault(name, entry)


def _events(text: str) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise Unreadable(syntax_problem(text, error, _TOO_DEEP)) from None
    except yaml.YAMLError as error:  # the reader's: a character the checks before did not know
        raise Unreadable(
            Problem("", "yaml_syntax", str(error).split("\n")[0], "save it as plain UTF-8 text", 1, 1)
        ) from None


def read_yaml(text: str, spell: Spell) -> tuple[list[Node], list[Problem]]:
    """All documents of a YAML text and the faults found on the way. Raises Unreadable."""
    builder = _Builder(spell)
    for event in _events(text):
        builder.feed(event)
    return builder.documents, builder.problems
