"""What was counted and found during a soak: one record for each session, and counters for all.

Written by the stories and by whoever disturbs the cluster; read by the report. Judges nothing but ``clean``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Record:
    """One session. ``lost``, ``stuck``, ``faults``: in words, empty when all is well. ``output``: bytes of
    its transcript; ``files``: how many writes were acknowledged; ``sha256``: of the transcript, for later."""

    number: int
    name: str
    mode: str
    followed: bool
    archived: bool = False
    kills: int = 0
    missed_kills: int = 0
    files: int = 0
    bytes_moved: int = 0
    output: int = 0
    sha256: str = ""
    lost: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    over: bool = False
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        return not (self.lost or self.stuck or self.faults)


@dataclass
class Tally:
    """All of a run. ``steps``: done, by verb; ``retried``: errors after which a verb was tried again, by verb
    and code; ``disturbed``: by kind; ``live``: sessions under way, at each look."""

    records: list[Record] = field(default_factory=list)
    steps: Counter[str] = field(default_factory=Counter)
    retried: Counter[str] = field(default_factory=Counter)
    disturbed: Counter[str] = field(default_factory=Counter)
    live: list[int] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def total(self, what: str) -> int:
        """The sum over all sessions of a number, or of how many are in a list."""
        values = [getattr(record, what) for record in self.records]
        return sum(len(value) if isinstance(value, list) else value for value in values)

    @property
    def clean(self) -> bool:
        """0 orphans, 0 lost bytes, 0 stuck, and nothing else that no verb may do."""
        return not (self.orphans or self.faults) and all(r.clean and r.over for r in self.records)

    def plain(self) -> dict[str, Any]:
        return {
            "sessions": len(self.records),
            "over": self.total("over"),
            "followed": self.total("followed"),
            "by_workspace": dict(Counter(record.mode for record in self.records)),
            "live_least": min(self.live, default=0),
            "live_most": max(self.live, default=0),
            "kills": self.total("kills"),
            "missed_kills": self.total("missed_kills"),
            "disturbed": dict(self.disturbed),
            "files": self.total("files"),
            "bytes_moved": self.total("bytes_moved"),
            "output_bytes": self.total("output"),
            "steps": dict(sorted(self.steps.items())),
            "retried": dict(sorted(self.retried.items())),
            "lost": self.total("lost"),
            "stuck": self.total("stuck"),
            "orphans": self.orphans,
            "faults": [*self.faults, *(fault for record in self.records for fault in record.faults)],
            "clean": self.clean,
            "unclean_sessions": [asdict(r) for r in self.records if not (r.clean and r.over)],
        }
