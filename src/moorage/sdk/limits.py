"""Limits of time, as E2B's parameters say them. Used by all of ``sdk``."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from moorage.core.errors import WaitTimeout


@contextlib.asynccontextmanager
async def limited(seconds: float | None) -> AsyncIterator[None]:
    """WaitTimeout when the block takes longer; None and 0: it may take as long as it does."""
    try:
        async with asyncio.timeout(seconds or None):
            yield
    except TimeoutError:
        raise WaitTimeout(
            f"no answer within {seconds:g} s (request_timeout)", hint="give it more time, or none"
        ) from None
