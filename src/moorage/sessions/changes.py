"""What a session has changed in the repository it came from, and taking it there. For ``sessions.verbs``.

The files are read from the session's Pod and compared on this side: its image needs no git, and nothing that
it says of itself is believed. Reads the Pod only; of the repository at home only a new branch is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from moorage.core.errors import Conflict, IdentityChanged, NotFound, UsageError
from moorage.core.owned import WORKSPACE_PATH
from moorage.core.session import Session, SourceSpec
from moorage.core.source_url import parse_git_url
from moorage.engine.checkout import checkout
from moorage.engine.comparison import Comparison, check_branch, objects_of
from moorage.engine.workspace_copy import spool
from moorage.ports.changes import Changes, ExportedBranch
from moorage.ports.link import LeftOut, Link
from moorage.ports.sessions import Progress, Report
from moorage.sessions.fork_facts import LinkTo
from moorage.sessions.parts import Parts


async def changes(parts: Parts, session: Session, link_to: LinkTo, report: Report) -> Changes:
    """Raises UsageError without a source of git, Conflict without a Pod to read, HelperError for a workspace
    that is too large, NotFound where the commit is gone."""
    source = pinned(session)
    async with _compared(parts, session, source, link_to, report) as (comparison, work):
        files = await comparison.files()
        patch = await comparison.patch(work) if files else b""
        return Changes(session.name, source.commit, source.repository, files, patch)


async def export_branch(
    parts: Parts, session: Session, branch: str, link_to: LinkTo, report: Report
) -> ExportedBranch:
    """Raises what ``changes`` does; UsageError for a source that is no local repository and for a bad name;
    Conflict for a branch that is there and where nothing is changed."""
    source = pinned(session)
    repository = _local(session, source)
    await check_branch(repository, branch)
    async with _compared(parts, session, source, link_to, report) as (comparison, work):
        files = await comparison.files()
        if not files:
            raise Conflict(f"session {session.name} has changed nothing since commit {source.commit[:12]}")
        said = f"Changes of session {session.name}\n\nMoorage-Session: {session.id}"
        commit = await comparison.to_branch(work, repository, branch, said)
        return ExportedBranch(session.name, str(repository), branch, source.commit, commit, len(files))


def pinned(session: Session) -> SourceSpec:
    """The source, which has a commit."""
    if session.source is None or not session.source.commit:
        raise UsageError(
            f"session {session.name} did not start from a commit, so there is nothing to compare it with",
            field="session",
            hint=f"the files themselves: moorage cp {session.name}:/workspace DIR; "
            "--source REPOSITORY starts a session from one",
        )
    return session.source


def _local(session: Session, source: SourceSpec) -> Path:
    if parse_git_url(source.repository) is not None:
        raise UsageError(
            f"session {session.name} came from {source.repository}, which is no repository on this machine",
            field="branch",
            hint=f"moorage export {session.name} --patch, and git apply in a clone of it",
        )
    return Path(source.repository)


@asynccontextmanager
async def _compared(
    parts: Parts, session: Session, source: SourceSpec, link_to: LinkTo, report: Report
) -> AsyncIterator[tuple[Comparison, Path]]:
    objects = await _objects(parts, session, source)
    link = await _link(session, link_to)
    async with parts.sources.working() as work:
        report(Progress("source", f"reading the workspace of {session.name}"))
        tar, tree, left_out = work / "workspace.tar", work / "tree", LeftOut()
        tree.mkdir()
        await spool(link.get_tar(WORKSPACE_PATH, left_out), tar)
        if left_out.count:
            what = f"{left_out.count} that are neither file, directory nor link"
            report(Progress("warning", f"not compared: {what}: {', '.join(left_out.names[:10])}"))
        await asyncio.to_thread(_checkout, tar, tree)
        report(Progress("source", f"comparing it with {source.commit[:12]}"))
        yield await Comparison.made(work, objects, source.commit, tree), work


def _checkout(tar: Path, tree: Path) -> None:
    with tar.open("rb") as stream:
        checkout(stream, tree)
    tar.unlink()


async def _objects(parts: Parts, session: Session, source: SourceSpec) -> Path:
    if parse_git_url(source.repository) is None:
        return await objects_of(Path(source.repository))
    if (kept := parts.sources.kept_objects(session.id)) is not None:
        return kept
    raise NotFound(
        f"commit {source.commit[:12]} of {source.repository} was not kept when the session started",
        field="source",
        hint=f"the files themselves: moorage cp {session.name}:/workspace DIR",
    )


async def _link(session: Session, link_to: LinkTo) -> Link:
    if session.filled == "":
        raise Conflict(
            f"the workspace of {session.name} is not filled yet",
            hint=f"moorage wait {session.name} --for Running",
        )
    try:
        return await link_to(session)
    except IdentityChanged:
        raise
    except Conflict as error:
        raise Conflict(
            f"session {session.name} has no Pod to read its workspace from",
            hint=f"moorage resume {session.name} && moorage stop {session.name}, then again",
        ) from error
