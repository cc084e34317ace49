"""The seams: where a test can make the API fail, and what a client then sees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import aiohttp
import pytest

from moorage import kube
from moorage.core.errors import ApiError
from moorage.core.kinds import CONFIG_MAPS, Json
from moorage.core.observed import Present
from moorage.embedded import EmbeddedCluster
from moorage.embedded.api.calls import Call
from moorage.embedded.faults import Answer, Dropped, NoFaults

from .conftest import Asked, config_map


class AnswerInstead(NoFaults):
    async def request(self, call: Call) -> Answer | None:
        return Answer(413, b"<html>too large</html>", "text/html") if call.verb == "create" else None


class CommitThenDrop(NoFaults):
    async def committed(self, call: Call, obj: Json) -> None:
        raise Dropped


class DropBefore(NoFaults):
    async def request(self, call: Call) -> Answer | None:
        if call.verb == "create":
            raise Dropped
        return None


class OtherAnswer(NoFaults):
    async def response(self, call: Call, answer: Answer) -> Answer:
        return replace(answer, status=500)


class Behind(NoFaults):
    def __init__(self, version: int) -> None:
        self.version = version

    def read_version(self, call: Call) -> int | None:
        return self.version


class Twice(NoFaults):
    async def watch_event(self, call: Call, event: Json) -> Iterable[Json]:
        return [] if event["object"]["metadata"].get("name") == "missed" else [event, event]


async def test_a_request_can_be_answered_by_something_else(here: EmbeddedCluster, ask: Asked) -> None:
    here.set_faults(AnswerInstead())
    said = await ask("POST", "configmaps", config_map("a"))
    assert (said.code, said.body) == (413, "<html>too large</html>")
    assert (await ask("GET", "configmaps/a")).code == 404


async def test_an_answer_can_be_lost_after_the_commit(
    here: EmbeddedCluster, client: kube.KubeCluster
) -> None:
    here.set_faults(CommitThenDrop())
    with pytest.raises(ApiError) as lost:
        await client.create(CONFIG_MAPS, config_map("a"))
    assert (lost.value.problem.kind, lost.value.problem.sent) == ("transport", "maybe")
    here.set_faults(NoFaults())
    assert (await client.get(CONFIG_MAPS, "a"))["metadata"]["name"] == "a"


async def test_a_request_can_be_lost_before_anything_is_done(
    here: EmbeddedCluster, client: kube.KubeCluster, ask: Asked
) -> None:
    here.set_faults(DropBefore())
    with pytest.raises(ApiError):
        await client.create(CONFIG_MAPS, config_map("a"))
    assert (await ask("GET", "configmaps/a")).code == 404


async def test_an_answer_can_be_changed_on_its_way(here: EmbeddedCluster, ask: Asked) -> None:
    here.set_faults(OtherAnswer())
    assert (await ask("POST", "configmaps", config_map("a"))).code == 500
    here.set_faults(NoFaults())
    assert (await ask("GET", "configmaps/a")).code == 200


async def test_a_read_can_be_as_old_as_one_likes(here: EmbeddedCluster, ask: Asked) -> None:
    await ask("POST", "configmaps", config_map("a", x="old"))
    here.set_faults(Behind(here.store.version))
    await ask("PUT", "configmaps/a", config_map("a", x="new"))
    await ask("POST", "configmaps", config_map("b"))
    assert (await ask("GET", "configmaps/a")).body["data"] == {"x": "old"}
    assert (await ask("GET", "configmaps/b")).code == 404
    listed = await ask("GET", "configmaps")
    assert "b" not in [item["metadata"]["name"] for item in listed.body["items"]]


async def test_events_of_a_watch_can_be_dropped_and_doubled(
    here: EmbeddedCluster, client: kube.KubeCluster, ask: Asked
) -> None:
    here.set_faults(Twice())
    async with client.watch(CONFIG_MAPS) as seen:
        await ask("POST", "configmaps", config_map("missed"))
        await ask("POST", "configmaps", config_map("told"))
        while not isinstance(seen.get("told"), Present):
            assert await seen.changed(30)
        assert "missed" not in seen.items()


async def test_every_answered_request_is_told_to_the_audit(here: EmbeddedCluster, ask: Asked) -> None:
    told: list[Json] = []
    here.set_audit(told.append)
    made = await ask("POST", "configmaps?dryRun=All", config_map("a"))
    await ask("DELETE", "configmaps/a", {"preconditions": {"uid": made.uid}})
    create, delete = told
    assert (create["verb"], create["objectRef"]["resource"], create["responseStatus"]["code"]) == (
        "create",
        "configmaps",
        201,
    )
    assert "dryRun=All" in create["requestURI"]
    assert create["responseObject"]["metadata"]["uid"] == made.uid
    assert (delete["verb"], delete["objectRef"]["name"], delete["responseStatus"]["code"]) == (
        "delete",
        "a",
        404,
    )
    assert delete["requestObject"]["preconditions"] == {"uid": made.uid}


async def test_no_fault_can_be_put_in_over_the_network(
    here: EmbeddedCluster, http: aiohttp.ClientSession, ask: Asked
) -> None:
    for path in ("/faults", "/debug", "/admin", "/api/v1/faults"):
        assert (await ask("POST", path, {})).code in (403, 404)
