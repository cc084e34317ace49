"""Data on stdout in the form that ``-o`` asks for. Tables are in ``cli.tables``, the forms in ``cli.forms``.

A list is ``{"kind": "List", "items": […]}``; keys keep their order and stay stable between minor versions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from moorage.cli.command import Call
from moorage.cli.forms import Object, render, to_yaml


def print_object(call: Call, value: Object, human: Callable[[], str]) -> None:
    """One object; ``human`` renders it for table and wide."""
    call.terminal.data(render(call.form, value, [value], human))


def print_list(call: Call, items: Sequence[Object], human: Callable[[], str]) -> None:
    """A list; ``human`` renders it for table and wide ("" prints nothing)."""
    call.terminal.data(render(call.form, {"kind": "List", "items": list(items)}, items, human))


def print_change(call: Call, kind: str, value: Object, *, first: bool) -> None:
    """One change of a watch, in a form that is no table. With JSON a line, ``{"type", "object"}``, with YAML
    a document of the same; a template is filled in from the object. ``first``: columns get their headers."""
    change = {"type": kind, "object": value}
    if call.output == "json":
        text = json.dumps(change, ensure_ascii=False) + "\n"
    elif call.output == "yaml":
        text = f"---\n{to_yaml(change)}"
    else:
        text = render(call.form, value, [value], lambda: "")
        if call.output == "custom-columns" and not first:
            text = text.split("\n", 1)[1]
    call.terminal.data(text)
