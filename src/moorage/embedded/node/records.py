"""What is known of each start of each container, read from the folders that the shim writes. Called by
``node.worker``; judged by ``node.decide`` and ``node.status``. Never changes anything but a lost record.

Folder of a start: ``containers/NAME/ATTEMPT`` in the Pod's; ``state.json`` and ``log`` lie in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Attempt:
    """One start. ``number`` counts from 0; times in seconds since 1970; ``state``: running or exited."""

    id: str
    name: str
    number: int
    state: str
    created: float
    started: float = 0.0
    finished: float = 0.0
    code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    pid: int = 0

    @property
    def running(self) -> bool:
        return self.state == "running"

    @property
    def why(self) -> str:
        """The reason a status shows for its end."""
        return self.reason or ("Completed" if self.code == 0 else "Error")


Attempts = Mapping[str, Sequence[Attempt]]
"""By container name, oldest first."""


def attempt_from(record: Mapping[str, Any]) -> Attempt:
    """From a record of the shim."""
    return Attempt(
        id=record["id"],
        name=record["name"],
        number=int(record["attempt"]),
        state="exited" if record["state"] == "exited" else "running",
        created=record.get("created", 0.0),
        started=record.get("started", 0.0),
        finished=record.get("finished", 0.0),
        code=int(record.get("code", 0)),
        signal=int(record.get("signal", 0)),
        reason=record.get("reason", ""),
        message=record.get("message", ""),
        pid=int(record.get("pid", 0)),
    )


def load(folder: Path) -> dict[str, list[Attempt]]:
    """All starts of a Pod's containers that its folder tells of."""
    found: dict[str, list[Attempt]] = {}
    for path in (folder / "containers").glob("*/*/state.json"):
        try:
            attempt = attempt_from(json.loads(path.read_text()))
        except (OSError, ValueError, KeyError):
            continue  # torn by a crash of the machine: as good as never started
        found.setdefault(attempt.name, []).append(attempt)
    for attempts in found.values():
        attempts.sort(key=lambda each: each.number)
    return found


def mark_lost(folder: Path, attempt: Attempt, now: float) -> Attempt:
    """The shim is gone: its containers went with it, how is unknown. Returns the record as it now is."""
    path = attempt_folder(folder, attempt.name, attempt.number) / "state.json"
    record = json.loads(path.read_text())
    record.update(state="exited", code=137, finished=now, reason="ContainerStatusUnknown",
                  message="The container could not be located when the pod was looked at")  # fmt: skip
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(record))
    os.replace(fresh, path)
    return attempt_from(record)


def attempt_folder(folder: Path, name: str, number: int) -> Path:
    return folder / "containers" / name / str(number)
