"""One target's trials in a search: counts them, and keeps an input for each new way to break a promise."""

from __future__ import annotations

import hashlib
import json
import time
import traceback
from pathlib import Path

from tests.fuzz.target import Target

NOTE_EVERY = 0.5
"""Seconds between two notes of the figures: libFuzzer ends its process without a word to Python."""


class Trial:
    """``figures`` is the file that holds what was counted."""

    def __init__(self, target: Target, figures: Path) -> None:
        self._target = target
        self._figures = figures
        self._executions = 0
        self._noted = 0.0
        self._crashers: dict[str, str] = {}

    def run(self, data: bytes) -> None:
        self._executions += 1
        try:
            self._target.check(data)
        except Exception as error:
            self._keep(data, error)
        if time.monotonic() - self._noted > NOTE_EVERY:
            self.note()

    def note(self) -> None:
        said = {"executions": self._executions, "crashers": list(self._crashers.values())}
        self._figures.write_text(json.dumps(said))
        self._noted = time.monotonic()

    def _keep(self, data: bytes, error: Exception) -> None:
        last = traceback.extract_tb(error.__traceback__)[-1]
        way = f"{type(error).__name__} {last.filename}:{last.lineno}"
        if way in self._crashers:
            return
        path = self._target.folder / f"found-{hashlib.sha256(data).hexdigest()[:16]}"
        path.write_bytes(data)
        self._crashers[way] = str(path)
        print(f"{path}: {way}: {error}"[:2000], flush=True)
        self.note()
