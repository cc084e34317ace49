"""The logs of all containers of a Pod in one stream, each line with the name of its container before it.

Used by ``logs --all-containers``. Lines are kept whole, so that containers that write at once can be told
apart; a container without a log is said on stderr and keeps no other from being read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from moorage.cli.command import Call
from moorage.cli.streams import stdout_writer
from moorage.core.errors import Conflict, MoorageError, NotFound
from moorage.ports.sessions import SessionVerbs

LONGEST: Final = 64 * 1024
"""Bytes of a line without an end that are kept before they are written as one."""
Write = Callable[[bytes], Awaitable[None]]


class PrefixedLines:
    """Whole lines of one container, each written at once with ``[NAME] `` before it."""

    def __init__(self, container: str, write: Write) -> None:
        self._prefix = f"[{container}] ".encode()
        self._write = write
        self._rest = b""

    async def add(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST:
            lines, self._rest = [*lines, self._rest], b""
        if lines:
            await self._write(b"".join(self._prefix + line + b"\n" for line in lines))

    async def end(self) -> None:
        """What came after the last newline."""
        if self._rest:
            await self._write(self._prefix + self._rest + b"\n")


async def print_all_logs(call: Call, sessions: SessionVerbs, name: str, *, follow: bool, **how: Any) -> None:
    """In the order the containers start; followed, as they write. ``how``: as ``container_logs`` takes it.

    Raises what the first one without a log did, where there is no log at all.
    """
    names = await sessions.containers(name)
    stdout, one_at_a_time = stdout_writer(), asyncio.Lock()
    missing: list[MoorageError] = []

    async def write(data: bytes) -> None:
        async with one_at_a_time:
            await stdout.write(data)

    async def copy(container: str) -> None:
        lines = PrefixedLines(container, write)
        try:
            async for chunk in sessions.container_logs(name, container, follow=follow, **how):
                await lines.add(chunk)
        except (Conflict, NotFound) as error:
            missing.append(error)
            call.terminal.note(f"{container}: {error.message}")
        await lines.end()

    if follow:
        copies = [asyncio.ensure_future(copy(container)) for container in names]
        try:
            await asyncio.gather(*copies)
        finally:
            for one in copies:
                one.cancel()
            await asyncio.gather(*copies, return_exceptions=True)
    else:
        for container in names:
            await copy(container)
    if missing and len(missing) == len(names):
        raise missing[0]
