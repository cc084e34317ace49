"""A verb under disturbance: it may fail while the cluster is away, and is tried again; it may not hang for
ever, and may not say that it has lost something. Used by the stories.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

from moorage.core.errors import (
    DocumentError,
    Fenced,
    IdentityChanged,
    IntegrityError,
    MoorageError,
    NameBlocked,
    SessionFailed,
    StoreError,
    UsageError,
)

T = TypeVar("T")
LIMIT = 300.0
"""Seconds after which a verb counts as stuck, with all its repetitions."""
PAUSE = 0.5
NEVER = (
    DocumentError,
    Fenced,
    IdentityChanged,
    IntegrityError,
    NameBlocked,
    SessionFailed,
    StoreError,
    UsageError,
)
"""What no disturbance of a soak excuses."""


class Stuck(Exception):
    """A verb did not come to an end in time; the message says which, and its last error."""


class Again(Exception):
    """What was tried has not been acknowledged, and may be tried again."""


async def insist(verb: str, retried: Counter[str], act: Callable[[], Awaitable[T]]) -> T:
    """Try until it succeeds. Raises Stuck after ``LIMIT`` seconds, what is in ``NEVER`` at once, and whatever
    is not an error of Moorage."""
    last = "it never answered"
    try:
        async with asyncio.timeout(LIMIT):
            while True:
                try:
                    return await act()
                except NEVER:
                    raise
                except (MoorageError, Again) as error:
                    code = error.code if isinstance(error, MoorageError) else "again"
                    last = f"{code}: {error}"
                    retried[f"{verb} {code}"] += 1
                await asyncio.sleep(PAUSE)
    except TimeoutError:
        raise Stuck(f"{verb} for {LIMIT:.0f} s; last: {last}") from None
