"""Reflectors against a server that misbehaves: what a consumer sees."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from moorage.core.errors import ApiError
from moorage.core.kinds import PODS
from moorage.core.observed import Absent, Present, Unknown
from moorage.kube.cache import STALE_AFTER, WatchedObjects
from moorage.kube.reflector import LONGEST, Reflector, WatchListSupport
from moorage.kube.reflector_state import INITIAL_END, ReflectorState
from moorage.ports.cluster import ObjectCache

PATH = "/api/v1/namespaces/ns/pods"
Event = tuple[str, dict[str, Any]]


def pod(name: str, version: str = "1") -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": version}}


def initial_end(version: str) -> Event:
    annotations = {INITIAL_END: "true"}
    return "BOOKMARK", {"metadata": {"resourceVersion": version, "annotations": annotations}}


def expired() -> Event:
    return "ERROR", {"kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired"}


Body = Callable[[web.StreamResponse], Awaitable[None]]


class Watches:
    """Plays the answers to watches in order, and lists the present ``pods``."""

    def __init__(self, api: Any) -> None:
        self.pods: list[dict[str, Any]] = []
        self.asked: list[dict[str, str]] = []
        self.lists = 0
        self.quiet = asyncio.Event()  # set to end the watches that hang
        self._plays: list[list[Event] | int] = []
        self._hang: list[bool] = []
        api.on("GET", PATH, self._answer)

    def play(self, *events: Event, hang: bool = True) -> None:
        """The next watch brings ``events``, then stays silent, or ends where ``hang`` is False."""
        self._plays.append(list(events))
        self._hang.append(hang)

    def refuse(self, status: int) -> None:
        self._plays.append(status)
        self._hang.append(False)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            self.lists += 1
            return web.json_response({"metadata": {"resourceVersion": "100"}, "items": self.pods})
        self.asked.append(dict(request.query))
        play, hang = (self._plays.pop(0), self._hang.pop(0)) if self._plays else ([], True)
        if isinstance(play, int):
            said = {"kind": "Status", "apiVersion": "v1", "code": play, "reason": "Refused"}
            return web.json_response(said, status=play)
        response = web.StreamResponse()
        await response.prepare(request)
        for kind, obj in play:
            await response.write(json.dumps({"type": kind, "object": obj}).encode() + b"\n")
        if hang:
            await self.quiet.wait()
        return response


@pytest.fixture
async def watches(api: Any) -> AsyncIterator[Watches]:
    made = Watches(api)
    yield made
    made.quiet.set()


@pytest.fixture
def reflect(api: Any) -> Callable[..., Reflector]:
    def make(support: WatchListSupport | None = None, **limits: float) -> Reflector:
        transport = api.cluster()._transport
        return Reflector(transport, PODS, PATH, (), support or WatchListSupport(), **limits)

    return make


async def until(cache: ObjectCache, names: set[str]) -> None:
    """Wait until exactly these objects are there; the test's own time limit ends a vain wait."""
    async with asyncio.timeout(20):
        while set(cache.items()) != names or isinstance(cache.get("none"), Unknown):
            await cache.changed()


async def test_initial_events_sync_a_cache_that_then_follows(api: Any, watches: Watches) -> None:
    watches.play(
        ("ADDED", pod("a")), initial_end("10"), ("ADDED", pod("b", "11")), ("DELETED", pod("a", "12"))
    )
    async with api.cluster().watch(PODS, label_selector="x=y") as cache:
        assert isinstance(cache.get("a"), Unknown)
        await until(cache, {"b"})
        assert cache.get("a") == Absent()
        found = cache.get("b")
    assert isinstance(found, Present)
    assert (found.value["kind"], found.value["apiVersion"]) == ("Pod", "v1")
    (asked,) = watches.asked
    assert (asked["sendInitialEvents"], asked["resourceVersionMatch"]) == ("true", "NotOlderThan")
    assert asked["labelSelector"] == "x=y"
    assert 300 <= int(asked["timeoutSeconds"]) <= 600
    assert watches.lists == 0
    assert "resourceVersion" not in asked


async def test_initial_events_that_never_end_fall_back_to_a_list_which_is_remembered(
    reflect: Callable[..., Reflector], watches: Watches
) -> None:
    watches.pods = [pod("a")]
    watches.play(("ADDED", pod("a")))  # a proxy dropped the bookmark
    support = WatchListSupport()
    async with reflect(support, initial_limit=1.0) as cache:
        await until(cache, {"a"})
    assert (watches.lists, support.usable) == (1, False)
    async with reflect(support) as cache:
        await until(cache, {"a"})
    assert watches.lists == 2
    assert ["sendInitialEvents" in asked for asked in watches.asked].count(True) == 1


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_a_server_that_refuses_initial_events_is_listed(
    api: Any, watches: Watches, status: int
) -> None:
    watches.pods = [pod("a")]
    watches.refuse(status)
    async with api.cluster().watch(PODS) as cache:
        await until(cache, {"a"})
    assert watches.lists == 1


