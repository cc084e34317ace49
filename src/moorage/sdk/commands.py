"""Commands in a sandbox: ``sandbox.commands``. Begins them over the sandbox's verbs, and keeps those that
run.

A command in words of one text goes to ``sh -c``; a list of words needs no shell in the image.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from moorage.core.errors import NotFound, UsageError
from moorage.core.owned import WORKSPACE_PATH
from moorage.ports.link import ProcessSpec
from moorage.ports.sessions import SessionVerbs
from moorage.sdk.handle import AsyncCommandHandle
from moorage.sdk.limits import limited
from moorage.sdk.offer import not_offered
from moorage.sdk.running import Running
from moorage.sdk.values import AsyncHandler, CommandResult, Processes, ProcessInfo


class Started:
    """The commands that this sandbox object began and that still run, terminals too."""

    def __init__(self, sessions: Callable[[], SessionVerbs], name: str) -> None:
        self._sessions = sessions
        self._name = name
        self._running: dict[int, Running] = {}

    async def begin(self, spec: ProcessSpec, limit: float | None) -> Running:
        """Not yet read: see ``Running.begin``."""
        process = await self._sessions().exec(self._name, spec)
        info = ProcessInfo(process.pid, spec.argv[0], list(spec.argv[1:]), dict(spec.env), spec.cwd)
        running = Running(process, info, limit or None)
        if process.pid:
            self._running[process.pid] = running
        return running

    def known(self) -> list[Running]:
        """Those that run now."""
        self._running = {pid: one for pid, one in self._running.items() if not one.over}
        return list(self._running.values())

    def get(self, pid: int) -> Running:
        """NotFound for what does not run, or was begun by somebody else."""
        found = next((one for one in self.known() if one.pid == pid), None)
        if found is None:
            raise NotFound(
                f"no command {pid} of this sandbox object runs",
                hint="commands are known to the object that began them; sandbox.commands.list() shows them",
            )
        return found

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self.known()))


class AsyncCommands:
    """``sandbox.commands``."""

    def __init__(self, started: Started) -> None:
        self._started = started

    @overload
    async def run(
        self,
        cmd: str | Sequence[str],
        background: Literal[False] | None = None,
        envs: Mapping[str, str] | None = None,
        *,
        cwd: str | None = None,
        on_stdout: AsyncHandler[str] | None = None,
        on_stderr: AsyncHandler[str] | None = None,
        stdin: bool | None = None,
        timeout: float | None = 60,
        request_timeout: float | None = None,
        check: bool = True,
    ) -> CommandResult: ...

    @overload
    async def run(
        self,
        cmd: str | Sequence[str],
        background: Literal[True],
        envs: Mapping[str, str] | None = None,
        *,
        cwd: str | None = None,
        on_stdout: AsyncHandler[str] | None = None,
        on_stderr: AsyncHandler[str] | None = None,
        stdin: bool | None = None,
        timeout: float | None = 60,
        request_timeout: float | None = None,
        check: bool = True,
    ) -> AsyncCommandHandle: ...

    async def run(
        self,
        cmd: str | Sequence[str],
        background: bool | None = None,
        envs: Mapping[str, str] | None = None,
        *,
        cwd: str | None = None,
        on_stdout: AsyncHandler[str] | None = None,
        on_stderr: AsyncHandler[str] | None = None,
        stdin: bool | None = None,
        timeout: float | None = 60,
        request_timeout: float | None = None,
        check: bool = True,
    ) -> CommandResult | AsyncCommandHandle:
        """Run a command: wait for its end, or with ``background`` only for its start.

        ``timeout``: seconds it may run, None or 0 for no limit; ``request_timeout``: seconds for its start.
        ``cwd``: relative to ``/workspace``. ``stdin``: keep its input open for ``send_stdin``. ``check``:
        raise CommandExit for any exit code but 0, and CommandTimeout; else the result says so.

        Raises NotRunning when no Pod of the sandbox runs; UsageError for a command that cannot be sent.
        """
        argv = ("sh", "-c", cmd) if isinstance(cmd, str) else tuple(cmd)
        if not argv:
            raise UsageError("a command of no words", field="cmd", hint='e.g. ["make", "test"]')
        spec = ProcessSpec(argv, envs or {}, posixpath.join(WORKSPACE_PATH, cwd or ""), agent_env=True)
        async with limited(request_timeout):
            running = await self._started.begin(spec, timeout)
        handle = AsyncCommandHandle(running, on_stdout=on_stdout, on_stderr=on_stderr, check=check)
        running.begin(handle)
        if not stdin and running.pid:
            await running.close_stdin()
        if background:
            return handle
        try:
            return await handle.wait()
        except asyncio.CancelledError:
            await running.close()
            raise

    async def connect(
        self,
        pid: int,
        on_stdout: AsyncHandler[str] | None = None,
        on_stderr: AsyncHandler[str] | None = None,
        *,
        check: bool = True,
    ) -> AsyncCommandHandle:
        """Another handle on a command that this object began; told what comes from now on."""
        running = self._started.get(pid)
        handle = AsyncCommandHandle(running, on_stdout=on_stdout, on_stderr=on_stderr, check=check)
        running.listen(handle)
        return handle

    async def list(self, request_timeout: float | None = None) -> Processes:
        """The commands and terminals of this object that run now. Known here: no time passes."""
        return [running.info for running in self._started.known()]

    async def kill(self, pid: int, request_timeout: float | None = None) -> bool:
        """SIGKILL to it and all it started; False when no such command runs."""
        try:
            async with limited(request_timeout):
                return await self._started.get(pid).kill()
        except NotFound:
            return False

    async def send_stdin(self, pid: int, data: str | bytes, request_timeout: float | None = None) -> None:
        """Of a command begun with ``stdin=True``. NotFound when it does not run."""
        async with limited(request_timeout):
            await self._started.get(pid).write(data.encode() if isinstance(data, str) else data)

    async def close_stdin(self, pid: int, request_timeout: float | None = None) -> None:
        """It reads an end of file. NotFound when it does not run."""
        async with limited(request_timeout):
            await self._started.get(pid).close_stdin()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise not_offered("commands", name)
