"""``sdk.commands`` without ``await``, made of it by ``python -m tools.sdk``, never by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from moorage.sdk.blocking.handle import CommandHandle
from moorage.sdk.commands import AsyncCommands
from moorage.sdk.offer import not_offered
from moorage.sdk.runner import FACES, face, run, threaded
from moorage.sdk.values import CommandResult, Handler, Processes


class Commands:
    """``sandbox.commands``."""

    def __init__(self, of: AsyncCommands) -> None:
        self._async = of

    @overload
    def run(
        self,
        cmd: str | Sequence[str],
        background: Literal[False] | None = None,
        envs: Mapping[str, str] | None = None,
        *,
        cwd: str | None = None,
        on_stdout: Handler[str] | None = None,
        on_stderr: Handler[str] | None = None,
        stdin: bool | None = None,
        timeout: float | None = 60,
        request_timeout: float | None = None,
        check: bool = True,
    ) -> CommandResult: ...

    @overload
    def run(
        self,
        cmd: str | Sequence[str],
        background: Literal[True],
        envs: Mapping[str, str] | None = None,
        *,
        cwd: str | None = None,
        on_stdout: Handler[str] | None = None,
        on_stderr: Handler[str] | None = None,
        stdin: bool | None = None,
        timeout: float | None = 60,
        request_timeout: float | None = None,
        check: bool = True,
    ) -> CommandHandle: ...

    def run(
        self,
        cmd: str | Sequence[str],
        background: bool | None = None,
        envs: Mapping[str, str] | None = None,
        *,
        cwd: str | None = None,
        on_stdout: Handler[str] | None = None,
        on_stderr: Handler[str] | None = None,
        stdin: bool | None = None,
        timeout: float | None = 60,
        request_timeout: float | None = None,
        check: bool = True,
    ) -> CommandResult | CommandHandle:
        """Run a command: wait for its end, or with ``background`` only for its start.

        ``timeout``: seconds it may run, None or 0 for no limit; ``request_timeout``: seconds for its start.
        ``cwd``: relative to ``/workspace``. ``stdin``: keep its input open for ``send_stdin``. ``check``:
        raise CommandExit for any exit code but 0, and CommandTimeout; else the result says so.

        Raises NotRunning when no Pod of the sandbox runs; UsageError for a command that cannot be sent.
        """
        return cast(
            "CommandResult | CommandHandle",
            face(
                run(
                    cast("Any", self._async).run(
                        cmd,
                        background,
                        envs,
                        cwd=cwd,
                        on_stdout=threaded(on_stdout),
                        on_stderr=threaded(on_stderr),
                        stdin=stdin,
                        timeout=timeout,
                        request_timeout=request_timeout,
                        check=check,
                    )
                )
            ),
        )

    def connect(
        self,
        pid: int,
        on_stdout: Handler[str] | None = None,
        on_stderr: Handler[str] | None = None,
        *,
        check: bool = True,
    ) -> CommandHandle:
        """Another handle on a command that this object began; told what comes from now on."""
        return cast(
            "CommandHandle",
            face(run(self._async.connect(pid, threaded(on_stdout), threaded(on_stderr), check=check))),
        )

    def list(self, request_timeout: float | None = None) -> Processes:
        """The commands and terminals of this object that run now. Known here: no time passes."""
        return run(self._async.list(request_timeout))

    def kill(self, pid: int, request_timeout: float | None = None) -> bool:
        """SIGKILL to it and all it started; False when no such command runs."""
        return run(self._async.kill(pid, request_timeout))

    def send_stdin(self, pid: int, data: str | bytes, request_timeout: float | None = None) -> None:
        """Of a command begun with ``stdin=True``. NotFound when it does not run."""
        run(self._async.send_stdin(pid, data, request_timeout))

    def close_stdin(self, pid: int, request_timeout: float | None = None) -> None:
        """It reads an end of file. NotFound when it does not run."""
        run(self._async.close_stdin(pid, request_timeout))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise not_offered("commands", name)


FACES[AsyncCommands] = Commands
