"""READ, WATCH and AUTH/ENV knobs, at the wire: what a client sees of them."""

from __future__ import annotations

import asyncio
import json
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from moorage import kube
from moorage.core.errors import ApiError
from moorage.core.kinds import EVENTS, PODS
from moorage.core.observed import Absent, Unknown, from_problem
from moorage.embedded import EmbeddedCluster
from tests.faults import auth, read, watch
from tests.faults.knob import CONNECT, Armed, Surroundings
from tests.faults.table import KNOBS

POD: dict[str, Any] = {
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "main", "image": "localhost/none:1"}]},
}
Events = Callable[[str], Awaitable[list[str]]]
RNG = random.Random(1)


@pytest.fixture
async def raw(here: EmbeddedCluster) -> AsyncIterator[aiohttp.ClientSession]:
    """The wire itself, without the patience of the product's client."""
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=here.identity.authority))
    headers = {"Authorization": f"Bearer {here.identity.token}"}
    async with aiohttp.ClientSession(here.address, connector=connector, headers=headers) as session:
        yield session


UNKNOWN = ("404_html", "404_nameless", "read_502_html", "read_500", "read_drop", "read_slow")


@pytest.mark.parametrize("name", UNKNOWN)
async def test_a_read_that_fails_says_nothing_of_the_object(
    name: str, armed: Armed, client: kube.KubeCluster
) -> None:
    await client.create(PODS, POD)
    armed.arm(KNOBS[name], RNG, call="get pods", times=9)
    with pytest.raises(ApiError) as told:
        await client.get(PODS, "p")
    assert isinstance(from_problem(told.value.problem, "pods", "p"), Unknown)
    armed.calm()
    assert (await client.get(PODS, "p"))["metadata"]["name"] == "p"


async def test_a_busy_server_is_read_again(armed: Armed, client: kube.KubeCluster) -> None:
    await client.create(PODS, POD)
    armed.arm(KNOBS["read_429"], RNG)
    assert (await client.get(PODS, "p"))["metadata"]["name"] == "p"
    assert armed.fired.total() == 1


@pytest.mark.parametrize("name", ["list_stale", "two_apiservers"])
async def test_a_list_may_miss_the_clients_own_write(
    name: str, armed: Armed, client: kube.KubeCluster
) -> None:
    await client.create(PODS, POD)
    armed.arm(KNOBS[name], random.Random(0), times=20)
    seen = [len([pod async for pod in client.list_all(PODS)]) for _ in range(20)]
    assert 0 in seen
    armed.calm()
    assert [pod["metadata"]["name"] async for pod in client.list_all(PODS)] == ["p"]


async def test_only_a_read_that_takes_any_version_may_lag(
    armed: Armed, client: kube.KubeCluster, raw: aiohttp.ClientSession
) -> None:
    await client.create(PODS, POD)
    armed.arm(KNOBS["get_404_then_200"], RNG)
    assert (await client.get(PODS, "p"))["metadata"]["name"] == "p"
    path = "/api/v1/namespaces/default/pods/p?resourceVersion=0"
    async with raw.get(path) as first, raw.get(path) as second:
        assert (first.status, second.status) == (404, 200)
        status = await first.json()
    assert (status["details"]["kind"], status["details"]["name"]) == ("pods", "p")


@pytest.mark.parametrize("seed", range(6))
async def test_an_object_is_swapped_before_or_after_a_read(
    seed: int, armed: Armed, client: kube.KubeCluster
) -> None:
    made = await client.create(PODS, {**POD, "metadata": {"name": "p", "labels": {"a": "b"}}})
    strike = armed.arm(KNOBS["uid_swap"], random.Random(seed))
    first, second = [await client.get(PODS, "p") for _ in range(2)]
    assert isinstance(strike, read.Swapped)
    [(_, new, gone)] = strike.made
    assert gone == made["metadata"]["uid"] != second["metadata"]["uid"] == new["metadata"]["uid"]
    assert first["metadata"]["uid"] in (gone, new["metadata"]["uid"])
    with pytest.raises(ApiError) as told:
        await client.delete(PODS, "p", uid=made["metadata"]["uid"])
    assert told.value.problem.http_status == 409


async def test_what_was_swapped_in_is_swapped_too(armed: Armed, client: kube.KubeCluster) -> None:
    await client.create(PODS, {**POD, "metadata": {"name": "p", "labels": {"a": "b"}}})
    strike = armed.arm(KNOBS["uid_swap"], RNG, times=6)
    for _ in range(8):
        await client.get(PODS, "p")
    assert isinstance(strike, read.Swapped)
    uids = [new["metadata"]["uid"] for _, new, _ in strike.made]
    assert uids[:-1] == [gone for _, _, gone in strike.made][1:]
    assert len(set(uids)) == 6


@pytest.fixture
def events(here: EmbeddedCluster, raw: aiohttp.ClientSession) -> Events:
    """A watch while a Pod is made and changed twice: its events in short, until one that is awaited or the
    end of the stream."""

    async def follow(until: str) -> list[str]:
        seen: list[str] = []
        objects = here.objects()
        options = f"watch=1&allowWatchBookmarks=1&resourceVersion={here.store.version}"
        asking = asyncio.ensure_future(raw.get(f"/api/v1/namespaces/default/pods?{options}"))
        pod = objects.create(PODS, {**POD, "metadata": {"name": "p", "namespace": "default"}})
        for step in ("one", "two"):
            pod["metadata"]["labels"] = {"step": step}
            pod = objects.update(PODS, pod)
        async with await asking as response:
            if response.status != 200:
                return [str(response.status)]
            try:
                async for line in response.content:
                    seen.append(_short(json.loads(line)))
                    if seen[-1].endswith(until):
                        break
            except aiohttp.ClientError:
                seen.append("cut")
        return seen

    return follow