async def test_a_watch_goes_on_from_the_last_version_it_saw(api: Any, watches: Watches) -> None:
    watches.play(initial_end("10"), ("ADDED", pod("a", "11")), hang=False)
    watches.play(("BOOKMARK", {"metadata": {"resourceVersion": "20"}}), hang=False)
    watches.play(("ADDED", pod("b", "21")))
    async with api.cluster().watch(PODS) as cache:
        await until(cache, {"a", "b"})
    assert [asked.get("resourceVersion") for asked in watches.asked] == [None, "11", "20"]


@pytest.mark.parametrize("in_band", [True, False], ids=["as an event", "as a status"])
async def test_an_expired_version_lists_again_and_emits_what_was_deleted(
    reflect: Callable[..., Reflector], watches: Watches, in_band: bool
) -> None:
    watches.play(("ADDED", pod("gone")), ("ADDED", pod("kept")), initial_end("10"), hang=False)
    if in_band:
        watches.play(expired(), hang=False)
    else:
        watches.refuse(410)
    watches.play(("ADDED", pod("kept")), initial_end("50"))
    async with reflect() as cache:
        await until(cache, {"kept"})
        assert cache.get("gone") == Absent()
    assert [asked.get("resourceVersion") for asked in watches.asked[:2]] == [None, "10"]


async def test_a_silent_watch_is_given_up_and_resumed(
    reflect: Callable[..., Reflector], watches: Watches
) -> None:
    watches.play(("ADDED", pod("a")), initial_end("10"))
    watches.play(("ADDED", pod("b", "11")))
    async with reflect(silence_limit=1.0) as cache:
        await until(cache, {"a", "b"})
    assert watches.asked[1]["resourceVersion"] == "10"


def test_limits_on_silence_and_length_are_on_unless_somebody_turns_them_off(
    reflect: Callable[..., Reflector],
) -> None:
    """Clouds cut quiet connections without a word, some after ten minutes: ours are given up before."""
    made = reflect()
    assert 0 < made._initial_limit < made._silence_limit < LONGEST <= 600


async def test_a_quiet_watch_outlives_the_limit_of_a_call(api: Any, watches: Watches) -> None:
    async def hangs(request: web.Request) -> web.StreamResponse:
        await watches.quiet.wait()
        return web.Response()

    api.on("GET", f"{PATH}/slow", hangs)
    watches.play(("ADDED", pod("a")), initial_end("10"))
    cluster = api.cluster(timeout=0.5)
    async with cluster.watch(PODS) as cache:
        await until(cache, {"a"})
        for _ in range(2):  # each takes the whole limit
            with pytest.raises(ApiError):
                await cluster.get(PODS, "slow")
        assert isinstance(cache.get("a"), Present)
    assert len(watches.asked) == 1


async def test_an_event_longer_than_the_librarys_lines_is_read(
    reflect: Callable[..., Reflector], watches: Watches
) -> None:
    watches.play(initial_end("10"), ("ADDED", {"metadata": {"name": "x"}, "x": "y" * 300_000}))
    async with reflect() as cache:
        await until(cache, {"x"})
        found = cache.get("x")
    assert isinstance(found, Present)
    assert len(found.value["x"]) == 300_000


async def test_a_denied_watch_is_unknown_with_the_servers_reason(
    reflect: Callable[..., Reflector], watches: Watches
) -> None:
    for _ in range(9):
        watches.refuse(403)
    async with reflect() as cache:
        assert await cache.changed(20)
        found = cache.get("a")
    assert found == Unknown("Refused")


async def test_a_wait_without_a_change_says_so(reflect: Callable[..., Reflector], watches: Watches) -> None:
    watches.play(initial_end("10"))
    async with reflect() as cache:
        await until(cache, set())
        assert await cache.changed(0.01) is False


async def test_a_change_between_two_waits_is_not_missed(
    reflect: Callable[..., Reflector], watches: Watches
) -> None:
    state = ReflectorState(watch_list=False)
    cache = WatchedObjects(state, lambda: 0.0)
    cache.notify()
    cache.notify()
    assert await cache.changed(0) is True
    assert await cache.changed(0) is False


def test_a_watch_that_is_down_for_long_knows_nothing() -> None:
    now = 0.0
    state = ReflectorState(watch_list=False)
    cache = WatchedObjects(state, lambda: now)
    state.listed([pod("a")], "1")
    cache.up()
    cache.down("the connection broke")
    assert isinstance(cache.get("a"), Present)
    now = STALE_AFTER + 1
    assert cache.get("a") == Unknown("the watch is down: the connection broke")
    assert cache.get("b") == Unknown("the watch is down: the connection broke")
    cache.up()
    assert cache.get("b") == Absent()
