"""A failure is a problem of RFC 9457, whatever failed; and nothing was done."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from moorage.core import errors
from moorage.server.limits import BODY_LIMIT
from moorage.server.problems import MEDIA_TYPE, STATUS
from tests.api.service import EXECUTOR, Service


def below(kind: type[errors.MoorageError]) -> Iterator[type[errors.MoorageError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from below(child)


def test_each_code_of_the_tree_has_its_status() -> None:
    tree = [kind for kind in below(errors.MoorageError) if kind.__module__ == errors.__name__]
    assert {kind.code for kind in tree} == set(STATUS)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "no_route"),
        ("PATCH", "/me", 405, "method"),
        ("GET", "/tasks?limit=0", 422, "invalid_request"),
        ("GET", "/tasks/none", 404, "not_found"),
        ("POST", "/tasks", 422, "invalid_request"),
        ("GET", "/kubernetes/executors/dev/sessions?session_id=s", 400, "usage"),
    ],
)
async def test_a_failure_is_a_problem(
    service: Service, method: str, path: str, status: int, code: str
) -> None:
    told = await (await service.administrator()).ask(method, path)
    assert (told.status, told.headers["Content-Type"]) == (status, MEDIA_TYPE)
    assert (told.body["status"], told.body["code"]) == (status, code)
    assert {"field", "code", "message", "hint"} <= set(told.body["errors"][0])


async def test_a_body_beyond_the_limit_is_refused_however_it_is_sent(service: Service) -> None:
    member = await service.person("mia")

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(BODY_LIMIT // 65536 + 2):
            yield b" " * 65536

    whole = await member.post("/tasks", data=io.BytesIO(b" " * (BODY_LIMIT + 1)))
    async with (
        aiohttp.ClientSession() as http,
        http.post(member.base + "/tasks", data=chunks(), headers=member.headers) as told,
    ):
        assert (whole.status, told.status) == (413, 413)


async def test_a_request_for_another_host_is_not_answered(service: Service) -> None:
    told = await (await service.administrator()).get("/executors", headers={"Host": "evil.example"})
    assert (told.status, told.body["code"]) == (421, "host")


async def test_each_answer_has_the_headers_that_bind_a_browser(service: Service) -> None:
    for path in ("/me", "/nowhere", "/openapi.json"):
        headers = (await service.nobody().get(path)).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["Cache-Control"] == "no-store"


async def test_a_repeated_post_is_answered_again_and_done_once(service: Service) -> None:
    member = await service.person("mia")
    key = {"Idempotency-Key": "k-1"}
    first = await member.post("/tasks", {"title": "one"}, headers=key)
    again = await member.post("/tasks", {"title": "one"}, headers=key)
    other = await member.post("/tasks", {"title": "two"}, headers=key)
    assert (first.status, again.status, again.body) == (201, 201, first.body)
    assert (other.status, other.fields) == (400, [("Idempotency-Key", "usage")])
    assert len((await member.get("/tasks")).body["items"]) == 1


async def test_a_refused_post_leaves_its_key_free(service: Service) -> None:
    administrator = await service.administrator()
    key = {"Idempotency-Key": "k-2"}
    assert (await administrator.post("/executors", {"name": "dev"}, headers=key)).status == 422
    assert (await administrator.post("/executors", EXECUTOR, headers=key)).status == 201


async def test_a_secret_answer_is_never_kept(service: Service) -> None:
    member = await service.person("mia")
    refused = await member.post("/tokens", {"name": "ci"}, headers={"Idempotency-Key": "k-3"})
    assert refused.status == 400
    assert len((await member.get("/tokens")).body["items"]) == 1


async def test_pages_follow_each_other_without_loss(service: Service) -> None:
    member = await service.person("mia")
    made = [(await member.post("/tasks", {"title": f"t{n}"})).body["id"] for n in range(5)]
    seen: list[str] = []
    after = ""
    while True:
        page = (await member.get(f"/tasks?limit=2&after={after}")).body
        seen += [one["id"] for one in page["items"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert seen == made
