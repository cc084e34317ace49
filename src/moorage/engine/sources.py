"""What fills a workspace: a local path or a repository URL, made into one tar file on the controlling side.

Called by ``sessions.launch`` (prepare) and ``engine.act`` (stream). Git runs here, so an image needs no
git and credentials never reach the agent: they are kept out of the URL, of git's argv and of the clone's
configuration. The file is spooled with mode 0600 until the workspace is filled, so a crash in between
unpacks the very same bytes.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from moorage.core.errors import NotFound, UsageError
from moorage.core.session import FORKED, Session, SourceSpec
from moorage.core.source_url import GitUrl, parse_git_url
from moorage.engine.git import (
    clone,
    exclude_ours,
    head_commit,
    is_top_level,
    keep_commit,
    overlay_dirty,
    set_origin,
)
from moorage.engine.spool_lock import launching, sweeping
from moorage.engine.tree_tar import Packed, write_tar
from moorage.engine.workspace_copy import Copied, spool_copy

CHUNK = 256 * 1024


class Sources:
    """Prepared sources of the sessions of one data folder."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool

    def launching(self) -> AbstractAsyncContextManager[None]:
        """Held from before ``prepare`` until the session is on record: keeps ``sweep`` away."""
        return launching(self._spool)

    async def sweep(self, on_record: Callable[[], Awaitable[Collection[str]]]) -> None:
        """Remove what killed launches left behind: all that belongs to no session id of ``on_record``. Does
        nothing while a launch is under way anywhere."""
        if not self._spool.exists():
            return
        with sweeping(self._spool) as alone:
            if not alone:
                return
            known = await on_record()
            for path in list(self._spool.iterdir()):
                if re.split("[.-]", path.name)[0] in known:
                    continue
                if path.is_dir():
                    await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)

    async def prepare(
        self,
        location: str,
        ref: str,
        session_id: str,
        left_out: list[str] | None = None,
        without_logins: list[str] | None = None,
        notes: list[str] | None = None,
        exclude: Collection[str] = (),
    ) -> SourceSpec:
        """Clone or read ``location`` now and pin what it holds. Names of sockets, pipes and devices, which
        do not come along, are added to ``left_out``; those of files of git that held a login, which stays
        here, to ``without_logins``; what else a person should know of it, to ``notes``. ``exclude``: patterns
        of what is no change of a repository. Raises UsageError, NotFound."""
        packed = Packed(
            left_out if left_out is not None else [], without_logins if without_logins is not None else []
        )
        url = parse_git_url(location)
        self._spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f"{session_id}-", dir=self._spool))
        try:
            if url is not None:
                return await self._from_url(url, ref, session_id, work, packed, exclude)
            return await self._from_path(
                location, ref, session_id, work, packed, notes if notes is not None else [], exclude
            )
        finally:
            await asyncio.to_thread(shutil.rmtree, work, ignore_errors=True)

    async def _from_url(
        self,
        url: GitUrl,
        ref: str,
        session_id: str,
        work: Path,
        packed: Packed,
        exclude: Collection[str],
    ) -> SourceSpec:
        tree = work / "tree"
        await clone(url.clean, tree, ref=ref, user=url.user, password=url.password)
        exclude_ours(tree, exclude)
        commit = await head_commit(tree)
        if commit:
            await self._keep(tree, commit, session_id, work)
        marker = await self._pack(tree, session_id, packed)
        return SourceSpec(kind="url", location=url.clean, ref=ref, commit=commit, marker=marker)

    async def _from_path(
        self,
        location: str,
        ref: str,
        session_id: str,
        work: Path,
        packed: Packed,
        notes: list[str],
        exclude: Collection[str],
    ) -> SourceSpec:
        path = Path(location).expanduser().absolute()
        if not path.exists():
            raise NotFound(
                f"source {location} does not exist", field="source", hint="name a directory or a git URL"
            )
        if not path.is_dir():
            raise UsageError(
                f"source {location} is not a directory", field="source", hint="name a directory or a git URL"
            )
        if not await is_top_level(path):
            if ref:
                raise UsageError(
                    f"{location} is not a git repository, so it has no ref {ref}",
                    field="source_ref",
                    hint="leave out --source-ref, or name the top directory of a repository",
                )
            if repository := next((above for above in path.parents if (above / ".git").exists()), None):
                notes.append(f"without git: only a part of the repository {repository}")
            marker = await self._pack(path, session_id, packed)
            return SourceSpec(kind="path", location=str(path), marker=marker)
        tree = work / "tree"
        await clone(str(path), tree, ref=ref)
        await set_origin(path, tree)
        if not ref and (changed := await overlay_dirty(path, tree)):
            notes.append(f"with {changed} local change{'s'[: changed != 1]}")
        exclude_ours(tree, exclude)
        commit, marker = await head_commit(tree), await self._pack(tree, session_id, packed)
        return SourceSpec(kind="path", location=str(path), ref=ref, commit=commit, marker=marker)

    async def _keep(self, tree: Path, commit: str, session_id: str, work: Path) -> None:
        """For ``moorage changes``: a server may be away by then, or want a login."""
        kept = work / "kept"
        await keep_commit(tree, commit, kept)
        os.replace(kept, self._kept(session_id))

    def _kept(self, session_id: str) -> Path:
        return self._spool / f"{session_id}.base"

    def kept_objects(self, session_id: str) -> Path | None:
        """Git's objects of the commit that a URL was pinned to; None where none were kept."""
        objects = self._kept(session_id) / "objects"
        return objects if objects.is_dir() else None

    async def keep_too(self, origin_id: str, session_ids: Sequence[str]) -> None:
        """What was kept for one session is kept for its forks."""
        if not self._kept(origin_id).is_dir():
            return
        for session_id in session_ids:
            await asyncio.to_thread(
                shutil.copytree, self._kept(origin_id), self._kept(session_id), copy_function=os.link
            )

    @asynccontextmanager
    async def working(self) -> AsyncIterator[Path]:
        """A directory for work that belongs to no session; ``sweep`` removes what a killed command leaves."""
        async with self.launching():
            self._spool.mkdir(mode=0o700, parents=True, exist_ok=True)
            work = Path(tempfile.mkdtemp(prefix="work-", dir=self._spool))
            try:
                yield work
            finally:
                await asyncio.to_thread(shutil.rmtree, work, ignore_errors=True)

    async def _pack(self, tree: Path, session_id: str, packed: Packed) -> str:
        """Write the spool file; its SHA-256 is the marker of the filled workspace."""
        final = self._file(session_id)
        part = final.with_suffix(".part")
        await asyncio.to_thread(write_tar, tree, part, packed)
        digest = await asyncio.to_thread(_sha256, part)
        os.replace(part, final)
        return f"sha256:{digest}"

    async def take(self, session_ids: Sequence[str], chunks: AsyncIterator[bytes]) -> Copied:
        """Spool a copy of another workspace, once, as the source of each of these sessions. Raises
        HelperError for what is no workspace, StoreError where there is no room, and what ``chunks`` raises.
        """
        self._spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        first = self._file(session_ids[0])
        part = first.with_suffix(".part")
        try:
            copied = await spool_copy(chunks, part)
            os.replace(part, first)
        finally:
            part.unlink(missing_ok=True)
        for session_id in session_ids[1:]:
            os.link(first, self._file(session_id))
        return copied

    def _file(self, session_id: str) -> Path:
        return self._spool / f"{session_id}.tar"

    async def stream(self, session: Session) -> AsyncIterator[bytes]:
        """The prepared tar in chunks. NotFound when it is no longer there."""
        try:
            handle = await asyncio.to_thread(self._file(session.id).open, "rb")
        except FileNotFoundError:
            raise NotFound("the prepared source of this session is gone", hint=_again(session)) from None
        with handle:
            while chunk := await asyncio.to_thread(handle.read, CHUNK):
                yield chunk

    async def discard(self, session_id: str) -> None:
        """The workspace is filled: drop the file. Repeatable."""
        await asyncio.to_thread(self._file(session_id).unlink, missing_ok=True)

    async def forget(self, session_id: str) -> None:
        """The session is gone, or never came on record: drop all there is of its source. Repeatable."""
        await self.discard(session_id)
        await asyncio.to_thread(shutil.rmtree, self._kept(session_id), ignore_errors=True)


def _again(session: Session) -> str:
    if session.source is None:
        return ""
    if session.source.kind == FORKED:
        return f"remove the session and fork {session.source.location} again"
    return f"remove the session and run it again with --source {session.source.location}"


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
