"""What a search of one target came to, and the table of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Found:
    """``executions`` inputs were tried in ``seconds``; ``crashers`` are new files of the corpus. ``failed``:
    the search itself did not come to its end."""

    name: str
    how: str
    executions: int
    seconds: int
    crashers: tuple[str, ...] = ()
    failed: bool = False

    def figures(self) -> dict[str, Any]:
        return {
            "target": self.name,
            "search": self.how,
            "executions": self.executions,
            "seconds": self.seconds,
            "crashers": list(self.crashers),
            "failed": self.failed,
        }


def table(results: Sequence[Found]) -> str:
    """Markdown, as docs/reliability.md has it."""
    lines = ["| Target | Search | Executions | Seconds | New crashers |", "|---|---|---:|---:|---:|"]
    for one in results:
        crashers = "search failed" if one.failed else str(len(one.crashers))
        lines.append(f"| {one.name} | {one.how} | {one.executions:,} | {one.seconds} | {crashers} |")
    total = sum(one.executions for one in results)
    seconds = sum(one.seconds for one in results)
    lines.append(f"| all | | {total:,} | {seconds} | {sum(len(one.crashers) for one in results)} |")
    return "\n".join(lines)
