"""Lists and watches: pages of one moment, both ways to say 410, bookmarks and WatchList."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from moorage.embedded import EmbeddedCluster

from .conftest import MERGE, Asked, config_map, pod

Events = AsyncIterator[dict[str, Any]]


@asynccontextmanager
async def watching(http: aiohttp.ClientSession, here: EmbeddedCluster, query: str) -> AsyncIterator[Events]:
    """The events of a watch of ConfigMaps labelled test=watch."""
    url = f"/api/v1/namespaces/default/configmaps?watch=true&labelSelector=test%3Dwatch&{query}"
    headers = {"Authorization": f"Bearer {here.identity.token}"}
    async with asyncio.timeout(30), http.get(url, headers=headers) as answer:
        assert answer.status == 200

        async def events() -> Events:
            async for line in answer.content:
                yield json.loads(line)

        yield events()


async def make(ask: Asked, name: str) -> str:
    body = {"metadata": {"name": name, "labels": {"test": "watch"}}}
    return (await ask("POST", "configmaps", body)).version


def seen(event: dict[str, Any]) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"].get("name", "")


async def test_pages_are_one_moments_view_whatever_is_written_meanwhile(ask: Asked) -> None:
    for name in "abcd":
        await make(ask, name)
    path = "configmaps?labelSelector=test%3Dwatch&limit=2"
    first = await ask("GET", path)
    await ask("DELETE", "configmaps/d")
    await make(ask, "c2")
    second = await ask("GET", f"{path}&continue={first.body['metadata']['continue']}")
    found = [item["metadata"]["name"] for page in (first, second) for item in page.body["items"]]
    assert found == ["a", "b", "c", "d"]
    assert second.version == first.version
    assert "continue" not in second.body["metadata"]


async def test_a_page_that_came_too_late_is_410_and_names_a_way_on(here: EmbeddedCluster, ask: Asked) -> None:
    for name in "abc":
        await make(ask, name)
    path = "configmaps?labelSelector=test%3Dwatch&limit=2"
    token = (await ask("GET", path)).body["metadata"]["continue"]
    await make(ask, "later")
    here.store.forget()
    late = await ask("GET", f"{path}&continue={token}")
    assert (late.code, late.reason) == (410, "Expired")
    rest = await ask("GET", f"{path}&continue={late.body['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in rest.body["items"]] == ["c", "later"]


async def test_a_watch_goes_on_from_a_version_and_sees_labels_come_and_go(
    here: EmbeddedCluster, http: aiohttp.ClientSession, ask: Asked
) -> None:
    version = await make(ask, "a")
    async with watching(http, here, f"resourceVersion={version}") as events:
        await make(ask, "b")
        assert seen(await anext(events)) == ("ADDED", "b")
        await ask("PATCH", "configmaps/a", {"metadata": {"labels": {"test": "no"}}}, MERGE)
        assert seen(await anext(events)) == ("DELETED", "a")
        await ask("PATCH", "configmaps/a", {"metadata": {"labels": {"test": "watch"}}}, MERGE)
        assert seen(await anext(events)) == ("ADDED", "a")
        await ask("PATCH", "configmaps/a", {"data": {"x": "y"}}, MERGE)
        assert seen(await anext(events)) == ("MODIFIED", "a")
        last = await ask("DELETE", "configmaps/a")
        event = await anext(events)
        assert seen(event) == ("DELETED", "a")
        assert event["object"]["metadata"]["uid"] == last.body["details"]["uid"]


async def test_a_version_that_is_forgotten_is_410_inside_the_stream(
    here: EmbeddedCluster, http: aiohttp.ClientSession, ask: Asked
) -> None:
    version = await make(ask, "a")
    await make(ask, "b")
    here.store.forget()
    async with watching(http, here, f"resourceVersion={version}") as events:
        found = [event async for event in events]
    assert [(event["type"], event["object"]["code"]) for event in found] == [("ERROR", 410)]


NUMBERS = (
    "configmaps?limit=",
    "configmaps?timeoutSeconds=",
    "configmaps?watch=true&timeoutSeconds=",
    "pods/a/log?tailLines=",
    "pods/a/log?limitBytes=",
    "pods/a/log?sinceSeconds=",
)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("²", "invalid syntax"),
        ("٣", "invalid syntax"),
        ("--1", "invalid syntax"),
        ("1_0", "invalid syntax"),
        ("", "invalid syntax"),
        ("9223372036854775808", "value out of range"),
        ("9" * 5000, "value out of range"),
    ],
    ids=["superscript", "arabic", "two signs", "underscore", "nothing", "64 bits", "5000 digits"],
)
async def test_a_number_of_a_query_that_is_none_is_refused_in_go_s_words(
    ask: Asked, number: str, text: str, why: str
) -> None:
    await ask("POST", "pods", pod("a"))
    refused = await ask("GET", number + text)
    assert (refused.code, refused.reason) == (400, "BadRequest")
    assert refused.body["message"] == f'strconv.ParseInt: parsing "{text}": {why}'


async def test_the_grace_of_a_delete_is_read_alike(ask: Asked) -> None:
    await ask("POST", "pods", pod("a"))
    for text in ("²", "9" * 5000):
        assert (await ask("DELETE", f"pods/a?gracePeriodSeconds={text}")).code == 400
    assert (await ask("DELETE", "pods/a", {"gracePeriodSeconds": 2**63})).code == 400
    assert (await ask("DELETE", "pods/a", b'{"gracePeriodSeconds": 1e400}')).code == 400


@pytest.mark.parametrize("text", ["²", "+1", "18446744073709551616", "9" * 5000])
async def test_a_version_that_is_no_number_is_refused(ask: Asked, text: str) -> None:
    refused = await ask("GET", f"configmaps?resourceVersion={text.replace('+', '%2B')}")
    assert refused.code == 400
    assert refused.body["message"].startswith("invalid resource version: resourceVersion: Invalid value: ")


async def test_a_pod_may_have_all_the_time_of_the_world_to_end(here: EmbeddedCluster, ask: Asked) -> None:
    await ask("POST", "pods", pod("a", nodeName="elsewhere"))
    longest = 2**63 - 1
    ending = await ask("DELETE", f"pods/a?gracePeriodSeconds={longest}")
    assert ending.code == 200
    assert ending.body["metadata"]["deletionTimestamp"] == "9999-12-31T23:59:59Z"


async def test_a_list_at_a_forgotten_version_is_410_over_http(here: EmbeddedCluster, ask: Asked) -> None:
    version = await make(ask, "a")
    await make(ask, "b")
    here.store.forget()
    found = await ask("GET", f"configmaps?resourceVersion={version}&resourceVersionMatch=Exact")
    assert (found.code, found.reason) == (410, "Expired")


async def test_a_version_of_the_future_is_not_answered_with_the_past(
    here: EmbeddedCluster, ask: Asked
) -> None:
    found = await ask("GET", f"configmaps?resourceVersion={here.store.version + 1}")
    assert (found.code, found.reason) == (504, "Timeout")


async def test_a_watch_list_streams_what_is_there_and_then_says_so(
    here: EmbeddedCluster, http: aiohttp.ClientSession, ask: Asked
) -> None:
    await make(ask, "a")
    await make(ask, "b")
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with watching(http, here, query) as events:
        assert [seen(await anext(events)) for _ in range(2)] == [("ADDED", "a"), ("ADDED", "b")]
        end = await anext(events)
        assert end["type"] == "BOOKMARK"
        assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert int(end["object"]["metadata"]["resourceVersion"]) == here.store.version
        await make(ask, "c")
        assert seen(await anext(events)) == ("ADDED", "c")


async def test_a_quiet_watch_is_told_how_far_the_others_are(
    here: EmbeddedCluster, http: aiohttp.ClientSession, ask: Asked
) -> None:
    here.server.bookmark_every = 0.05
    version = await make(ask, "a")
    other = (await ask("POST", "configmaps", config_map("unlabelled"))).version
    async with watching(http, here, f"resourceVersion={version}&allowWatchBookmarks=true") as events:
        bookmark = await anext(events)
    assert bookmark["type"] == "BOOKMARK"
    assert int(bookmark["object"]["metadata"]["resourceVersion"]) >= int(other)


async def test_a_watch_ends_when_its_time_is_up(
    here: EmbeddedCluster, http: aiohttp.ClientSession, ask: Asked
) -> None:
    await make(ask, "a")
    async with watching(http, here, "timeoutSeconds=1") as events:
        assert [seen(event) async for event in events] == [("ADDED", "a")]


SELECTED = {
    "labelSelector=a%3D1": {"one", "both"},
    "labelSelector=a%3D1,b%3D2": {"both"},
    "labelSelector=a!%3D1": {"two"},
    "labelSelector=a in (1,3)": {"one", "both"},
    "labelSelector=b": {"two", "both"},
    "labelSelector=!b": {"one"},
    "fieldSelector=metadata.name%3Done": {"one"},
    "fieldSelector=metadata.name!%3Done": {"two", "both"},
}


@pytest.mark.parametrize(("query", "names"), SELECTED.items())
async def test_a_selector(ask: Asked, query: str, names: set[str]) -> None:
    for name, labels in {"one": {"a": "1"}, "two": {"b": "2"}, "both": {"a": "1", "b": "2"}}.items():
        await ask("POST", "secrets", {"metadata": {"name": name, "labels": labels}})
    found = await ask("GET", f"secrets?{query}")
    assert {item["metadata"]["name"] for item in found.body["items"]} == names