def _short(event: Any) -> str:
    obj = event["object"]
    what = (obj.get("metadata") or {}).get("labels", {}).get("step", "") or str(obj.get("code", ""))
    return f"{event['type']} {what}".strip()


ALL = ["ADDED", "MODIFIED one", "MODIFIED two"]
SEEN = {
    "http410": ["410"],
    "watch_of_an_older_server": ["504"],
    "200_close_empty": [],
    "inband_ERROR410": ["ERROR 410"],
    "drop_event": ALL[1:],
    "dup_event": [ALL[0], *ALL],
    "coalesce": ["ADDED one", "MODIFIED two"],
    "replay_old": ["ADDED", "DELETED", "ADDED", "MODIFIED one", "ADDED", "MODIFIED two"],
    "lb_cut": ["cut"],
}


@pytest.mark.parametrize("name", SEEN)
async def test_a_watch_tells_what_its_knob_lets_through(name: str, armed: Armed, events: Events) -> None:
    armed.arm(KNOBS[name], RNG)
    assert await events("ERROR 410" if name == "inband_ERROR410" else "two") == SEEN[name]
    assert armed.fired.total() == 1


@pytest.mark.parametrize(("name", "told"), [("silent", []), ("bookmark_only", ["BOOKMARK"])])
async def test_a_watch_stays_open_and_tells_no_object(
    name: str, told: list[str], here: EmbeddedCluster, armed: Armed, events: Events
) -> None:
    here.server.bookmark_every = 0.05
    armed.arm(KNOBS[name], RNG)
    following = asyncio.ensure_future(events("BOOKMARK"))
    done, _ = await asyncio.wait([following], timeout=1 if name == "silent" else 30)
    assert bool(done) == (name == "bookmark_only")
    following.cancel()
    if done:
        assert following.result() == told


DENIED = {"401_after": 401, "verb_denied_get": 403}


@pytest.mark.parametrize("name", DENIED)
async def test_who_is_denied_learns_nothing(name: str, armed: Armed, client: kube.KubeCluster) -> None:
    armed.arm(KNOBS[name], RNG)
    with pytest.raises(ApiError) as told:
        await client.get(PODS, "p")
    assert told.value.problem.http_status == DENIED[name]
    with pytest.raises(ApiError) as missing:
        await client.get(PODS, "p")
    assert isinstance(from_problem(missing.value.problem, "pods", "p"), Absent)


async def test_a_write_is_denied(armed: Armed, client: kube.KubeCluster) -> None:
    armed.arm(KNOBS["verb_denied_create"], RNG)
    with pytest.raises(ApiError) as told:
        await client.create(PODS, POD)
    assert told.value.problem.http_status == 403


def _copy(here: EmbeddedCluster, folder: Path) -> Surroundings:
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_bytes(here.kubeconfig.read_bytes())
    return Surroundings(kubeconfig)


async def test_a_token_is_replaced_at_the_moment_it_is_refused(
    here: EmbeddedCluster, armed: Armed, tmp_path: Path
) -> None:
    here.set_audit(armed.heard)
    around = _copy(here, tmp_path)
    armed.arm(KNOBS["token_file_rotate"], RNG, call=CONNECT)
    armed.surround(around)
    client = kube.connect(str(around.kubeconfig), None, "default")
    assert [event async for event in client.list_all(EVENTS)] == []
    await client.close()


async def test_of_two_that_replace_the_token_one_knows_the_good_one(
    here: EmbeddedCluster, armed: Armed, tmp_path: Path
) -> None:
    around = _copy(here, tmp_path)
    for _ in range(2):
        armed.arm(KNOBS["token_file_rotate"], RNG, call=CONNECT)
    armed.surround(around)
    armed.undo(around)
    client = kube.connect(str(around.kubeconfig), None, "default")
    assert [event async for event in client.list_all(EVENTS)] == []
    await client.close()


async def test_a_proxy_at_which_nobody_listens_is_no_cluster(
    here: EmbeddedCluster, armed: Armed, tmp_path: Path
) -> None:
    around = _copy(here, tmp_path)
    armed.arm(KNOBS["proxy_env_bad"], RNG)
    armed.surround(around)
    client = kube.connect(str(around.kubeconfig), None, "default")
    with pytest.raises(ApiError) as told:
        await client.create(PODS, POD)
    assert told.value.problem.kind == "transport"
    await client.close()
    armed.undo(around)
    mended = kube.connect(str(around.kubeconfig), None, "default")
    assert (await mended.create(PODS, POD))["metadata"]["uid"]
    await mended.close()


async def test_a_clock_is_wrong_until_it_is_mended(
    here: EmbeddedCluster, armed: Armed, tmp_path: Path
) -> None:
    around = _copy(here, tmp_path)
    armed.arm(KNOBS["clock_offset"], RNG)
    armed.surround(around)
    assert abs(around.offset) >= 30
    armed.undo(around)
    assert around.offset == 0


def test_every_knob_of_these_families_has_a_story() -> None:
    told = {*UNKNOWN, *SEEN, *DENIED, "read_429", "list_stale", "two_apiservers", "get_404_then_200"}
    told |= {"uid_swap", "silent", "bookmark_only", "verb_denied_create", "token_file_rotate"}
    told |= {"proxy_env_bad", "clock_offset"}
    families = (*read.KNOBS, *watch.KNOBS, *auth.KNOBS)
    assert {knob.name for knob in families} == told
