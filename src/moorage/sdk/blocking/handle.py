"""``sdk.handle`` without ``await``, made of it by ``python -m tools.sdk``, never by hand."""

from __future__ import annotations

from moorage.sdk.handle import AsyncCommandHandle
from moorage.sdk.runner import FACES, run, threaded
from moorage.sdk.values import CommandResult, Handler


class CommandHandle:
    """``async for`` is not offered: give ``on_stdout`` and the like."""

    def __init__(self, of: AsyncCommandHandle) -> None:
        self._async = of

    @property
    def pid(self) -> int:
        """In the sandbox; 0 when it could not be started."""
        return self._async.pid

    @property
    def stdout(self) -> str:
        """All of it so far; of a terminal nothing is kept."""
        return self._async.stdout

    @property
    def stderr(self) -> str:
        """All of it so far."""
        return self._async.stderr

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._async.exit_code

    @property
    def error(self) -> str | None:
        """Why it did not end by itself; None while it runs, too."""
        return self._async.error

    @property
    def timed_out(self) -> bool:
        """It was killed because its time was over."""
        return self._async.timed_out

    def wait(
        self,
        on_stdout: Handler[str] | None = None,
        on_stderr: Handler[str] | None = None,
        on_pty: Handler[bytes] | None = None,
    ) -> CommandResult:
        """How it ended. Handlers given here are told the output so far, then what comes.

        Raises CommandTimeout when its time was over, CommandExit for any exit code but 0 (both not with
        ``check=False``), LinkError when the connection was lost, and what a handler raised.
        """
        return run(self._async.wait(threaded(on_stdout), threaded(on_stderr), threaded(on_pty)))

    def kill(self) -> bool:
        """SIGKILL to the command and all it started; False when it is over already."""
        return run(self._async.kill())

    def send_stdin(self, data: str | bytes, request_timeout: float | None = None) -> None:
        """Begun with ``stdin=True``, or a terminal."""
        run(self._async.send_stdin(data, request_timeout))

    def close_stdin(self, request_timeout: float | None = None) -> None:
        """The command reads an end of file."""
        run(self._async.close_stdin(request_timeout))

    def disconnect(self) -> None:
        """Hear no more of it. It runs on as long as the sandbox object is open."""
        run(self._async.disconnect())


FACES[AsyncCommandHandle] = CommandHandle
