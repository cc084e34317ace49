"""The verbs of a session, in process. Implements ``ports.sessions.SessionVerbs``; made by ``main``.

Each verb reads the record, checks what can be refused, and hands over: launch, carry, attachment, views.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from moorage.core.command import check_command
from moorage.core.errors import Conflict, LinkError, MoorageError, NotFound, StoreError, UsageError
from moorage.core.kinds import Json
from moorage.core.owned import WORKSPACE_PATH
from moorage.core.session import Desired, Intent, Phase, Session, WorkspaceMode
from moorage.ports.changes import Changes, ExportedBranch
from moorage.ports.cluster import Cluster
from moorage.ports.forks import ForkPlan, ForkRequest
from moorage.ports.link import (
    ContainerUsage,
    FileEntry,
    Gap,
    LeftOut,
    Link,
    Output,
    ProcessSpec,
    RemoteProcess,
)
from moorage.ports.sessions import (
    Attachment,
    Caller,
    ConnectionTest,
    Evidence,
    LaunchRequest,
    Progress,
    Removal,
    Report,
    SessionView,
)
from moorage.ports.store import SessionEvent
from moorage.ports.streams import DialledStream
from moorage.sessions import abandoned, changes, fork, history, probe, removal, unreadable
from moorage.sessions.attachment import SessionAttachment
from moorage.sessions.carry import carry_out, leave_wish
from moorage.sessions.doctor import doctor
from moorage.sessions.evidence import evidence
from moorage.sessions.files import SessionFiles
from moorage.sessions.isolation import isolation
from moorage.sessions.parts import Parts
from moorage.sessions.settled import already, keeps_on, nothing_done
from moorage.sessions.side_links import SideLinks
from moorage.sessions.views import glance, view, views
from moorage.sessions.whoami import whoami

COPY_LIMIT = 64 << 30


class Verbs:
    """See the port. ``parts`` belong to one data folder; ``close`` closes them."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._links = SideLinks(parts)

    @property
    def where(self) -> str:
        return self._parts.executors.where

    async def launch(self, request: LaunchRequest, report: Report) -> Session:
        from moorage.sessions import launch  # the whole Pod schema, which no other verb needs

        await removal.sweep(self._parts)
        await probe.sweep(self._parts)
        return await launch.launch(self._parts, request, report)

    async def preview(self, request: LaunchRequest) -> list[Json]:
        from moorage.sessions import launch

        session, _ = await launch.draft(self._parts, request, lambda progress: None)
        return launch.preview_objects(session)

    def attach(self, name: str, *, from_start: bool = False, watching: bool = False) -> Attachment:
        return SessionAttachment(self._parts, name, from_start=from_start, watching=watching)

    async def _get(self, name: str) -> Session:
        return await self._parts.store.sessions.get(name)

    async def view(self, name: str) -> SessionView:
        try:
            session = await self._get(name)
        except StoreError:
            return unreadable.as_view(await unreadable.find(self._parts, name))
        return await view(self._parts, session)

    async def list_views(self, *, include_archived: bool = False, namespace: str = "") -> list[SessionView]:
        known = await self._parts.store.sessions.list_all(include_archived=include_archived)
        chosen = [session for session in known if namespace in ("", session.inventory.namespace)]
        others = await unreadable.as_views(
            self._parts, include_archived=include_archived, namespace=namespace
        )
        return [*await views(self._parts, chosen), *others]

    async def _wish(
        self,
        name: str,
        desired: Desired,
        report: Report,
        *,
        force: bool = False,
        discard: bool = False,
        keep: bool = False,
        wait: bool = True,
    ) -> SessionView:
        session = await self._get(name)
        if session.state.phase is Phase.ARCHIVED and desired is not Desired.DELETED:
            raise Conflict(
                f"session {session.name} is archived: its Pod and workspace are gone",
                hint=f"its output is still there: moorage logs {session.name}",
            )
        if nothing := await already(self._parts, session, desired):
            report(Progress("agent", nothing.said))
            return await glance(self._parts, session, nothing.unknown)
        intent = Intent(
            desired=desired,
            at=self._parts.clock.now(),
            force=force,
            discard_workspace=discard,
            keep_workspace=keep or keeps_on(session.intent, desired),
        )
        if not wait:
            return await view(self._parts, await leave_wish(self._parts, session, intent))
        await self._links.drop(session.id)
        done = await carry_out(self._parts, session, intent, report)
        if said := nothing_done(session, done, desired):
            report(Progress("agent", said))
        return await view(self._parts, done)

    async def stop(self, name: str, report: Report, *, force: bool = False, wait: bool = True) -> SessionView:
        return await self._wish(name, Desired.STOPPED, report, force=force, wait=wait)

    async def pause(self, name: str, report: Report, *, discard_workspace: bool = False) -> SessionView:
        session = await self._get(name)
        empty = session.inventory.snapshot.workspace.mode is WorkspaceMode.EMPTY_DIR
        if empty and not discard_workspace:
            raise UsageError(
                f"the workspace of {session.name} is an emptyDir: pausing would lose it",
                hint=f"moorage stop {session.name} keeps it; --discard-workspace pauses and loses it",
            )
        return await self._wish(name, Desired.PAUSED, report, discard=discard_workspace)

    async def resume(self, name: str, report: Report) -> SessionView:
        return await self._wish(name, Desired.RUNNING, report)

    async def reset(self, name: str, report: Report, *, discard_workspace: bool = False) -> SessionView:
        await self.pause(name, report, discard_workspace=discard_workspace)
        return await self.resume(name, report)

    async def fork_plan(self, name: str, request: ForkRequest) -> ForkPlan:
        return await fork.plan(self._parts, await self._get(name), request, self._links.to)

    async def fork(self, name: str, request: ForkRequest, report: Report) -> list[Session]:
        await removal.sweep(self._parts)
        return await fork.fork(self._parts, await self._get(name), request, self._links.to, report)

    async def changes(self, name: str, report: Report) -> Changes:
        return await changes.changes(self._parts, await self._get(name), self._links.to, report)

    async def export_branch(self, name: str, branch: str, report: Report) -> ExportedBranch:
        session = await self._get(name)
        return await changes.export_branch(self._parts, session, branch, self._links.to, report)

    async def archive(self, name: str, report: Report, *, force: bool = False) -> SessionView:
        session = await self._get(name)
        if session.state.phase is Phase.ARCHIVED:
            return await view(self._parts, session)
        return await self._wish(name, Desired.ARCHIVED, report, force=force)

    async def known(self, name: str) -> None:
        try:
            await self._get(name)
        except StoreError:
            await unreadable.find(self._parts, name)

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
        try:
            session = await self._get(name)
        except StoreError:
            return await unreadable.remove(self._parts, name, report, force=force, dry_run=dry_run)
        keep = keep_workspace or keeps_on(session.intent, Desired.DELETED)
        planned = await removal.planned(self._parts, session, force=force, keep=keep)
        if dry_run:
            return planned
        try:
            await self._wish(session.id, Desired.DELETED, report, force=force, keep=keep, wait=wait)
        except MoorageError as error:
            if not await abandoned.without_cluster(self._parts, session, error):
                raise
            if not force:
                raise abandoned.offered(error, session) from error.__cause__
            return await abandoned.remove(self._parts, session, report, error)
        await removal.sweep(self._parts)
        await probe.sweep(self._parts)
        return planned

    def logs(self, name: str, *, follow: bool = False, offset: int = 0) -> AsyncIterator[Output | Gap]:
        return history.logs(self._parts, name, follow=follow, offset=offset)

    async def containers(self, name: str) -> list[str]:
        return await history.containers(self._parts, await self._get(name))

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
        session = await self._get(name)
        async for chunk in history.container_log(
            self._parts,
            session,
            container,
            previous=previous,
            follow=follow,
            tail_lines=tail,
            timestamps=timestamps,
            since_seconds=since,
        ):
            yield chunk

    async def _link(self, name: str) -> Link:
        return await self._links.to(await self._get(name))

    async def exec(self, name: str, spec: ProcessSpec) -> RemoteProcess:
        check_command(spec.argv, spec.env, spec.cwd)
        return await (await self._link(name)).run(spec)

    async def list_files(self, name: str, path: str) -> list[FileEntry]:
        return await (await self._link(name)).list_files(path)

    async def get_tar(self, name: str, path: str, left_out: LeftOut | None = None) -> AsyncIterator[bytes]:
        link = await self._link(name)
        async for chunk in link.get_tar(path, left_out):
            yield chunk

    async def put_tar(
        self, name: str, path: str, chunks: AsyncIterator[bytes], *, replace: bool = True
    ) -> int:
        return await (await self._link(name)).put_tar(path, chunks, limit=COPY_LIMIT, replace=replace)

    def filesystem(self, name: str) -> SessionFiles:
        return SessionFiles(lambda: self._link(name))

    async def usage(self, name: str) -> ContainerUsage:
        return await (await self._link(name)).usage()

    async def reach(self, name: str) -> None:
        await self._link(name)

    async def dial(self, name: str, port: int) -> DialledStream:
        link = await self._link(name)
        try:
            return await link.dial(port)
        except LinkError:  # the link is dead, or its Pod was replaced: once more over a new one
            await self._links.replace(link)
            return await (await self._link(name)).dial(port)

    async def workspace_hash(self, name: str) -> str:
        return await (await self._link(name)).hash_tree(WORKSPACE_PATH)

    async def events(self, name: str, report: Report = lambda progress: None) -> list[SessionEvent]:
        try:
            session = await self._get(name)
        except StoreError:
            found = await unreadable.find(self._parts, name)
            return await self._parts.store.sessions.events(found.session.id)
        return await history.events(self._parts, session, report)

    async def evidence(self, name: str) -> Evidence:
        return await evidence(self._parts, await self._get(name))

    async def doctor(
        self,
        profile: LaunchRequest | None = None,
        *,
        launch: bool = False,
        report: Report = lambda progress: None,
    ) -> ConnectionTest:
        return await doctor(self._parts, profile, launch=launch, report=report)

    async def isolation(self) -> str:
        return await isolation(self._parts)

    async def whoami(self) -> Caller:
        cluster = await self._running()
        return await whoami(cluster, self._parts.executors.chosen())

    async def server_version(self) -> str:
        return (await (await self._running()).identity()).version

    async def _running(self) -> Cluster:
        """The cluster of new sessions; NotFound for an embedded one that does not run, which is left so."""
        executors = self._parts.executors
        config = executors.chosen()
        if config.embedded and executors.built_in is not None and not executors.built_in.is_running():
            hint = "the next command that needs it starts it; --context NAME names another"
            raise NotFound("the embedded cluster does not run now", hint=hint)
        return await executors.cluster(config)

    async def close(self) -> None:
        """Each also when the one before it failed, or was cancelled: the records last."""
        async with AsyncExitStack() as last_first:
            last_first.push_async_callback(self._parts.store.close)
            last_first.push_async_callback(self._parts.executors.close)
            last_first.push_async_callback(self._links.close)
