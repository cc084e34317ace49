"""A SessionVerbs that plays a script: what every CLI test runs against.

Every call is noted in ``calls``; nothing is decided here. ``Scripted.happenings`` is what an attachment
yields: happenings, exceptions to raise, or ``Pause`` to wait until the test goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from moorage.core.errors import MoorageError, NotFound
from moorage.core.kinds import Json
from moorage.core.session import (
    AgentExit,
    Session,
)
from moorage.ports.changes import Changes, ExportedBranch
from moorage.ports.files import RemoteFiles
from moorage.ports.forks import ForkPlan, ForkRequest
from moorage.ports.link import ContainerUsage, ExitStatus, FileEntry, Gap, LeftOut, Output, ProcessSpec
from moorage.ports.sessions import (
    Caller,
    Check,
    ConnectionTest,
    Evidence,
    Exited,
    LaunchRequest,
    Progress,
    Removal,
    Report,
    SessionView,
)
from moorage.ports.store import SessionEvent
from tests.cli.scripted_streams import ScriptedAttachment, ScriptedPort, ScriptedProcess, Step
from tests.cli.scripted_views import CALLER, CHANGED, FORK, make_session, make_view


@dataclass
class Scripted:
    """The verbs. Fields are the script; ``calls`` is what was asked, in order. ``failures``: errors to
    raise by verb, or by verb and name (``remove one-a``)."""

    views: list[SessionView] = field(default_factory=lambda: [make_view()])
    steps: Sequence[Step] = (Progress("agent", "started"), Exited(AgentExit(code=0)))
    where: str = "context kind-dev, namespace agents"
    isolated: str = ""
    failures: dict[str, MoorageError] = field(default_factory=dict)
    deletes: tuple[str, ...] = (
        "pod/moorage-brisk-otter (uid pod-uid)",
        "pvc/moorage-brisk-otter (uid claim-uid)",
    )
    keeps: tuple[str, ...] = ()
    transcript: Sequence[Output | Gap] = ()
    kubelet: Sequence[bytes] = ()
    container_names: tuple[str, ...] = ("agent", "side")
    no_log: dict[str, MoorageError] = field(default_factory=dict)
    output: Sequence[tuple[int, bytes]] = ()
    exit: ExitStatus = field(default_factory=lambda: ExitStatus(code=0))
    echo: bool = False
    blocks: bool = False
    deaf: bool = False
    files: dict[str, list[FileEntry]] = field(default_factory=dict)
    tar: Sequence[bytes] = ()
    tar_error: MoorageError | None = None
    left_out: LeftOut = field(default_factory=LeftOut)
    checks: Sequence[Check] = ()
    caller: Caller = CALLER
    history: Sequence[SessionEvent] = ()
    warnings: Sequence[Progress] = ()
    fork_preflight: ForkPlan = FORK
    changed: Changes = CHANGED
    objects: Sequence[Json] = ()
    scenes: list[list[SessionView]] | None = None
    found: dict[str, Evidence] = field(default_factory=dict)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    uploaded: dict[str, bytes] = field(default_factory=dict)
    request: LaunchRequest | None = None

    def note(self, *call: Any) -> None:
        self.calls.append(call)
        for key in (call[0], " ".join(map(str, call[:2]))):
            if key in self.failures:
                raise self.failures[key]

    def names(self, verb: str) -> list[Any]:
        """First arguments of the calls of one verb."""
        return [call[1] for call in self.calls if call[0] == verb]

    def _view(self, name: str) -> SessionView:
        for view in self.views:
            if name in (view.session.name, view.session.id):
                return view
        raise NotFound(f"there is no session {name!r}", field="session")

    async def launch(self, request: LaunchRequest, report: Report) -> Session:
        self.request = request
        self.note("launch", request.name)
        report(Progress("cluster", "template accepted"))
        return self.views[0].session

    async def preview(self, request: LaunchRequest) -> list[Json]:
        self.request = request
        self.note("preview", request.name)
        return list(self.objects)

    def attach(self, name: str, *, from_start: bool = False, watching: bool = False) -> ScriptedAttachment:
        self.note("watch" if watching else "attach", name, from_start)
        if not watching:
            self._view(name)
        return ScriptedAttachment(self, self.steps)

    def _next_scene(self) -> None:
        """Go on to what is seen at the next look; after the last one, Ctrl-C."""
        if self.scenes is None:
            return
        if not self.scenes:
            signal.raise_signal(signal.SIGINT)
            return
        self.views = self.scenes.pop(0)

    async def view(self, name: str) -> SessionView:
        self._next_scene()
        self.note("view", name)
        return self._view(name)

    async def list_views(self, *, include_archived: bool = False, namespace: str = "") -> list[SessionView]:
        self._next_scene()
        self.note("list_views", include_archived)
        return [v for v in self.views if namespace in ("", v.session.inventory.namespace)]

    async def _act(self, verb: str, name: str, report: Report, *words: Any) -> SessionView:
        self.note(verb, name, *words)
        view = self._view(name)
        report(Progress("drain", f"{verb} {name}"))
        return view

    async def stop(self, name: str, report: Report, *, force: bool = False, wait: bool = True) -> SessionView:
        return await self._act("stop", name, report, force, *([] if wait else ["no wait"]))

    async def pause(self, name: str, report: Report, *, discard_workspace: bool = False) -> SessionView:
        return await self._act("pause", name, report, discard_workspace)

    async def resume(self, name: str, report: Report) -> SessionView:
        return await self._act("resume", name, report)

    async def reset(self, name: str, report: Report, *, discard_workspace: bool = False) -> SessionView:
        return await self._act("reset", name, report, discard_workspace)

    async def fork_plan(self, name: str, request: ForkRequest) -> ForkPlan:
        self.note("fork_plan", name, request)
        self._view(name)
        return self.fork_preflight

    async def fork(self, name: str, request: ForkRequest, report: Report) -> list[Session]:
        self.note("fork", name, request)
        self._view(name)
        report(Progress("source", f"copying the workspace of {name}"))
        return [make_session(fork) for fork in self.fork_preflight.names]

    async def changes(self, name: str, report: Report) -> Changes:
        self.note("changes", name)
        self._view(name)
        report(Progress("source", f"reading the workspace of {name}"))
        return self.changed

    async def export_branch(self, name: str, branch: str, report: Report) -> ExportedBranch:
        self.note("export_branch", name, branch)
        self._view(name)
        return ExportedBranch(name, "/src/project", branch, "abc123", "def456", len(self.changed.files))

    async def archive(self, name: str, report: Report, *, force: bool = False) -> SessionView:
        return await self._act("archive", name, report, force)

    async def known(self, name: str) -> None:
        self._view(name)

    async def remove(
        self,
        name: str,
        report: Report,
        *,
        force: bool = False,
        dry_run: bool = False,
        keep_workspace: bool = False,
        wait: bool = True,
    ) -> Removal:
        more = [*(["keep"] if keep_workspace else []), *([] if wait else ["no wait"])]
        self.note("plan" if dry_run else "remove", name, force, *more)
        self._view(name)
        return Removal(name, self.deletes, self.keeps)

    async def logs(self, name: str, *, follow: bool = False, offset: int = 0) -> AsyncIterator[Output | Gap]:
        self.note("logs", name, follow, offset)
        self._view(name)
        for item in self.transcript:
            yield item
        if follow and self.blocks:
            await asyncio.Event().wait()

    async def containers(self, name: str) -> list[str]:
        self.note("containers", name)
        self._view(name)
        return list(self.container_names)

    async def container_logs(
        self,
        name: str,
        container: str,
        *,
        previous: bool = False,
        follow: bool = False,
        tail: int | None = None,
        timestamps: bool = False,
        since: int | None = None,
    ) -> AsyncIterator[bytes]:
        asked = () if since is None else (since,)
        self.note("container_logs", name, container, previous, follow, tail, timestamps, *asked)
        if error := self.no_log.get(container):
            raise error
        for chunk in self.kubelet:
            yield chunk

    async def exec(self, name: str, spec: ProcessSpec) -> ScriptedProcess:
        self.note("exec", name, spec)
        self._view(name)
        return ScriptedProcess(self, self.output, self.exit, self.echo, self.blocks, self.deaf)

    async def list_files(self, name: str, path: str) -> list[FileEntry]:
        self.note("list_files", name, path)
        self._view(name)
        if path not in self.files:
            raise NotFound(f"there is no {path}", details={"code": "not_found"})
        return self.files[path]

    async def get_tar(self, name: str, path: str, left_out: LeftOut | None = None) -> AsyncIterator[bytes]:
        self.note("get_tar", name, path)
        self._view(name)
        for chunk in self.tar:
            yield chunk
        if self.tar_error is not None:
            raise self.tar_error
        if left_out is not None:
            left_out.count, left_out.names = self.left_out.count, self.left_out.names

    async def put_tar(
        self, name: str, path: str, chunks: AsyncIterator[bytes], *, replace: bool = True
    ) -> int:
        self.note("put_tar", name, path, replace)
        data = b"".join([chunk async for chunk in chunks])
        self.uploaded[path] = data
        return len(data)

    def filesystem(self, name: str) -> RemoteFiles:
        raise AssertionError("no command of the command line asks for single paths")

    async def usage(self, name: str) -> ContainerUsage:
        self.note("usage", name)
        return ContainerUsage(1 << 20, 1 << 30, 1_000_000, 0)

    async def reach(self, name: str) -> None:
        self.note("reach", name)
        self._view(name)

    async def dial(self, name: str, port: int) -> ScriptedPort:
        self.note("dial", name, port)
        self._view(name)
        return ScriptedPort(self)

    async def evidence(self, name: str) -> Evidence:
        self.note("evidence", name)
        return self.found.get(name, Evidence(None, "not asked", 0, 0))

    async def workspace_hash(self, name: str) -> str:
        return "hash"

    async def events(self, name: str, report: Report = lambda progress: None) -> list[SessionEvent]:
        self._next_scene()
        self.note("events", name)
        for progress in self.warnings:
            report(progress)
        self._view(name)
        return list(self.history)

    async def doctor(
        self,
        profile: LaunchRequest | None = None,
        *,
        launch: bool = False,
        report: Report = lambda progress: None,
    ) -> ConnectionTest:
        self.request = profile
        self.note("doctor", *(["launch"] if launch else []))
        return ConnectionTest("v1.36.3", "agents", tuple(self.checks))

    async def whoami(self) -> Caller:
        self.note("whoami")
        return self.caller

    async def isolation(self) -> str:
        return self.isolated

    async def server_version(self) -> str:
        self.note("server_version")
        return "v1.36.3"

    async def close(self) -> None:
        with contextlib.suppress(MoorageError):
            self.note("close")
