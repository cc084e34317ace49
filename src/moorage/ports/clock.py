"""Time and identifiers as arguments: what the engine is handed instead of calling the system itself."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Wall time for records, monotonic time for waits."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back; for waits and deadlines only."""

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking the loop."""


class Ids(Protocol):
    """Fresh identifiers and secrets."""

    def nonce(self) -> str:
        """A fresh 256-bit value, 64 lower-case hex digits (create nonces, bootstrap nonces)."""

    def session_id(self) -> str:
        """A fresh session id: 12 characters of ``[a-z0-9]``, the first a letter."""
