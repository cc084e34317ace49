"""Types of which exactly one field may be set: volume sources, probe handlers, sources of a variable.

Called by typecheck.py for each mapping. The API server refuses these late and without a line; the field
table cannot say it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from moorage.core.document.nodes import Mapping, join
from moorage.core.template import schema
from moorage.core.template.rules.findings import Findings


class _Union(NamedTuple):
    what: str
    fields: tuple[str, ...]
    required: bool = True


def _all_but(type_name: str, *others: str) -> tuple[str, ...]:
    return tuple(name for name in schema.fields(type_name) if name not in others)


_HANDLERS: Final = ("exec", "grpc", "httpGet", "tcpSocket")
_NAMES: Final = frozenset(
    ("Volume", "EnvVar", "EnvVarSource", "EnvFromSource", "VolumeProjection", "Probe", "LifecycleHandler")
)


def _union(type_name: str) -> _Union:
    match type_name:
        case "Volume":
            # Without any source it is an emptyDir, says the API server's defaulting.
            return _Union("source", _all_but("Volume", "name"), required=False)
        case "EnvVar":
            return _Union("value", ("value", "valueFrom"), required=False)
        case "EnvFromSource":
            return _Union("source", _all_but("EnvFromSource", "prefix"))
        case "Probe":
            return _Union("action", _HANDLERS)
        case "LifecycleHandler":
            return _Union("action", ("exec", "httpGet", "sleep", "tcpSocket"))
        case _:
            return _Union("source", _all_but(type_name))


def check_union(findings: Findings, mapping: Mapping, type_name: str, path: str) -> None:
    """Report a second field of a union, or that there is none."""
    if type_name not in _NAMES:
        return
    union = _union(type_name)
    # An empty value beside valueFrom counts as none.
    chosen = [name for name in mapping.entries if name in union.fields and mapping.text(name) != ""]
    chosen = [name for name in chosen if mapping.get(name) is not None]
    for name in chosen[1:]:
        message = f"there can be one {union.what}, here are {chosen[0]} and {name}"
        findings.error(mapping.entries[name], join(path, name), "one_of", message, "keep one of them")
    if union.required and not chosen:
        message = f"one {union.what} is needed, here is none"
        hint = "add one of " + ", ".join(union.fields)
        findings.error(mapping, path, "one_of", message, hint)
