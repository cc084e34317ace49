"""Data on stdout in the form that ``-o`` asks for: JSON, YAML or names. Tables are in ``cli.tables``.

A list is ``{"kind": "List", "items": […]}``; keys keep their order and stay stable between minor versions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from moorage.cli.command import Call

Object = dict[str, Any]


def print_object(call: Call, value: Object, human: Callable[[], str]) -> None:
    """One object; ``human`` renders it for table and wide."""
    call.terminal.data(_render(call.output, value, [value], human))


def print_list(call: Call, items: Sequence[Object], human: Callable[[], str]) -> None:
    """A list; ``human`` renders it for table and wide ("" prints nothing)."""
    call.terminal.data(_render(call.output, {"kind": "List", "items": list(items)}, items, human))


def _render(form: str, whole: Object, items: Sequence[Object], human: Callable[[], str]) -> str:
    if form == "json":
        return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    if form == "yaml":
        return to_yaml(whole)
    if form == "name":
        return "".join(f"{item['name']}\n" for item in items)
    return human()


def to_yaml(value: Any) -> str:
    """YAML with keys in their order."""
    import yaml

    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=False))
