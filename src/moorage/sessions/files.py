"""Files in a session's Pod, a path at a time: implements ``ports.files.RemoteFiles``.

Made by ``sessions.verbs``. Reads and writes over a link of its own: no lease, and nothing goes on record.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from moorage.ports.link import FileChange, FileEntry, Link

Connect = Callable[[], Awaitable[Link]]


class SessionFiles:
    """See the port. ``link`` gives the open link, or a new one."""

    def __init__(self, link: Connect) -> None:
        self._link = link

    async def info(self, path: str, *, follow: bool = False) -> FileEntry:
        return await (await self._link()).file_info(path, follow=follow)

    async def make_dir(self, path: str) -> bool:
        return await (await self._link()).make_dir(path)

    async def remove(self, path: str) -> None:
        await (await self._link()).remove_path(path)

    async def rename(self, path: str, to: str) -> None:
        await (await self._link()).rename_path(path, to)

    async def watch(self, path: str, *, recursive: bool = False) -> AsyncGenerator[FileChange | None, None]:
        link = await self._link()
        async with aclosing(link.watch_dir(path, recursive=recursive)) as changes:
            async for change in changes:
                yield change
