"""A sandbox: a session whose Pod is there for its commands and files. Every other module of ``sdk`` is a part
of it, or of its sync face (``sdk.blocking``, which is made from this one).

Sees ``ports`` and ``core`` only: it takes any ``SessionVerbs``, those of this process by default. Drives
nothing in the background: what becomes of a Pod is noticed by the next call, and mended by ``connect``."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from moorage.core.errors import Conflict, MoorageError, SessionFailed, SessionNotFound
from moorage.core.session import Phase, Session, WorkspaceSpec
from moorage.ports.sessions import Progress, SessionVerbs
from moorage.sdk.commands import AsyncCommands, Started
from moorage.sdk.either import Either
from moorage.sdk.filesystem import AsyncFilesystem
from moorage.sdk.hosts import Hosts
from moorage.sdk.launching import Asked, Template, is_sandbox, request_for
from moorage.sdk.limits import limited
from moorage.sdk.listing import AsyncSandboxPaginator
from moorage.sdk.observed import info_of, metrics_of
from moorage.sdk.offer import not_offered
from moorage.sdk.opening import At, Connection
from moorage.sdk.pty import AsyncPty
from moorage.sdk.values import Metrics, SandboxInfo, SandboxQuery

OnProgress = Callable[[Progress], None]


class AsyncSandbox:
    """Made by ``create`` and ``connect``. As a context manager it is removed at the end, unless ``keep``."""

    def __init__(self, connection: Connection, session: Session, *, keep: bool = False) -> None:
        self._connection = connection
        self._session = session
        self._keep = keep
        self._timer: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None
        self._end_at: datetime | None = None
        self._started = Started(self._sessions, session.id)
        self._hosts = Hosts(self._sessions, session.id)
        self._commands = AsyncCommands(self._started)
        self._pty = AsyncPty(self._started)
        self._files = AsyncFilesystem(self._sessions, session.id)

    def _sessions(self) -> SessionVerbs:
        return self._connection.sessions

    @property
    def sandbox_id(self) -> str:
        """The session's id, for ``connect``; every ``moorage`` command takes it too."""
        return self._session.id

    @property
    def name(self) -> str:
        """The session's name."""
        return self._session.name

    @property
    def commands(self) -> AsyncCommands:
        """Commands and their handles."""
        return self._commands

    @property
    def files(self) -> AsyncFilesystem:
        """Files, from ``/workspace`` on."""
        return self._files

    @property
    def pty(self) -> AsyncPty:
        """Terminals."""
        return self._pty

    @classmethod
    async def create(
        cls,
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
    ) -> AsyncSandbox:
        """Make a sandbox, and wait until commands can run in it.

        ``template``: path or bytes of a PodTemplate; not needed on the embedded cluster. ``timeout``: seconds
        after which this program removes it; None: never. ``envs``: variables of every command, kept
        encrypted. ``name`` with ``adopt_existing``: take up the sandbox of that name, as it is, where there
        is one; so a create that was cut short can be made again. ``source``: as ``moorage run --source``.
        ``keep``: stay when the context manager ends. ``at``: where; None: where settings say.

        Raises what ``moorage run`` refuses (UsageError, DocumentError, Conflict for a taken name), and
        SessionFailed with the reason when it does not start: nothing of it is left then.
        """
        asked = Asked(name, envs or {}, metadata or {}, source, source_ref, workspace, start_timeout)
        connection = await Connection.to(at)
        report = on_progress or (lambda progress: None)
        try:
            request = await request_for(template, asked, connection.setting)
            try:
                session = await connection.sessions.launch(request, report)
            except Conflict as taken:
                if not adopt_existing:
                    raise
                session = await _existing(connection.sessions, name, taken)
                await _run(connection.sessions, session.id, report)
            else:
                await _run_or_remove(connection.sessions, session.id, report)
        except BaseException:
            await connection.close()
            raise
        sandbox = cls(connection, session, keep=keep)
        await sandbox._set_timeout(timeout)
        return sandbox

    @staticmethod
    async def _connect_to(
        sandbox_id: str,
        timeout: float | None = None,
        *,
        keep: bool = True,
        on_progress: OnProgress | None = None,
        at: At = None,
    ) -> AsyncSandbox:
        connection = await Connection.to(at)
        try:
            session = (await connection.sessions.view(sandbox_id)).session
            await _run(connection.sessions, session.id, on_progress or (lambda progress: None))
        except BaseException:
            await connection.close()
            raise
        sandbox = AsyncSandbox(connection, session, keep=keep)
        await sandbox._set_timeout(timeout)
        return sandbox

    async def _connect(
        self, timeout: float | None = None, *, on_progress: OnProgress | None = None
    ) -> AsyncSandbox:
        """See that it runs: resume it after a pause or a stop, replace a Pod that is gone. By id
        (``connect(sandbox_id, at=…)``): another object for a sandbox, or for any session of ``moorage run``;
        it is kept when the context manager ends, unless ``keep=False``. Raises SessionNotFound,
        SessionFailed, WorkspaceLost."""
        await _run(self._sessions(), self.sandbox_id, on_progress or (lambda progress: None))
        if timeout is not None:
            await self._set_timeout(timeout)
        return self

    connect = Either(_connect_to, _connect)

    @staticmethod
    def list(
        query: SandboxQuery | None = None,
        limit: int = 100,
        next_token: str | None = None,
        order: Literal["asc", "desc"] = "desc",
        *,
        at: At = None,
    ) -> AsyncSandboxPaginator:
        """The sandboxes of this data folder, the newest first. Sessions of ``moorage run`` are not among
        them."""
        return AsyncSandboxPaginator(query or SandboxQuery(), limit, next_token, order, at)

    @staticmethod
    async def _kill_id(
        sandbox_id: str, *, request_timeout: float | None = None, keep_workspace: bool = False, at: At = None
    ) -> bool:
        async with _opened(at) as sessions, limited(request_timeout):
            return await _removed(sessions, sandbox_id, keep_workspace)

    async def _kill(self, *, request_timeout: float | None = None, keep_workspace: bool = False) -> bool:
        """Remove it, its Pod and the workspace that was made for it, and close this object. False when it was
        not there any more. ``keep_workspace``: the claim stays."""
        await self._let_go()
        try:
            async with limited(request_timeout):
                return await _removed(self._sessions(), self.sandbox_id, keep_workspace)
        finally:
            await self._connection.close()

    kill = Either(_kill_id, _kill)

    @staticmethod
    async def _pause_id(sandbox_id: str, *, discard_workspace: bool = False, at: At = None) -> bool:
        async with _opened(at) as sessions:
            return await _paused(sessions, sandbox_id, discard_workspace)

    async def _pause(self, *, discard_workspace: bool = False) -> bool:
        """Delete the Pod and keep the workspace; ``connect`` goes on from there. Processes and files
        elsewhere are lost. False when it was paused already. UsageError for an emptyDir without
        ``discard_workspace``."""
        await self._started.close()
        await self._hosts.close()
        return await _paused(self._sessions(), self.sandbox_id, discard_workspace)

    pause = Either(_pause_id, _pause)

    @staticmethod
    async def _info_of(sandbox_id: str, *, at: At = None) -> SandboxInfo:
        async with _opened(at) as sessions:
            return info_of(await sessions.view(sandbox_id))

    async def _info(self) -> SandboxInfo:
        """The sandbox as it is observed now. SessionNotFound."""
        return info_of(await self._sessions().view(self.sandbox_id), self._end_at)

    get_info = Either(_info_of, _info)

    @staticmethod
    async def _metrics_of(sandbox_id: str, *, at: At = None) -> Metrics:
        async with _opened(at) as sessions:
            return [metrics_of(await sessions.usage(sandbox_id))]

    async def _metrics(self) -> Metrics:
        """What it uses now, as a list of one: no history is kept. NotRunning."""
        return [metrics_of(await self._sessions().usage(self.sandbox_id))]

    get_metrics = Either(_metrics_of, _metrics)

    async def is_running(self, request_timeout: float | None = None) -> bool:
        """Can commands run in it now? False for what cannot be observed."""
        async with limited(request_timeout):
            with contextlib.suppress(SessionNotFound):
                return (await self._sessions().view(self.sandbox_id)).word == "Running"
        return False

    async def set_timeout(self, timeout: float | None) -> None:
        """Seconds from now after which this program removes it, while it lives; None: never. Nobody else is
        told, and a program that ends leaves the sandbox as it is."""
        await self._set_timeout(timeout)

    async def _set_timeout(self, timeout: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._end_at = None
        if timeout is not None:
            self._end_at = datetime.now(UTC) + timedelta(seconds=timeout)
            self._timer = asyncio.get_running_loop().call_later(timeout, self._expire)

    def _expire(self) -> None:
        self._ending = asyncio.create_task(self._end())

    async def _end(self) -> None:
        with contextlib.suppress(MoorageError):  # what was wished is on record, and the next command goes on
            await self._kill()

    def get_host(self, port: int) -> str:
        """``127.0.0.1:N`` of this machine, which leads to ``port`` on the sandbox's loopback while this
        object is open. Not https, and nothing is exposed in the cluster."""
        self._sessions()
        return self._hosts.host(port)

    async def close(self) -> None:
        """Let go: commands that this object began are hung up on, the sandbox stays. Repeatable."""
        await self._let_go()
        await self._connection.close()

    async def _let_go(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._started.close()
        await self._hosts.close()

    async def __aenter__(self) -> AsyncSandbox:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._keep or self._connection.closed:
            await self.close()
        else:
            await self._kill()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise not_offered("sandbox", name)


@contextlib.asynccontextmanager
async def _opened(at: At) -> AsyncIterator[SessionVerbs]:
    connection = await Connection.to(at)
    try:
        yield connection.sessions
    finally:
        await connection.close()


async def _existing(sessions: SessionVerbs, name: str, taken: Conflict) -> Session:
    """The sandbox of that name. Raises ``taken`` where there is none to take up."""
    try:
        session = (await sessions.view(name)).session
    except SessionNotFound:
        raise taken from None
    if not is_sandbox(session):
        raise taken
    return session


async def _run(sessions: SessionVerbs, sandbox_id: str, report: OnProgress) -> None:
    view = await sessions.resume(sandbox_id, report)
    if view.session.state.phase is not Phase.RUNNING:
        raise SessionFailed(
            f"sandbox {view.session.name} is {view.word}: {view.reason or 'its agent ended'}",
            hint=f"moorage describe {view.session.name}",
        )


async def _run_or_remove(sessions: SessionVerbs, sandbox_id: str, report: OnProgress) -> None:
    """Whoever sees the error has no id to remove it by."""
    try:
        await _run(sessions, sandbox_id, report)
    except BaseException:
        with contextlib.suppress(MoorageError):
            await sessions.remove(sandbox_id, lambda progress: None, force=True)
        raise


async def _removed(sessions: SessionVerbs, sandbox_id: str, keep_workspace: bool) -> bool:
    try:
        await sessions.remove(sandbox_id, lambda progress: None, keep_workspace=keep_workspace)
    except SessionNotFound:
        return False
    return True


async def _paused(sessions: SessionVerbs, sandbox_id: str, discard_workspace: bool) -> bool:
    before = await sessions.view(sandbox_id)
    after = await sessions.pause(sandbox_id, lambda progress: None, discard_workspace=discard_workspace)
    return before.word != after.word
