"""A list that is looked at again and again: ``ls --watch`` and ``events --watch``.

On a terminal a table of sessions is drawn over itself. Elsewhere each change is a line, as with kubectl: what
was printed stays, so that it can be piped and kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from moorage.cli.command import Call
from moorage.cli.output import print_change
from moorage.cli.watching import Changes


class WatchedList:
    """One list on stdout. ``in_place``: draw a table over the one before, where the terminal can."""

    def __init__(self, call: Call, *, in_place: bool) -> None:
        self._call = call
        self._is_table = call.output in ("table", "wide") and not call.options.quiet
        terminal = call.terminal
        capable = terminal.stdout_tty and terminal.environ.get("TERM") != "dumb"
        self._in_place = in_place and capable and self._is_table
        self._changes = Changes()
        self._drawn: list[str] = []
        self._begun = False

    def show(self, now: Mapping[str, dict[str, Any]], rows: Callable[[Sequence[str]], str]) -> None:
        """``now``: objects by key; ``rows``: the table of those keys, also of those just deleted."""
        changed = self._changes.since(now)
        if self._in_place:
            self._draw(rows(list(now)))
        elif self._is_table:
            self._append(now, changed, rows)
        else:
            for kind, _, value in changed:
                self._print(kind, value)

    def _print(self, kind: str, value: dict[str, Any]) -> None:
        if self._call.options.quiet:
            self._call.terminal.data(f"{value['name']}\n")
        else:
            print_change(self._call, kind, value, first=not self._begun)
        self._begun = True

    def _append(
        self,
        now: Mapping[str, dict[str, Any]],
        changed: Sequence[tuple[str, str, dict[str, Any]]],
        rows: Callable[[Sequence[str]], str],
    ) -> None:
        """The rows that changed, as wide as they are among all."""
        if not changed:
            return
        gone = [key for kind, key, _ in changed if kind == "DELETED"]
        keys = [*now, *gone]
        header, *lines = rows(keys).splitlines()
        by_key = dict(zip(keys, lines, strict=True))
        shown = [] if self._begun else [header]
        shown += [by_key[key] for _, key, _ in changed]
        self._begun = True
        self._call.terminal.data("".join(f"{line}\n" for line in shown))

    def _draw(self, text: str) -> None:
        lines = text.splitlines()
        height = shutil.get_terminal_size((80, 24)).lines - 1
        if len(lines) > height > 1:
            lines = [*lines[: height - 1], f"… {len(lines) - height + 1} more"]
        if lines == self._drawn:
            return
        up = f"\x1b[{len(self._drawn)}A\r\x1b[J" if self._drawn else ""
        self._drawn = lines
        self._call.terminal.data(up + "".join(f"{line}\n" for line in lines))
