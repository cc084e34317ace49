"""Tables without borders, one line a row, cut to the terminal's width; colour only for status words.

Everything in a cell is made plain first: what a Pod or cluster says cannot drive the terminal. Widths are
counted in terminal cells (rich.cells knows wide and combining characters). rich's own Table is not used:
when space is short it drops or wraps columns that must stay whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from moorage.cli.terminal import Terminal
from moorage.cli.text import plain

GAP: Final = "   "
NARROWEST: Final = 8
"""Cells that a column which may be cut keeps at least."""

_BOLD: Final = "1"
_STYLES: Final = {
    "Running": "32",
    "ok": "32",
    "Starting": "33",
    "Stopping": "33",
    "warning": "33",
    "Unhealthy": "31",
    "Failed": "31",
    "failed": "31",
    "Unknown": "35",
    "Paused": "2",
    "Stopped": "2",
    "not_run": "2",
}


def table(
    terminal: Terminal,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    flexible: Sequence[str] = (),
    right: Sequence[str] = (),
) -> str:
    """The table as text without trailing blanks. Where the width does not suffice, columns named in
    ``flexible`` are cut, the widest first; the others stay whole, also beyond the width. Columns named in
    ``right`` end at one edge: numbers."""
    from rich.cells import cell_len

    cells = [[plain(cell) or "-" for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(header, *cells, strict=True)]
    _shrink(widths, [at for at, name in enumerate(header) if name in flexible], terminal.width())
    colour = terminal.colour()
    lines = []
    for number, row in enumerate([list(header), *cells]):
        parts = []
        for cell, width, name in zip(row, widths, header, strict=True):
            fitting = cut(cell, width)
            blanks = " " * (width - cell_len(fitting))
            shown = blanks + fitting if name in right else fitting + blanks
            style = _BOLD if number == 0 else _STYLES.get(cell, "")
            parts.append(_styled(shown, style) if colour and style else shown)
        lines.append(GAP.join(parts).rstrip())
    return "".join(f"{line}\n" for line in lines)


def cut(text: str, width: int) -> str:
    """``text`` in at most ``width`` terminal cells; what was cut ends with ``…``."""
    from rich.cells import cell_len, set_cell_size

    cell = plain(text)
    return cell if cell_len(cell) <= width else set_cell_size(cell, width - 1) + "…"


def _shrink(widths: list[int], flexible: Sequence[int], available: int) -> None:
    """Take cells from the widest flexible column until the row fits or none can give any more."""
    while sum(widths) + len(GAP) * (len(widths) - 1) > available:
        widest = max(
            (at for at in flexible if widths[at] > NARROWEST), key=lambda at: widths[at], default=None
        )
        if widest is None:
            return
        widths[widest] -= 1


def _styled(cell: str, style: str) -> str:
    text = cell.rstrip()
    return f"\x1b[{style}m{text}\x1b[0m{' ' * (len(cell) - len(text))}"
