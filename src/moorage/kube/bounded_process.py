"""A program run to its end with bounds on time and output. Called by ``kube.exec_plugin``.

Nothing of the program outlives a run that was given up. A process that an ended program leaves behind (some
plugins start an agent that keeps credentials) is left alone, and is not waited for although it holds stdout.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ERRORS_KEPT = 64 * 1024
"""Bytes of stderr, the last ones."""
AFTER_EXIT = 1.0
"""Seconds for what an ended program printed to arrive, where another process keeps its stdout open."""


@dataclass(frozen=True)
class Printed:
    """What a program printed. ``exit_code``: None when it was given up; negative for a signal."""

    exit_code: int | None
    output: bytes = field(repr=False)
    errors: bytes = field(repr=False)
    too_much: bool = False


async def run_bounded(
    words: Sequence[str], env: Mapping[str, str], *, interactive: bool, seconds: float, most: int
) -> Printed:
    """Run ``words`` for at most ``seconds`` and ``most`` bytes of stdout, then kill it.

    ``interactive``: stdin and stderr are ours, and it stays in our session, which the terminal belongs to;
    otherwise what it started is killed too. Raises OSError when it cannot be started.
    """
    # Not create_subprocess_exec: its streams cannot be closed while another process holds their other end.
    begins = asyncio.get_running_loop().subprocess_exec(
        lambda: _Gathering(most),
        *words,
        env=env,
        stdin=None if interactive else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if interactive else subprocess.PIPE,
        start_new_session=not interactive,
    )
    starting = asyncio.ensure_future(begins)
    try:
        transport, gathered = await asyncio.shield(starting)
    except asyncio.CancelledError:  # on its own, the event loop would end the program alone
        with contextlib.suppress(OSError):
            await _end(*await starting, group=not interactive)
        raise
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await gathered.given_up_or_exited.wait()
        if gathered.exited.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(AFTER_EXIT):
                    await gathered.closed.wait()
        code = transport.get_returncode()
    finally:
        await _end(transport, gathered, group=not interactive)
    return Printed(code, bytes(gathered.output), bytes(gathered.errors), gathered.too_much)


async def _end(transport: asyncio.SubprocessTransport, gathered: _Gathering, *, group: bool) -> None:
    try:
        if not gathered.exited.is_set():
            _kill(transport.get_pid(), group=group)
            await gathered.exited.wait()
    finally:
        transport.close()
    await gathered.closed.wait()


def _kill(pid: int, *, group: bool) -> None:
    # It was not waited for yet, so the number is still its own.
    with contextlib.suppress(ProcessLookupError):
        if group:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)


class _Gathering(asyncio.SubprocessProtocol):
    """Collects what is printed, up to the bounds."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.output = bytearray()
        self.errors = bytearray()
        self.too_much = False
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()
        self.given_up_or_exited = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.errors += data
            del self.errors[:-ERRORS_KEPT]
        elif len(self.output) + len(data) > self._most:
            self.too_much = True
            self.given_up_or_exited.set()
        else:
            self.output += data

    def process_exited(self) -> None:
        self.exited.set()
        self.given_up_or_exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()
