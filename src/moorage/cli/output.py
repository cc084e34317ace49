"""Data on stdout in the form that ``-o`` asks for. Tables are in ``cli.tables``, the forms in ``cli.forms``.

A list is ``{"kind": "List", "items": […]}``; keys keep their order and stay stable between minor versions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from moorage.cli.command import Call
from moorage.cli.forms import Object, render


def print_object(call: Call, value: Object, human: Callable[[], str]) -> None:
    """One object; ``human`` renders it for table and wide."""
    call.terminal.data(render(call.form, value, [value], human))


def print_list(call: Call, items: Sequence[Object], human: Callable[[], str]) -> None:
    """A list; ``human`` renders it for table and wide ("" prints nothing)."""
    call.terminal.data(render(call.form, {"kind": "List", "items": list(items)}, items, human))
