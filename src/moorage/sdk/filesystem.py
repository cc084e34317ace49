"""Files of a sandbox: ``sandbox.files``, over the link. Relative paths begin at ``/workspace``.

A file is written whole or not at all. What the container's user may not do is refused by the kernel, and
told."""

from __future__ import annotations

import asyncio
import io
import posixpath
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import IO, Final, Literal, overload

from moorage.core.errors import FileNotFound, UsageError
from moorage.core.owned import WORKSPACE_PATH
from moorage.ports.files import RemoteFiles
from moorage.ports.link import FileChange
from moorage.ports.sessions import SessionVerbs
from moorage.sdk.limits import limited
from moorage.sdk.tar_stream import only_file, packed
from moorage.sdk.values import (
    AsyncData,
    AsyncHandler,
    Entries,
    EntryInfo,
    FilesystemEvent,
    FileType,
    WriteEntry,
    WriteInfo,
    entry_info,
)
from moorage.sdk.watching import AsyncWatchHandle, event_of

_IN_MEMORY: Final = 4 << 20
_PIECE: Final = 256 << 10
_NEW_FILE: Final = 0o644


class AsyncFilesystem:
    """``sandbox.files``. Every call raises NotRunning when no Pod of the sandbox runs."""

    def __init__(self, sessions: Callable[[], SessionVerbs], name: str) -> None:
        self._sessions = sessions
        self._name = name

    @property
    def _paths(self) -> RemoteFiles:
        return self._sessions().filesystem(self._name)

    @overload
    async def read(
        self, path: str, format: Literal["text"] = "text", *, request_timeout: float | None = None
    ) -> str: ...

    @overload
    async def read(
        self, path: str, format: Literal["bytes"], *, request_timeout: float | None = None
    ) -> bytes: ...

    @overload
    async def read(
        self, path: str, format: Literal["stream"], *, request_timeout: float | None = None
    ) -> AsyncIterator[bytes]: ...

    async def read(
        self,
        path: str,
        format: Literal["text", "bytes", "stream"] = "text",
        *,
        request_timeout: float | None = None,
    ) -> str | bytes | AsyncIterator[bytes]:
        """The content of a file. FileNotFound; UsageError for a directory, and for text that is not UTF-8.
        IntegrityError when other bytes arrive than were sent. Of a ``stream``, ``request_timeout`` covers the
        beginning."""
        async with limited(request_timeout):
            entry = await self._paths.info(_absolute(path), follow=True)
            if entry.kind == "dir":
                raise UsageError(
                    f"{path} is a directory", field="path", hint="files.list shows what is in it"
                )
            chunks = only_file(self._sessions().get_tar(self._name, entry.path))
            if format == "stream":
                return chunks
            data = b"".join([chunk async for chunk in chunks])
        if format == "bytes":
            return data
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise UsageError(
                f"{path} is not UTF-8 text", field="format", hint='read it with format="bytes"'
            ) from None

    async def write(self, path: str, data: AsyncData, request_timeout: float | None = None) -> WriteInfo:
        """Write a file, and the directories above it. A file that is there keeps its mode, a link stays and
        leads to the new content. NotEnoughSpace, Conflict where a directory is."""
        async with limited(request_timeout):
            at, mode = await self._target(path)
            with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
                size = await _spooled(data, spool)
                folder, _, name = at.rpartition("/")
                tar = packed(name, mode, size, int(time.time()), _pieces(spool))
                await self._sessions().put_tar(self._name, folder or "/", tar, replace=True)
        return WriteInfo(posixpath.basename(path), FileType.FILE, _absolute(path))

    async def write_files(
        self, files: Sequence[WriteEntry], request_timeout: float | None = None
    ) -> list[WriteInfo]:
        """Each as ``write`` does; what was written before one that fails stays."""
        async with limited(request_timeout):
            return [await self.write(one["path"], one["data"]) for one in files]

    async def _target(self, path: str) -> tuple[str, int]:
        """Where a write to ``path`` goes, and the mode of what it replaces."""
        if path.endswith("/"):
            raise UsageError(f"{path} names no file", field="path", hint="give the path of a file")
        try:
            entry = await self._paths.info(_absolute(path), follow=True)
        except FileNotFound:
            return _absolute(path), _NEW_FILE
        return entry.path, entry.mode if entry.kind == "file" else _NEW_FILE

    async def exists(self, path: str, request_timeout: float | None = None) -> bool:
        """Also of a link that leads nowhere."""
        try:
            async with limited(request_timeout):
                await self._paths.info(_absolute(path))
        except FileNotFound:
            return False
        return True

    async def get_info(self, path: str, request_timeout: float | None = None) -> EntryInfo:
        """Of a link: the link itself. FileNotFound."""
        async with limited(request_timeout):
            return entry_info(await self._paths.info(_absolute(path)), _absolute(path))

    async def remove(self, path: str, request_timeout: float | None = None) -> None:
        """A file, or a directory with all below it. What is not there is no error."""
        async with limited(request_timeout):
            await self._paths.remove(_absolute(path))

    async def rename(self, old_path: str, new_path: str, request_timeout: float | None = None) -> EntryInfo:
        """A file at ``new_path`` is replaced; a filled directory there is a Conflict. FileNotFound."""
        async with limited(request_timeout):
            await self._paths.rename(_absolute(old_path), _absolute(new_path))
            return entry_info(await self._paths.info(_absolute(new_path)), _absolute(new_path))

    async def make_dir(self, path: str, request_timeout: float | None = None) -> bool:
        """With what is missing above it; False when it is there already. Conflict when it is a file."""
        async with limited(request_timeout):
            return await self._paths.make_dir(_absolute(path))

    async def watch_dir(
        self,
        path: str,
        on_event: AsyncHandler[FilesystemEvent] | None = None,
        on_exit: AsyncHandler[Exception | None] | None = None,
        *,
        timeout: float | None = 60,
        recursive: bool = False,
        include_entry: bool = False,
        request_timeout: float | None = None,
    ) -> AsyncWatchHandle:
        """See what happens in a directory, from the return of this call on, for ``timeout`` seconds (None or
        0: until ``stop``). Without ``on_event``, ``get_new_events`` gives it out. FileNotFound."""
        top = _absolute(path)

        async def described(change: FileChange) -> FilesystemEvent:
            event = event_of(change)
            if not include_entry:
                return event
            try:
                entry = await self._paths.info(posixpath.join(top, change.name))
            except FileNotFound:
                return event
            told = entry_info(entry, posixpath.join(top, change.name))
            return FilesystemEvent(event.name, event.type, told)

        changes = self._paths.watch(top, recursive=recursive)
        handle = AsyncWatchHandle(changes, described, on_event, on_exit, timeout or None)
        try:
            async with limited(request_timeout):
                await handle.begun()
        except BaseException:
            await handle.stop()
            raise
        return handle

    async def list(
        self, path: str, depth: int | None = 1, *, request_timeout: float | None = None
    ) -> Entries:
        """A directory, sorted by path; ``depth`` 2: also what is in the directories in it, and so on. Links
        are not followed. FileNotFound; UsageError for a file."""
        if depth is None or depth < 1:
            raise UsageError(f"a depth of {depth}", field="depth", hint="1 or more")
        found: Entries = []
        async with limited(request_timeout):
            level = [_absolute(path)]
            for _ in range(depth):
                entries = [entry for one in level for entry in await self._one_level(one)]
                found += entries
                level = [entry.path for entry in entries if entry.type is FileType.DIR]
        return sorted(found, key=lambda entry: entry.path)

    async def _one_level(self, path: str) -> Entries:
        listed = await self._sessions().list_files(self._name, path)
        if len(listed) == 1 and listed[0].kind != "dir":  # an only file, or what was asked for itself
            entry = await self._paths.info(path, follow=True)
            if entry.kind != "dir":
                raise UsageError(
                    f"{path} is no directory", field="path", hint="files.get_info tells of one path"
                )
        names = [posixpath.basename(entry.path) for entry in listed]
        return [
            entry_info(entry, posixpath.join(path, name)) for entry, name in zip(listed, names, strict=True)
        ]


def _absolute(path: str) -> str:
    return posixpath.normpath(posixpath.join(WORKSPACE_PATH, path))


async def _spooled(data: AsyncData, spool: IO[bytes]) -> int:
    """All of it on this side, since its size comes first; how many bytes."""
    if isinstance(data, str):
        data = data.encode()
    if isinstance(data, bytes):
        spool.write(data)
    elif isinstance(data, AsyncIterator) or hasattr(data, "__aiter__"):
        async for chunk in data:
            await asyncio.to_thread(spool.write, chunk)
    else:
        while chunk := await asyncio.to_thread(_some_of, data):
            await asyncio.to_thread(spool.write, chunk)
    size = spool.tell()
    spool.seek(0, io.SEEK_SET)
    return size


def _some_of(data: IO[bytes] | IO[str]) -> bytes:
    chunk = data.read(_PIECE)
    return chunk.encode() if isinstance(chunk, str) else chunk


async def _pieces(spool: IO[bytes]) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(spool.read, _PIECE):
        yield piece
