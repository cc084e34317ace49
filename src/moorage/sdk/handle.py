"""A handle on a command: its output as it comes, its input, its end. Given out by ``sdk.commands``,
``sdk.pty``."""

from __future__ import annotations

import asyncio
import codecs
import inspect
import signal
from typing import Final

from moorage.core.errors import CommandExit, CommandTimeout, LinkError, UsageError
from moorage.ports.link import ExitStatus
from moorage.sdk.limits import limited
from moorage.sdk.running import Running
from moorage.sdk.values import AsyncHandler, CommandResult

_STDOUT: Final = 1


class _Text:
    """One channel: bytes to text at the borders of characters, kept and told."""

    def __init__(self, told: AsyncHandler[str] | None) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []
        self._told = [told] if told is not None else []

    @property
    def text(self) -> str:
        return "".join(self._parts)

    async def add(self, data: bytes, *, last: bool = False) -> None:
        text = self._decoder.decode(data, last)
        if text:
            self._parts.append(text)
            for handler in self._told:
                await call(handler, text)

    async def tell(self, handler: AsyncHandler[str] | None) -> None:
        """From now on, and all there was."""
        if handler is not None:
            if self._parts:
                await call(handler, self.text)
            self._told.append(handler)


class AsyncCommandHandle:
    """``async for`` is not offered: give ``on_stdout`` and the like."""

    def __init__(
        self,
        running: Running,
        *,
        on_stdout: AsyncHandler[str] | None = None,
        on_stderr: AsyncHandler[str] | None = None,
        on_pty: AsyncHandler[bytes] | None = None,
        terminal: bool = False,
        check: bool = True,
    ) -> None:
        self._running = running
        self._out, self._err = _Text(on_stdout), _Text(on_stderr)
        self._terminal = terminal
        self._on_pty = [on_pty] if on_pty is not None else []
        self._check = check
        self._failure: Exception | None = None
        self._left = False
        self._status: ExitStatus | None = None

    @property
    def pid(self) -> int:
        """In the sandbox; 0 when it could not be started."""
        return self._running.pid

    @property
    def stdout(self) -> str:
        """All of it so far; of a terminal nothing is kept."""
        return self._out.text

    @property
    def stderr(self) -> str:
        """All of it so far."""
        return self._err.text

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return None if self._status is None else _code(self._status)

    @property
    def error(self) -> str | None:
        """Why it did not end by itself; None while it runs, too."""
        return None if self._status is None else _why(self._status)

    @property
    def timed_out(self) -> bool:
        """It was killed because its time was over."""
        return self._running.timed_out

    async def take(self, channel: int, data: bytes) -> None:
        """Called by ``Running``. What a handler raises is raised by ``wait``, and the handle hears no
        more."""
        try:
            if self._terminal:
                for handler in self._on_pty:
                    await call(handler, data)
            else:
                await (self._out if channel == _STDOUT else self._err).add(data)
        except Exception as error:
            self._failure = error
            self._running.leave(self)

    async def wait(
        self,
        on_stdout: AsyncHandler[str] | None = None,
        on_stderr: AsyncHandler[str] | None = None,
        on_pty: AsyncHandler[bytes] | None = None,
    ) -> CommandResult:
        """How it ended. Handlers given here are told the output so far, then what comes.

        Raises CommandTimeout when its time was over, CommandExit for any exit code but 0 (both not with
        ``check=False``), LinkError when the connection was lost, and what a handler raised.
        """
        if self._left:
            raise UsageError(
                f"this handle was disconnected from command {self.pid}",
                hint="sandbox.commands.connect(pid) gives another one",
            )
        await self._out.tell(on_stdout)
        await self._err.tell(on_stderr)
        if on_pty is not None:
            self._on_pty.append(on_pty)
        status = await self._ended()
        if self._failure is not None:
            raise self._failure
        if self._status is None:
            await self._out.add(b"", last=True)
            await self._err.add(b"", last=True)
            self._status = status
        return self._judged(status)

    async def _ended(self) -> ExitStatus:
        try:
            return await asyncio.shield(self._running.end)
        except asyncio.CancelledError:
            if not self._running.end.cancelled():
                raise  # it is we who are cancelled
            raise LinkError(
                f"the sandbox object was closed while command {self.pid} ran, which ended it"
            ) from None

    def _judged(self, status: ExitStatus) -> CommandResult:
        code, why = _code(status), _why(status)
        result = CommandResult(self.stderr, self.stdout, code, why, self.timed_out)
        if not self._check:
            return result
        if self.timed_out:
            raise CommandTimeout(
                "the command ran longer than it was given, and was killed",
                stdout=result.stdout,
                stderr=result.stderr,
                hint="give it more with timeout=SECONDS, or None for no limit",
            )
        if code != 0:
            said = f"the command ended with exit code {code}" + (f": {why}" if why else "")
            told = f"\n{result.stderr}" if result.stderr else ""
            raise CommandExit(
                said + told,
                exit_code=code,
                stdout=result.stdout,
                stderr=result.stderr,
                error=why or "",
                hint=_hint(status),
            )
        return result

    async def kill(self) -> bool:
        """SIGKILL to the command and all it started; False when it is over already."""
        return await self._running.kill()

    async def send_stdin(self, data: str | bytes, request_timeout: float | None = None) -> None:
        """Begun with ``stdin=True``, or a terminal."""
        async with limited(request_timeout):
            await self._running.write(data.encode() if isinstance(data, str) else data)

    async def close_stdin(self, request_timeout: float | None = None) -> None:
        """The command reads an end of file."""
        async with limited(request_timeout):
            await self._running.close_stdin()

    async def disconnect(self) -> None:
        """Hear no more of it. It runs on as long as the sandbox object is open."""
        self._left = True
        self._running.leave(self)


async def call(handler: AsyncHandler[str] | AsyncHandler[bytes], value: str | bytes) -> None:
    """A handler, plain or async."""
    answer = handler(value)  # type: ignore[arg-type]
    if inspect.isawaitable(answer):
        await answer


def _code(status: ExitStatus) -> int:
    return -1 if status.shell_code is None else status.shell_code


def _why(status: ExitStatus) -> str | None:
    if status.error:
        return status.error
    if status.signal is not None:
        try:
            word = signal.Signals(status.signal).name
        except ValueError:
            word = f"signal {status.signal}"
        return f"ended by {word}" + (" (out of memory)" if status.oom else "")
    if status.code is None:
        return "nobody knows how it ended"
    return None


def _hint(status: ExitStatus) -> str:
    if status.error.startswith("not_found: sh "):
        return "this image has no sh: give the command as a list of words"
    if status.oom:
        return "give the main container a larger memory limit in the template"
    return ""
