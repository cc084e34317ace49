"""A process in the Pod joined to our three streams: used by ``exec``.

Ends when the process has ended and all its output is out. A reader of our stdout that goes away hangs up.

Ctrl-C goes to the process: as SIGINT, or as the key where it has a terminal. A second one hangs up.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import ExitStack
from typing import Final

from moorage.cli.command import Call
from moorage.cli.failures import OWN_FAILURE
from moorage.cli.rawmode import raw_mode, window_size
from moorage.cli.signals import on_signals
from moorage.cli.streams import stderr_writer, stdin_reader, stdout_writer
from moorage.core.diagnosis import start_failure
from moorage.core.errors import MoorageError
from moorage.ports.link import ExitStatus, RemoteProcess

INTERRUPT_KEY: Final = b"\x03"
END_OF_FILE_KEY: Final = b"\x04"


async def carry(call: Call, process: RemoteProcess, *, interactive: bool, tty: bool) -> int:
    """Carry bytes both ways until the process has ended; returns the exit code for ours."""
    joined = _Joined(call, process, tty=tty)
    raw = interactive and tty and call.terminal.stdin_tty
    try:
        with ExitStack() as local:
            if raw:
                local.enter_context(raw_mode(call.terminal))
            status = await joined.run(interactive=interactive)
    finally:
        await process.close()
    return 128 + joined.left_by if status is None else _code(call, status)


class _Joined:
    def __init__(self, call: Call, process: RemoteProcess, *, tty: bool) -> None:
        self._call = call
        self._process = process
        self._tty = tty
        self._interrupts = 0
        self.left_by = 0
        """The signal to us that made us hang up; 0 when none did."""
        self._main: asyncio.Task[ExitStatus] | None = None
        self._beside: set[asyncio.Task[None]] = set()

    async def run(self, *, interactive: bool) -> ExitStatus | None:
        """The exit status, or None when a person hung up."""
        handlers = {
            signal.SIGINT: self._interrupted,
            signal.SIGTERM: lambda: self._hang_up(signal.SIGTERM),
            signal.SIGHUP: lambda: self._hang_up(signal.SIGHUP),
        }
        if self._tty and self._call.terminal.stdin_tty:
            handlers[signal.SIGWINCH] = self._resized
        self._main = asyncio.create_task(self._output())
        with on_signals(handlers):
            self._spawn(interactive)
            try:
                return await asyncio.shield(self._main)
            except asyncio.CancelledError:
                if self.left_by:
                    return None
                raise
            finally:
                for task in [self._main, *self._beside]:
                    task.cancel()
                await asyncio.gather(self._main, *self._beside, return_exceptions=True)

    def _spawn(self, interactive: bool) -> None:
        self._beside.add(asyncio.create_task(self._input(interactive)))

    async def _output(self) -> ExitStatus:
        writers = {1: stdout_writer(), 2: stderr_writer()}
        while (item := await self._process.read()) is not None:
            channel, data = item
            await writers[channel].write(data)
        return await self._process.wait()

    async def _input(self, interactive: bool) -> None:
        """Our stdin; a process that no longer reads it simply gets none."""
        try:
            stdin = stdin_reader()
            while interactive and (data := await stdin.read()):
                await self._process.write(data)
            if self._tty:  # not closed: keys that are signals must still get through
                await self._process.write(END_OF_FILE_KEY)
            else:
                await self._process.close_stdin()
        except MoorageError:
            return

    async def _quietly(self, number: int) -> None:
        try:
            if number == signal.SIGWINCH:
                await self._process.resize(*window_size())
            elif self._tty:
                await self._process.write(INTERRUPT_KEY)
            else:
                await self._process.signal(number)
        except MoorageError as error:
            self._call.terminal.note(f"the signal was not delivered: {error.message}")

    def _interrupted(self) -> None:
        self._interrupts += 1
        if self._interrupts > 1:
            self._call.terminal.say("left: the command in the Pod is hung up (SIGHUP, then SIGKILL)")
            self._hang_up(signal.SIGINT)
            return
        self._call.terminal.note("sent Ctrl-C to the command; Ctrl-C again leaves at once")
        self._beside.add(asyncio.create_task(self._quietly(signal.SIGINT)))

    def _hang_up(self, number: int) -> None:
        self.left_by = number
        if self._main is not None:
            self._main.cancel()

    def _resized(self) -> None:
        self._beside.add(asyncio.create_task(self._quietly(signal.SIGWINCH)))


def _code(call: Call, status: ExitStatus) -> int:
    if status.error:
        why, hint = start_failure(status.error)
        call.terminal.say(f"error: the command could not be started: {why}")
        call.terminal.say(f"  hint: {hint}")
    code = status.shell_code
    if code is None:
        call.terminal.say("error: the command ended, but its exit status is unknown")
        return OWN_FAILURE
    return code
