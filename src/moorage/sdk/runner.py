"""Runs the async SDK for those who call it without ``await``: one thread with one event loop a process.

Called by ``sdk.blocking`` only. Handlers run in threads of their own, one after the other, so that they may
call the SDK themselves. What is open at the end of the program is closed."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from typing import IO, Any, TypeVar, cast

from moorage.core.errors import UsageError
from moorage.sdk.opening import close_all
from moorage.sdk.values import AsyncData, AsyncHandler, Data, Handler

T = TypeVar("T")
Faces = dict[type, Callable[[Any], Any]]
CLEANING = 60.0
"""Seconds that what was interrupted has to clean up."""
FACES: Faces = {}
"""Async class → its sync face. Filled by ``sdk.blocking``."""


class _Runner:
    """Of the process ``pid``: a child that was forked has another."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._serve, name="moorage-sdk", daemon=True)
        self.thread.start()
        atexit.register(self.end)

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def end(self) -> None:
        if os.getpid() != self.pid or not self.thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(close_all(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


_runners: list[_Runner] = []
_turn = threading.Lock()


def _runner() -> _Runner:
    with _turn:
        if not _runners or _runners[0].pid != os.getpid():
            _runners[:] = [_Runner()]
        return _runners[0]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Wait for it. Ctrl-C cancels it, and waits for its cleaning up; another one does not."""
    runner = _runner()
    if threading.current_thread() is runner.thread:
        work.close()
        raise UsageError("the sync SDK was called from its own event loop", hint="use AsyncSandbox there")
    over = threading.Event()
    tasks: list[asyncio.Task[T] | None] = []

    async def whole() -> T:
        tasks.append(asyncio.current_task())
        try:
            return await work
        finally:
            over.set()

    def give_up() -> None:  # after ``whole`` was begun, since calls come in order
        for task in tasks:
            if task is not None:
                task.cancel()

    try:
        return asyncio.run_coroutine_threadsafe(whole(), runner.loop).result()
    except KeyboardInterrupt:
        runner.loop.call_soon_threadsafe(runner.loop.call_soon, give_up)
        over.wait(CLEANING)
        raise


def call(function: Callable[[], T]) -> T:
    """Something that does not wait, but belongs on the event loop."""

    async def there() -> T:
        return function()

    return run(there())


def face(value: Any) -> Any:
    """The sync face of what has one; else the value itself."""
    if isinstance(value, AsyncIterator) and type(value) not in FACES:
        return _iterated(value)
    found = FACES.get(type(value))
    return value if found is None else found(value)


def _iterated(pieces: AsyncIterator[T]) -> Iterator[T]:
    async def step() -> tuple[T] | None:
        try:
            return (await anext(pieces),)
        except StopAsyncIteration:
            return None

    while (piece := run(step())) is not None:
        yield piece[0]


def threaded(handler: Handler[T] | None) -> AsyncHandler[T] | None:
    """A plain handler as the async SDK calls it."""
    if handler is None:
        return None
    plain = handler

    async def told(value: T) -> None:
        await asyncio.to_thread(plain, value)

    return told


def needed(handler: Handler[T]) -> AsyncHandler[T]:
    """``threaded`` for one that must be given."""
    return cast("AsyncHandler[T]", threaded(handler))


def fed(data: Data) -> AsyncData:
    """Pieces of a file as the async SDK takes them."""
    if isinstance(data, str | bytes) or hasattr(data, "read"):
        return cast("str | bytes | IO[bytes] | IO[str]", data)
    return _fed(data)


async def _fed(pieces: Iterable[bytes]) -> AsyncIterable[bytes]:
    iterator = iter(pieces)
    while (piece := await asyncio.to_thread(next, iterator, None)) is not None:
        yield piece
