"""Watching a directory of a sandbox: the handle that ``sandbox.files.watch_dir`` gives out."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable

from moorage.core.errors import MoorageError
from moorage.ports.link import FileChange
from moorage.sdk.values import AsyncHandler, FilesystemEvent, FilesystemEventType

Described = Callable[[FileChange], Awaitable[FilesystemEvent]]


class AsyncWatchHandle:
    """Sees changes until ``stop``, the end of its time, or of the directory."""

    def __init__(
        self,
        changes: AsyncGenerator[FileChange | None, None],
        described: Described,
        on_event: AsyncHandler[FilesystemEvent] | None,
        on_exit: AsyncHandler[Exception | None] | None,
        limit: float | None,
    ) -> None:
        self._changes = changes
        self._described = described
        self._on_event = on_event
        self._on_exit = on_exit
        self._limit = limit
        self._new: list[FilesystemEvent] = []
        self._failure: Exception | None = None
        self._stands: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._follow())

    async def begun(self) -> None:
        """Returns once nothing is missed any more; raises why it cannot be watched."""
        await asyncio.wait({self._stands, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if not self._stands.done():
            self._stands.cancel()
            assert self._failure is not None
            raise self._failure

    async def _follow(self) -> None:
        try:
            async with asyncio.timeout(self._limit), contextlib.aclosing(self._changes) as changes:
                async for change in changes:
                    if change is not None:
                        await self._tell(await self._described(change))
                    elif not self._stands.done():
                        self._stands.set_result(None)
        except TimeoutError:
            pass
        except Exception as error:
            self._failure = error
        if self._on_exit is not None and self._stands.done():
            answer = self._on_exit(self._failure)
            if inspect.isawaitable(answer):
                await answer

    async def _tell(self, event: FilesystemEvent) -> None:
        if self._on_event is None:
            self._new.append(event)
            return
        answer = self._on_event(event)
        if inspect.isawaitable(answer):
            await answer

    async def get_new_events(self) -> list[FilesystemEvent]:
        """What happened since the last call, where no ``on_event`` was given. Raises what ended the watch,
        once all was given out."""
        new, self._new = self._new, []
        if not new and isinstance(self._failure, MoorageError):
            raise self._failure
        return new

    async def stop(self) -> None:
        """Watch no longer. Repeatable."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def event_of(change: FileChange) -> FilesystemEvent:
    """A change without its entry."""
    return FilesystemEvent(change.name, FilesystemEventType(change.kind))
