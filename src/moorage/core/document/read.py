"""Bytes → exactly one document as nodes with places. Called by template.py.

Decides encoding, size and the number of documents; ``{`` starts JSON, all else is YAML. Never raises on
any input: what is wrong comes back as problems. Knows nothing of Kubernetes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from moorage.core.document.json_text import read_json
from moorage.core.document.nodes import Mapping, Node, Scalar, Spell, at, spell_plain
from moorage.core.document.yaml_faults import LINE_END
from moorage.core.document.yaml_text import Unreadable, read_yaml
from moorage.core.errors import Problem

MAX_BYTES = 256 * 1024
_BOM = "\ufeff"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
# What YAML calls printable, less the BOM inside a text.
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


class Document(NamedTuple):
    """``root`` is None where the text could not be read to its end or is no mapping."""

    root: Mapping | None
    problems: list[Problem]


def read_document(text: bytes | str, spell: Spell = spell_plain) -> Document:
    """Read one YAML or JSON document of at most MAX_BYTES UTF-8 bytes. Total: never raises.

    ``spell`` writes the field paths of problems.
    """
    try:
        decoded = _decode(text)
        if decoded.lstrip().startswith("{"):
            node, problems = read_json(decoded, spell)
        else:
            documents, problems = read_yaml(decoded, spell)
            node = _only(documents)
    except Unreadable as stop:
        return Document(None, [stop.problem])
    if not isinstance(node, Mapping):
        message = "the document must be a mapping of fields"
        hint = "start with apiVersion: v1 and kind: PodTemplate"
        return Document(None, [*problems, at(node, "", "not_a_mapping", message, hint)])
    return Document(node, problems)


def _decode(text: bytes | str) -> str:
    if isinstance(text, str):
        text = text.encode("utf-8", "surrogatepass")
    if len(text) > MAX_BYTES:
        message = f"{len(text)} bytes; a template may have at most {MAX_BYTES} (256 KiB)"
        raise Unreadable(Problem("", "too_large", message, "move large text into a ConfigMap", 1, 1))
    if text.startswith(_UTF16) or b"\x00" in text[:2]:
        raise Unreadable(Problem("", "encoding", "this is UTF-16, not UTF-8", "save it as UTF-8", 1, 1))
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        before = text[: error.start].decode("utf-8")
        message = f"byte 0x{text[error.start]:02x} is not UTF-8"
        raise Unreadable(Problem("", "encoding", message, "save it as UTF-8", *_end_of(before))) from None
    bom = decoded.startswith(_BOM)
    decoded = decoded[1:] if bom else decoded
    if found := _FORBIDDEN.search(decoded):
        message = f"the control character U+{ord(found[0]):04X} is not allowed in a document"
        place = _end_of(decoded[: found.start()])
        raise Unreadable(Problem("", "control_character", message, "remove it", *place))
    return decoded


def _end_of(text: str) -> tuple[int, int]:
    """Line and column of the character after ``text``."""
    lines = LINE_END.split(text)
    return len(lines), len(lines[-1]) + 1


def _only(documents: list[Node]) -> Node:
    """The one document that is not empty; a stray ``---`` does no harm."""
    full = [node for node in documents if not (isinstance(node, Scalar) and node.value is None)]
    if not full:
        message = "the document is empty"
        raise Unreadable(Problem("", "empty_document", message, "write one v1 PodTemplate", 1, 1))
    if len(full) > 1:
        message = f"{len(full)} documents; there must be exactly one"
        raise Unreadable(
            at(full[1], "", "many_documents", message, "keep exactly one PodTemplate in the file")
        )
    return full[0]
