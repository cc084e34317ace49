"""Terminals in a sandbox: ``sandbox.pty``. A terminal is a shell: bash where the image has it, else sh."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from moorage.core.errors import NotFound
from moorage.core.owned import WORKSPACE_PATH
from moorage.ports.link import ProcessSpec
from moorage.sdk.commands import Started
from moorage.sdk.handle import AsyncCommandHandle
from moorage.sdk.limits import limited
from moorage.sdk.offer import not_offered
from moorage.sdk.values import AsyncHandler, PtySize

_SHELL: Final = "command -v bash >/dev/null && exec bash -il; exec sh -i"


class AsyncPty:
    """``sandbox.pty``."""

    def __init__(self, started: Started) -> None:
        self._started = started

    async def create(
        self,
        size: PtySize,
        on_data: AsyncHandler[bytes],
        *,
        cwd: str | None = None,
        envs: Mapping[str, str] | None = None,
        timeout: float | None = 60,
        request_timeout: float | None = None,
    ) -> AsyncCommandHandle:
        """Open a terminal. ``on_data`` is told what it shows, as bytes; ``timeout``: seconds it may live,
        None or 0 for no limit. Raises NotRunning when no Pod of the sandbox runs."""
        spec = ProcessSpec(
            ["sh", "-c", _SHELL],
            envs or {},
            posixpath.join(WORKSPACE_PATH, cwd or ""),
            tty=True,
            cols=size.cols,
            rows=size.rows,
            agent_env=True,
        )
        async with limited(request_timeout):
            running = await self._started.begin(spec, timeout)
        handle = AsyncCommandHandle(running, on_pty=on_data, terminal=True)
        running.begin(handle)
        return handle

    async def connect(self, pid: int, on_data: AsyncHandler[bytes]) -> AsyncCommandHandle:
        """Another handle on a terminal that this object opened; told what comes from now on."""
        running = self._started.get(pid)
        handle = AsyncCommandHandle(running, on_pty=on_data, terminal=True)
        running.listen(handle)
        return handle

    async def send_stdin(self, pid: int, data: bytes, request_timeout: float | None = None) -> None:
        """Keys. NotFound when it does not run."""
        async with limited(request_timeout):
            await self._started.get(pid).write(data)

    async def resize(self, pid: int, size: PtySize, request_timeout: float | None = None) -> None:
        """NotFound when it does not run."""
        async with limited(request_timeout):
            await self._started.get(pid).resize(size.cols, size.rows)

    async def kill(self, pid: int, request_timeout: float | None = None) -> bool:
        """SIGKILL to the shell and all it started; False when it does not run."""
        try:
            async with limited(request_timeout):
                return await self._started.get(pid).kill()
        except NotFound:
            return False

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise not_offered("pty", name)
