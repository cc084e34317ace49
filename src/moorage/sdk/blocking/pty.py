"""``sdk.pty`` without ``await``, made of it by ``python -m tools.sdk``, never by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from moorage.sdk.blocking.handle import CommandHandle
from moorage.sdk.offer import not_offered
from moorage.sdk.pty import AsyncPty
from moorage.sdk.runner import FACES, face, needed, run
from moorage.sdk.values import Handler, PtySize


class Pty:
    """``sandbox.pty``."""

    def __init__(self, of: AsyncPty) -> None:
        self._async = of

    def create(
        self,
        size: PtySize,
        on_data: Handler[bytes],
        *,
        cwd: str | None = None,
        envs: Mapping[str, str] | None = None,
        timeout: float | None = 60,
        request_timeout: float | None = None,
    ) -> CommandHandle:
        """Open a terminal. ``on_data`` is told what it shows, as bytes; ``timeout``: seconds it may live,
        None or 0 for no limit. Raises NotRunning when no Pod of the sandbox runs."""
        return cast(
            "CommandHandle",
            face(
                run(
                    self._async.create(
                        size,
                        needed(on_data),
                        cwd=cwd,
                        envs=envs,
                        timeout=timeout,
                        request_timeout=request_timeout,
                    )
                )
            ),
        )

    def connect(self, pid: int, on_data: Handler[bytes]) -> CommandHandle:
        """Another handle on a terminal that this object opened; told what comes from now on."""
        return cast("CommandHandle", face(run(self._async.connect(pid, needed(on_data)))))

    def send_stdin(self, pid: int, data: bytes, request_timeout: float | None = None) -> None:
        """Keys. NotFound when it does not run."""
        run(self._async.send_stdin(pid, data, request_timeout))

    def resize(self, pid: int, size: PtySize, request_timeout: float | None = None) -> None:
        """NotFound when it does not run."""
        run(self._async.resize(pid, size, request_timeout))

    def kill(self, pid: int, request_timeout: float | None = None) -> bool:
        """SIGKILL to the shell and all it started; False when it does not run."""
        return run(self._async.kill(pid, request_timeout))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise not_offered("pty", name)


FACES[AsyncPty] = Pty
