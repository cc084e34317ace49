"""The system's clock and randomness, as ``ports.clock`` wants them. Made by ``main`` only."""

from __future__ import annotations

import asyncio
import secrets
import string
import time

_LETTERS = string.ascii_lowercase
_ALPHABET = string.ascii_lowercase + string.digits
SESSION_ID_LENGTH = 12


class SystemClock:
    """Implements ``ports.clock.Clock``."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SystemIds:
    """Implements ``ports.clock.Ids`` from the operating system's random source."""

    def nonce(self) -> str:
        return secrets.token_hex(32)

    def session_id(self) -> str:
        rest = (secrets.choice(_ALPHABET) for _ in range(SESSION_ID_LENGTH - 1))
        return secrets.choice(_LETTERS) + "".join(rest)
