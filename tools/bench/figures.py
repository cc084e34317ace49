"""Samples, and the tables they are shown in: for people, for documents, for programs.

Used by every benchmark. A row keeps all its samples; what is printed is derived from them.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One thing measured. ``budget`` is the design's figure as text, never judged here."""

    what: str
    unit: str
    values: tuple[float, ...]
    budget: str = ""

    def quantile(self, share: float) -> float:
        """The value below which ``share`` of the samples lie, interpolated."""
        ordered = sorted(self.values)
        at = share * (len(ordered) - 1)
        low = int(at)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (at - low)

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def cells(self) -> list[str]:
        """what, n, median, p10–p90, unit, budget."""
        if len(self.values) == 1:
            spread = ""
        else:
            spread = f"{_shown(self.quantile(0.1))} – {_shown(self.quantile(0.9))}"
        return [self.what, str(len(self.values)), _shown(self.median), spread, self.unit, self.budget]

    def plain(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "what": self.what,
            "unit": self.unit,
            "n": len(self.values),
            "median": self.median,
            "p10": self.quantile(0.1),
            "p90": self.quantile(0.9),
            "budget": self.budget,
            "values": list(self.values),
        }


@dataclass
class Table:
    """Rows measured in one run, interleaved. ``method`` says how, in sentences."""

    key: str
    title: str
    method: str
    rows: list[Row] = field(default_factory=list)

    HEAD = ("what", "n", "median", "p10 – p90", "unit", "budget")

    def text(self) -> str:
        """Aligned columns for a terminal."""
        lines = [list(self.HEAD), *(row.cells() for row in self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.HEAD))]
        body = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        return "\n".join([self.title, *(f"  {line}" for line in body)])

    def markdown(self) -> str:
        """The same with its method, for a document."""
        head = f"| {' | '.join(self.HEAD)} |\n|---|--:|--:|--:|---|---|"
        body = "\n".join(f"| {' | '.join(row.cells())} |" for row in self.rows)
        return f"### {self.title}\n\n{self.method}\n\n{head}\n{body}"

    def plain(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "key": self.key,
            "title": self.title,
            "method": self.method,
            "rows": [row.plain() for row in self.rows],
        }


def _shown(value: float) -> str:
    """Three figures at least, none after the point where they mean nothing."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
