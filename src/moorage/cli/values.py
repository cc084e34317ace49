"""Types of flag values: durations, lines, ports, forms of output. Pure; used as the command line is read.

A bad value raises click.BadParameter or UsageError; ``cli.app`` prints either as a usage error (exit 2).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from moorage.cli.forms import TEMPLATES, WORDS, parse_form

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?")


class Duration(click.ParamType[float]):
    """``90``, ``90s``, ``1m30s``, ``1h``, ``500ms``, made seconds. ``least``, ``most``: in seconds."""

    name = "duration"

    def __init__(self, least: float = 0.0, most: float = float("inf")) -> None:
        self._least = least
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = self._seconds(value, param, ctx)
        if not self._least <= seconds <= self._most:
            self.fail(f"{value!r} does not lie between {self._least:g}s and {self._most:g}s", param, ctx)
        return seconds

    def _seconds(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        text = str(value).strip()
        if re.fullmatch(r"\d+(?:\.\d+)?", text):
            return float(text)
        match = _DURATION.fullmatch(text)
        if not text or match is None:
            self.fail(f"{value!r} is not a duration; write for example 30s, 5m or 1h30m", param, ctx)
        hours, minutes, seconds, millis = (float(part or 0) for part in match.groups())
        return hours * 3600 + minutes * 60 + seconds + millis / 1000


class Lines(click.ParamType[int]):
    """A number of lines, 0 or more."""

    name = "lines"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        if not (text.isascii() and text.isdigit()):
            self.fail(f"{value!r} is not a number of lines", param, ctx)
        return int(text)


class Ports(click.ParamType[tuple[int, int]]):
    """``[LOCAL:]PORT``: (port of this machine, 0 for a free one; port in the Pod)."""

    name = "ports"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        local, colon, remote = str(value).rpartition(":")
        first = self._port(local or "0", 0, value, param, ctx) if colon else None
        port = self._port(remote, 1, value, param, ctx)
        return (port if first is None else first, port)

    def _port(
        self, text: str, least: int, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= 65535):
            self.fail(f"{value!r} is not [LOCAL:]PORT, e.g. 8080, 5000:80 or 0:80", param, ctx)
        return int(text)


class Output(click.ParamType[str]):
    """What ``-o`` takes, checked; kept as typed."""

    name = "output"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        parse_form(str(value))
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        words = [*WORDS, *(f"{word}=" for word in TEMPLATES)]
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


DURATION = Duration()
REQUEST_TIMEOUT = Duration(1, 300)
"""The bounds that ``settings`` has, too."""
SINCE = Duration(1)
"""The kubelet counts in whole seconds."""
LINES = Lines()
OUTPUT = Output()
PORTS = Ports()
