"""Tables without borders, cut to the terminal's width; colour only for status words.

Everything in a cell is made plain first: what a Pod or cluster says cannot drive the terminal.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Final

from moorage.cli.terminal import Terminal
from moorage.cli.text import plain

_STYLES: Final = {
    "Running": "green",
    "ok": "green",
    "Starting": "yellow",
    "Stopping": "yellow",
    "warning": "yellow",
    "Unhealthy": "red",
    "Failed": "red",
    "failed": "red",
    "Unknown": "magenta",
    "Paused": "dim",
    "Stopped": "dim",
    "not_run": "dim",
}


def table(
    terminal: Terminal,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    flexible: Sequence[str] = (),
) -> str:
    """The table as text, a line per row, no trailing blanks. Columns named in ``flexible`` are cut first
    when the width does not suffice."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colour = terminal.colour()
    grid = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold" if colour else "")
    for name in header:
        if name in flexible:
            grid.add_column(name, no_wrap=True, overflow="ellipsis", min_width=len(name))
        else:
            grid.add_column(name, no_wrap=True, overflow="ellipsis", min_width=_widest(name, header, rows))
    for row in rows:
        cells = [plain(cell) or "-" for cell in row]
        grid.add_row(*[Text(cell, style=_STYLES.get(cell, "") if colour else "") for cell in cells])
    console = Console(
        file=io.StringIO(),
        width=terminal.width(),
        color_system="standard" if colour else None,
        force_terminal=colour,
        no_color=not colour,
        legacy_windows=False,
        markup=False,
        highlight=False,
    )
    with console.capture() as capture:
        console.print(grid)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _widest(name: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    from rich.cells import cell_len

    at = header.index(name)
    return max([len(name), *(cell_len(plain(row[at])) for row in rows)])
