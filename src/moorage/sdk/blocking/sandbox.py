"""``sdk.sandbox`` without ``await``, made of it by ``python -m tools.sdk``, never by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, cast

from moorage.core.session import WorkspaceSpec
from moorage.sdk.blocking.commands import Commands
from moorage.sdk.blocking.filesystem import Filesystem
from moorage.sdk.blocking.listing import SandboxPaginator
from moorage.sdk.blocking.pty import Pty
from moorage.sdk.either import Either
from moorage.sdk.launching import Template
from moorage.sdk.offer import not_offered
from moorage.sdk.opening import At
from moorage.sdk.runner import FACES, call, face, run
from moorage.sdk.sandbox import AsyncSandbox, OnProgress
from moorage.sdk.values import Metrics, SandboxInfo, SandboxQuery


class Sandbox:
    """Made by ``create`` and ``connect``. As a context manager it is removed at the end, unless ``keep``."""

    def __init__(self, of: AsyncSandbox) -> None:
        self._async = of

    @property
    def sandbox_id(self) -> str:
        """The session's id, for ``connect``; every ``moorage`` command takes it too."""
        return self._async.sandbox_id

    @property
    def name(self) -> str:
        """The session's name."""
        return self._async.name

    @property
    def commands(self) -> Commands:
        """Commands and their handles."""
        return cast("Commands", face(self._async.commands))

    @property
    def files(self) -> Filesystem:
        """Files, from ``/workspace`` on."""
        return cast("Filesystem", face(self._async.files))

    @property
    def pty(self) -> Pty:
        """Terminals."""
        return cast("Pty", face(self._async.pty))

    @staticmethod
    def create(
        template: Template = None,
        timeout: float | None = None,
        metadata: Mapping[str, str] | None = None,
        envs: Mapping[str, str] | None = None,
        *,
        name: str = "",
        adopt_existing: bool = False,
        keep: bool = False,
        source: str = "",
        source_ref: str = "",
        workspace: WorkspaceSpec | None = None,
        start_timeout: float = 600.0,
        on_progress: OnProgress | None = None,
        at: At = None,
    ) -> Sandbox:
        """Make a sandbox, and wait until commands can run in it.

        ``template``: path or bytes of a PodTemplate; not needed on the embedded cluster. ``timeout``: seconds
        after which this program removes it; None: never. ``envs``: variables of every command, kept
        encrypted. ``name`` with ``adopt_existing``: take up the sandbox of that name, as it is, where there
        is one; so a create that was cut short can be made again. ``source``: as ``moorage run --source``.
        ``keep``: stay when the context manager ends. ``at``: where; None: where settings say.

        Raises what ``moorage run`` refuses (UsageError, DocumentError, Conflict for a taken name), and
        SessionFailed with the reason when it does not start: nothing of it is left then.
        """
        return cast(
            "Sandbox",
            face(
                run(
                    AsyncSandbox.create(
                        template,
                        timeout,
                        metadata,
                        envs,
                        name=name,
                        adopt_existing=adopt_existing,
                        keep=keep,
                        source=source,
                        source_ref=source_ref,
                        workspace=workspace,
                        start_timeout=start_timeout,
                        on_progress=on_progress,
                        at=at,
                    )
                )
            ),
        )

    @staticmethod
    def _connect_to(
        sandbox_id: str,
        timeout: float | None = None,
        *,
        keep: bool = True,
        on_progress: OnProgress | None = None,
        at: At = None,
    ) -> Sandbox:
        return cast(
            "Sandbox",
            face(
                run(AsyncSandbox._connect_to(sandbox_id, timeout, keep=keep, on_progress=on_progress, at=at))
            ),
        )

    def _connect(self, timeout: float | None = None, *, on_progress: OnProgress | None = None) -> Sandbox:
        """See that it runs: resume it after a pause or a stop, replace a Pod that is gone. By id
        (``connect(sandbox_id, at=…)``): another object for a sandbox, or for any session of ``moorage run``;
        it is kept when the context manager ends, unless ``keep=False``. Raises SessionNotFound,
        SessionFailed, WorkspaceLost."""
        return cast("Sandbox", face(run(self._async._connect(timeout, on_progress=on_progress))))

    connect = Either(_connect_to, _connect)

    @staticmethod
    def list(
        query: SandboxQuery | None = None,
        limit: int = 100,
        next_token: str | None = None,
        order: Literal["asc", "desc"] = "desc",
        *,
        at: At = None,
    ) -> SandboxPaginator:
        """The sandboxes of this data folder, the newest first. Sessions of ``moorage run`` are not among
        them."""
        return cast(
            "SandboxPaginator", face(call(lambda: AsyncSandbox.list(query, limit, next_token, order, at=at)))
        )

    @staticmethod
    def _kill_id(
        sandbox_id: str, *, request_timeout: float | None = None, keep_workspace: bool = False, at: At = None
    ) -> bool:
        return run(
            AsyncSandbox._kill_id(
                sandbox_id, request_timeout=request_timeout, keep_workspace=keep_workspace, at=at
            )
        )

    def _kill(self, *, request_timeout: float | None = None, keep_workspace: bool = False) -> bool:
        """Remove it, its Pod and the workspace that was made for it, and close this object. False when it was
        not there any more. ``keep_workspace``: the claim stays."""
        return run(self._async._kill(request_timeout=request_timeout, keep_workspace=keep_workspace))

    kill = Either(_kill_id, _kill)

    @staticmethod
    def _pause_id(sandbox_id: str, *, discard_workspace: bool = False, at: At = None) -> bool:
        return run(AsyncSandbox._pause_id(sandbox_id, discard_workspace=discard_workspace, at=at))

    def _pause(self, *, discard_workspace: bool = False) -> bool:
        """Delete the Pod and keep the workspace; ``connect`` goes on from there. Processes and files
        elsewhere are lost. False when it was paused already. UsageError for an emptyDir without
        ``discard_workspace``."""
        return run(self._async._pause(discard_workspace=discard_workspace))

    pause = Either(_pause_id, _pause)

    @staticmethod
    def _info_of(sandbox_id: str, *, at: At = None) -> SandboxInfo:
        return run(AsyncSandbox._info_of(sandbox_id, at=at))

    def _info(self) -> SandboxInfo:
        """The sandbox as it is observed now. SessionNotFound."""
        return run(self._async._info())

    get_info = Either(_info_of, _info)

    @staticmethod
    def _metrics_of(sandbox_id: str, *, at: At = None) -> Metrics:
        return run(AsyncSandbox._metrics_of(sandbox_id, at=at))

    def _metrics(self) -> Metrics:
        """What it uses now, as a list of one: no history is kept. NotRunning."""
        return run(self._async._metrics())

    get_metrics = Either(_metrics_of, _metrics)

    def is_running(self, request_timeout: float | None = None) -> bool:
        """Can commands run in it now? False for what cannot be observed."""
        return run(self._async.is_running(request_timeout))

    def set_timeout(self, timeout: float | None) -> None:
        """Seconds from now after which this program removes it, while it lives; None: never. Nobody else is
        told, and a program that ends leaves the sandbox as it is."""
        run(self._async.set_timeout(timeout))

    def get_host(self, port: int) -> str:
        """``127.0.0.1:N`` of this machine, which leads to ``port`` on the sandbox's loopback while this
        object is open. Not https, and nothing is exposed in the cluster."""
        return call(lambda: self._async.get_host(port))

    def close(self) -> None:
        """Let go: commands that this object began are hung up on, the sandbox stays. Repeatable."""
        run(self._async.close())

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run(self._async.__aexit__(kind, error, trace))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise not_offered("sandbox", name)


FACES[AsyncSandbox] = Sandbox
