"""Keeps a set of objects current: sends what ``kube.reflector_state`` decides, feeds it what comes back.

Made by ``KubeCluster.watch``; runs as one task while its context is open. Decides nothing itself but how
long to wait for bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Any

import aiohttp
import msgspec

from moorage.core.errors import ApiError
from moorage.core.kinds import Json, Resource
from moorage.kube.cache import WatchedObjects
from moorage.kube.lines import LineSplitter, LineTooLong
from moorage.kube.reflector_state import End, List, ReflectorState, Request, Watch
from moorage.kube.shapes import bookmark, checked_item, items_of
from moorage.kube.transport import Params, Transport
from moorage.ports.cluster import ObjectCache

INITIAL_LIMIT = 5.0
"""Seconds for the initial events of a WatchList; then it is taken as dropped by something in between."""
SILENCE_LIMIT = 90.0
"""Seconds without a byte, bookmarks included, after which a watch is dead."""
SHORTEST, LONGEST = 300, 600
"""Range of ``timeoutSeconds``, drawn for each watch so that they do not all end together."""
PAGE = 500


class WatchListSupport:
    """Whether this API server streams initial events: learned once, shared by all its reflectors."""

    def __init__(self) -> None:
        self.usable = True


class _Event(msgspec.Struct):
    type: str
    object: dict[str, Any]


class Reflector:
    """A watched set of ``resource`` at ``path``; enter it to run."""

    def __init__(
        self,
        transport: Transport,
        resource: Resource,
        path: str,
        selectors: Params,
        support: WatchListSupport,
        *,
        initial_limit: float = INITIAL_LIMIT,
        silence_limit: float = SILENCE_LIMIT,
    ) -> None:
        self._transport, self._resource, self._path = transport, resource, path
        self._selectors, self._support = list(selectors), support
        self._initial_limit, self._silence_limit = initial_limit, silence_limit
        self._state = ReflectorState(watch_list=support.usable)
        self._cache = WatchedObjects(self._state, time.monotonic)
        self._decoder = msgspec.json.Decoder(_Event)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> ObjectCache:
        self._task = asyncio.create_task(self._run(), name=f"watch {self._resource.plural}")
        return self._cache

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        try:
            await self._follow()
        finally:
            self._cache.down("it has stopped")  # whatever ended it: what was seen grows old from now on

    async def _follow(self) -> None:
        while True:
            request = self._state.request()
            began = time.monotonic()
            end, why = await self._send(request)
            if end is not None:
                self._cache.down(why)
                if end is End.UNSUPPORTED:
                    self._support.usable = False
                if not self._state.synced:
                    self._cache.notify()  # who waits for the first sync learns why it does not come
                lasted = time.monotonic() - began
                jitter = random.random()  # noqa: S311 - spreads load, guards nothing
                await asyncio.sleep(self._state.ended(end, lasted=lasted, jitter=jitter))

    async def _send(self, request: Request) -> tuple[End | None, str]:
        """Send one request and read it to its end; an end of None means: go on at once."""
        try:
            if isinstance(request, List):
                await self._list()
                return None, ""
            return await self._watch(request)
        except ApiError as error:
            return self._meaning(request, error), error.message
        except (aiohttp.ClientError, OSError) as error:
            return End.CLOSED, f"the connection broke ({type(error).__name__})"
        except (ValueError, RecursionError, LineTooLong) as error:
            return End.FAILED, f"the watch brought something else than events: {error}"

    def _meaning(self, request: Request, error: ApiError) -> End:
        problem = error.problem
        if problem.http_status == 410:
            return End.EXPIRED
        if isinstance(request, Watch) and request.initial and problem.http_status in (400, 404, 405, 422):
            return End.UNSUPPORTED
        return End.FAILED

    async def _list(self) -> None:
        items: list[Json] = []
        token = version = ""
        while True:
            params = [*self._selectors, ("limit", str(PAGE)), *([("continue", token)] if token else [])]
            answer = await self._transport.call("GET", self._path, params=params)
            items += (self._typed(item) for item in items_of(answer, self._resource))
            metadata = answer.get("metadata") or {}
            # Every page carries the version of the first: the list is one moment's view.
            version, token = str(metadata.get("resourceVersion") or ""), metadata.get("continue") or ""
            if not token:
                break
        self._cache.up()
        if self._state.listed(items, version):
            self._cache.notify()

    async def _watch(self, request: Watch) -> tuple[End, str]:
        initial = request.initial
        try:
            async with (
                asyncio.timeout(self._initial_limit if initial else None) as limit,
                contextlib.aclosing(self._events(request)) as events,
            ):
                async for event in events:
                    known = self._state.synced, self._state.resource_version
                    verdict = self._state.event(event.type, self._typed(event.object))
                    if isinstance(verdict, End):
                        message = str(event.object.get("message") or "the watch reported an error")
                        return verdict, message
                    if initial and self._state.resource_version and not known[1]:
                        initial = False
                        limit.reschedule(None)
                        self._cache.up()
                    if verdict:
                        self._cache.notify()
        except TimeoutError:
            if limit.expired():
                return End.UNSUPPORTED, "the initial events did not come to an end"
            return End.CLOSED, f"the watch was silent for {self._silence_limit:.0f} seconds"
        if initial:
            return End.FAILED, "the watch ended inside its initial events"
        return End.CLOSED, "the watch ended"

    async def _events(self, request: Watch) -> AsyncGenerator[_Event, None]:
        lines = LineSplitter()
        params = [*self._selectors, *_watch_params(request)]
        async with self._transport.stream(self._path, params=params, idle=self._silence_limit) as response:
            if not request.initial:
                self._cache.up()
            async for chunk in response.content.iter_any():
                for line in lines.feed(chunk):
                    yield self._checked(self._decoder.decode(line))

    def _checked(self, event: _Event) -> _Event:
        if event.type == "BOOKMARK":
            bookmark(event.object, self._resource)
        elif event.type != "ERROR":
            checked_item(event.object, self._resource)
        return event

    def _typed(self, obj: Json) -> Json:
        obj.setdefault("apiVersion", self._resource.api_version)
        obj.setdefault("kind", self._resource.kind)
        return obj


def _watch_params(request: Watch) -> list[tuple[str, str]]:
    seconds = random.randint(SHORTEST, LONGEST)  # noqa: S311 - spreads load, guards nothing
    params = [("watch", "true"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", str(seconds))]
    if request.initial:
        return [*params, ("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
    return [*params, ("resourceVersion", request.resource_version)]
