"""What is sent, what an answer means, and what is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import ClientConnectorError, web
from aiohttp.client_reqrep import ConnectionKey

from moorage import kube
from moorage.core.errors import ApiError, ApiProblem, UsageError
from moorage.core.kinds import NAMESPACES, PODS
from moorage.core.observed import Absent, Unknown, from_problem
from moorage.kube import answers, transport
from moorage.ports.cluster import Cluster

POD = {"metadata": {"name": "p", "uid": "u1"}}
POD_PATH = "/api/v1/namespaces/ns/pods/p"
PODS_PATH = "/api/v1/namespaces/ns/pods"


async def problem_of(call: Any) -> ApiProblem:
    with pytest.raises(ApiError) as caught:
        await call
    return caught.value.problem


async def page(_: web.Request) -> web.StreamResponse:
    return web.Response(
        status=404, text="<html><body><h1>404 Not Found</h1></body></html>", content_type="text/html"
    )


async def cut(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def half(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
    await response.prepare(request)
    await response.write(b'{"metadata":')
    assert request.transport is not None
    request.transport.close()
    return response


async def never(_: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    return web.Response()


async def test_the_adapter_is_what_the_port_asks_for(api: Any, answer: Any) -> None:
    cluster: Cluster = api.cluster({"token": "secret"})
    api.on("GET", "/version", answer({"gitVersion": "v1.36.3"}))
    identity = await cluster.identity()
    assert (identity.address, identity.version, identity.ca_sha256) == (api.url, "v1.36.3", "")
    (request,) = api.seen("GET", "/version")
    assert request.headers["User-Agent"].startswith("moorage/")
    assert request.headers["Authorization"] == "Bearer secret"


async def test_a_read_is_most_recent(api: Any, answer: Any) -> None:
    api.on("GET", POD_PATH, answer(POD))
    assert await api.cluster().get(PODS, "p") == POD
    assert api.seen("GET", POD_PATH)[0].query_string == ""


async def test_a_create_is_strict_and_may_be_dry(api: Any, answer: Any) -> None:
    api.on("POST", PODS_PATH, answer(POD, 201))
    cluster = api.cluster()
    await cluster.create(PODS, POD)
    await cluster.create(PODS, POD, dry_run=True)
    first, second = api.seen("POST", PODS_PATH)
    assert dict(first.query) == {"fieldValidation": "Strict"}
    assert dict(second.query) == {"fieldValidation": "Strict", "dryRun": "All"}


async def test_a_patch_is_of_the_kind_its_value_says(api: Any, answer: Any) -> None:
    api.on("PATCH", POD_PATH, answer(POD))
    api.on("PATCH", POD_PATH + "/status", answer(POD))
    cluster = api.cluster()
    await cluster.patch(PODS, "p", {"metadata": {"labels": {"a": None}}})
    await cluster.patch(PODS, "p", [{"op": "test", "path": "/a", "value": 1}], subresource="status")
    assert api.seen("PATCH", POD_PATH)[0].content_type == "application/merge-patch+json"
    assert api.bodies("PATCH", POD_PATH) == [{"metadata": {"labels": {"a": None}}}]
    assert api.seen("PATCH", POD_PATH + "/status")[0].content_type == "application/json-patch+json"


async def test_an_apply_carries_no_nulls_and_no_managed_fields(api: Any, answer: Any) -> None:
    api.on("PATCH", POD_PATH, answer(POD))
    given = {"metadata": {"name": "p", "managedFields": [{}], "labels": None}, "spec": {"a": [{"b": None}]}}
    await api.cluster().apply(PODS, given, field_manager="moorage", force=True)
    (request,) = api.seen("PATCH", POD_PATH)
    assert request.content_type == "application/apply-patch+yaml"
    assert request.query["fieldManager"] == "moorage"
    assert request.query["force"] == "true"
    assert api.bodies("PATCH", POD_PATH) == [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"a": [{}]}}
    ]


async def test_a_delete_always_names_the_uid(api: Any, answer: Any) -> None:
    api.on("DELETE", POD_PATH, answer({"kind": "Status", "status": "Success"}))
    await api.cluster().delete(PODS, "p", uid="u1", resource_version="7", grace_seconds=0)
    (body,) = api.bodies("DELETE", POD_PATH)
    assert body["preconditions"] == {"uid": "u1", "resourceVersion": "7"}
    assert body["gracePeriodSeconds"] == 0


async def test_a_delete_without_a_uid_sends_nothing(api: Any) -> None:
    with pytest.raises(UsageError):
        await api.cluster().delete(PODS, "p", uid="")
    assert api.requests == []


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a?b", "a#b", "%2e%2e", "a\\b"])
async def test_a_name_that_would_reach_another_object_sends_nothing(api: Any, name: str) -> None:
    with pytest.raises(UsageError):
        await api.cluster().get(PODS, name)
    assert api.requests == []


async def test_a_list_goes_through_all_pages_and_types_its_items(api: Any, answer: Any) -> None:
    first = {"metadata": {"continue": "next"}, "items": [{"metadata": {"name": "a"}}]}
    last = {"metadata": {}, "items": [{"metadata": {"name": "b"}}]}
    api.on("GET", PODS_PATH, answer(first), answer(last))
    found = [pod async for pod in api.cluster().list_all(PODS, label_selector="x=y", page=1)]
    assert [(pod["kind"], pod["metadata"]["name"]) for pod in found] == [("Pod", "a"), ("Pod", "b")]
    assert [r.query.get("continue") for r in api.seen("GET", PODS_PATH)] == [None, "next"]
    assert {r.query["labelSelector"] for r in api.seen("GET", PODS_PATH)} == {"x=y"}


async def test_a_continue_token_that_expired_is_an_error_not_a_shorter_list(
    api: Any, answer: Any, refuse: Any
) -> None:
    api.on("GET", PODS_PATH, answer({"metadata": {"continue": "t"}, "items": [POD]}), refuse(410, "Expired"))

    async def read() -> None:
        async for _ in api.cluster().list_all(PODS):
            pass

    assert (await problem_of(read())).http_status == 410


STATUSES = {
    "not found": (404, "NotFound", "no"),
    "denied": (403, "Forbidden", "no"),
    "conflict": (409, "Conflict", "no"),
    "invalid": (422, "Invalid", "no"),
    "request timeout": (408, "Timeout", "maybe"),
    "internal": (500, "InternalError", "maybe"),
    "server timeout": (504, "Timeout", "maybe"),
}


@pytest.mark.parametrize(("code", "reason", "sent"), STATUSES.values(), ids=STATUSES.keys())
async def test_a_status_says_whether_a_write_may_have_happened(
    api: Any, refuse: Any, code: int, reason: str, sent: str
) -> None:
    api.on("POST", PODS_PATH, refuse(code, reason, "why", kind="pods", name="p"))
    problem = await problem_of(api.cluster().create(PODS, POD))
    assert (problem.kind, problem.http_status, problem.reason, problem.sent) == ("status", code, reason, sent)
    assert (problem.details_kind, problem.details_name, problem.message) == ("pods", "p", "why")
    assert len(api.requests) == 1


async def test_absent_is_only_what_a_status_about_our_object_says(api: Any, refuse: Any) -> None:
    api.on(
        "GET",
        POD_PATH,
        refuse(404, "NotFound", kind="pods", name="p"),
        refuse(404, "NotFound", kind="namespaces", name="ns"),
        page,
    )
    cluster = api.cluster()
    verdicts = [from_problem(await problem_of(cluster.get(PODS, "p")), "pods", "p") for _ in range(3)]
    assert isinstance(verdicts[0], Absent)
    assert isinstance(verdicts[1], Unknown)
    assert isinstance(verdicts[2], Unknown)


async def test_a_page_of_html_is_no_word_of_the_api_server(api: Any) -> None:
    api.on("POST", PODS_PATH, page)
    problem = await problem_of(api.cluster().create(PODS, POD))
    assert (problem.kind, problem.http_status, problem.sent) == ("http", 404, "maybe")
    assert "<" not in problem.message
    assert "404 Not Found" in problem.message


async def test_a_success_that_is_no_object_is_an_error(api: Any) -> None:
    async def login_page(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>please log in</html>", content_type="text/html")

    api.on("POST", PODS_PATH, login_page)
    problem = await problem_of(api.cluster().create(PODS, POD))
    assert (problem.kind, problem.sent) == ("http", "maybe")


async def test_strict_decoding_faults_become_causes_with_their_fields(api: Any, refuse: Any) -> None:
    said = (
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: '
        'unknown field "spec.containers[0].imag", duplicate field "spec.nodeName"'
    )
    api.on("POST", PODS_PATH, refuse(400, "BadRequest", said))
    problem = await problem_of(api.cluster().create(PODS, POD, dry_run=True))
    assert [(field, reason) for field, reason, _ in problem.causes] == [
        ("spec.containers[0].imag", "FieldValueUnknown"),
        ("spec.nodeName", "FieldValueDuplicate"),
    ]


@pytest.mark.parametrize("handler", [cut, half], ids=["cut before the answer", "cut inside the answer"])
@pytest.mark.parametrize("verb", ["create", "replace", "delete"])
async def test_a_write_that_was_cut_is_ambiguous_and_sent_once(api: Any, verb: str, handler: Any) -> None:
    for method, path in (("POST", PODS_PATH), ("PUT", POD_PATH), ("DELETE", POD_PATH)):
        api.on(method, path, handler)
    cluster = api.cluster()
    call = cluster.delete(PODS, "p", uid="u1") if verb == "delete" else getattr(cluster, verb)(PODS, POD)
    problem = await problem_of(call)
    assert (problem.kind, problem.sent) == ("transport", "maybe")
    assert len(api.requests) == 1


async def test_a_write_on_a_kept_connection_that_was_cut_is_not_repeated(api: Any, answer: Any) -> None:
    api.on("GET", POD_PATH, answer(POD))
    api.on("PUT", POD_PATH, cut)
    cluster = api.cluster()
    await cluster.get(PODS, "p")  # now a connection is kept, which the library would excuse
    assert (await problem_of(cluster.replace(PODS, POD))).sent == "maybe"
    assert len(api.seen("PUT", POD_PATH)) == 1


async def test_no_answer_in_time_is_ambiguous(api: Any) -> None:
    api.on("POST", PODS_PATH, never)
    problem = await problem_of(api.cluster(timeout=1.0).create(PODS, POD))
    assert (problem.kind, problem.reason, problem.sent) == ("transport", "NoAnswer", "maybe")


@pytest.mark.parametrize("held_up", [429, 401], ids=["a busy server", "new credentials"])
async def test_a_create_that_was_held_up_too_long_is_not_sent(
    api: Any, answer: Any, refuse: Any, held_up: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    now = 1000.0
    monkeypatch.setattr(transport, "time", SimpleNamespace(time=lambda: now))
    token = tmp_path / "token"
    token.write_text("old")

    async def hold_up(request: web.Request) -> web.StreamResponse:
        nonlocal now
        now += 31.0
        token.write_text("new")
        said = await refuse(held_up, "Why", headers={"Retry-After": "0"})(request)
        assert isinstance(said, web.StreamResponse)
        return said

    api.on("POST", PODS_PATH, hold_up, answer(POD, 201))
    cluster = api.cluster({"tokenFile": str(token)})
    problem = await problem_of(cluster.create(PODS, POD, not_after=1030.0))
    assert (problem.reason, problem.sent) == ("TooLate", "no")
    assert len(api.requests) == 1
    assert await cluster.create(PODS, POD, not_after=1031.0) == POD


async def test_a_refused_connection_was_surely_not_sent(api: Any) -> None:
    cluster = api.cluster()
    await api.server.close()
    problem = await problem_of(cluster.create(PODS, POD))
    assert (problem.kind, problem.reason, problem.sent) == ("transport", "Unreachable", "no")
    assert problem.message.endswith(": connection refused")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"), "connection refused"),
        (OSError(113, "Connect call failed ('10.0.0.1', 443)"), "no route to host"),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 1, 0, 0), [Errno 111] Connect "
                 "call failed ('127.0.0.1', 1)"), "connection refused"),
        (OSError("Connect call failed"), "cannot connect"),
        (OSError(-2, "Name or service not known"), "Name or service not known"),
        (OSError(), "cannot connect"),
    ],
    ids=str,
)  # fmt: skip
def test_a_connection_that_was_not_made_is_told_in_the_systems_words(error: OSError, words: str) -> None:
    key = ConnectionKey("api.test", 443, True, True, None, None, None)
    told = answers.no_answer(ClientConnectorError(key, error), "https://api.test")
    assert told.message == f"https://api.test: {words}"


async def test_a_redirect_is_not_followed(api: Any) -> None:
    async def elsewhere(_: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": "/stolen"})

    api.on("GET", POD_PATH, elsewhere)
    assert (await problem_of(api.cluster({"token": "t"}).get(PODS, "p"))).http_status == 302
    assert len(api.requests) == 1


async def test_a_user_that_was_typed_stands_in_place_of_the_kubeconfigs(api: Any, answer: Any) -> None:
    user = {"as": "jane", "as-groups": ["a"], "token": "t"}
    api.on("GET", "/api/v1/namespaces/n", answer({"metadata": {"name": "n", "uid": "u"}}))
    await api.cluster(user, act_as="joe").get(NAMESPACES, "n")
    headers = api.requests[0][0].headers
    assert headers.getall("Impersonate-User") == ["joe"]
    assert "Impersonate-Group" not in headers
    assert headers["Authorization"] == "Bearer t"


@pytest.mark.parametrize("name", ["jo\r\ne", "j\u00f6"])
def test_a_user_that_no_header_can_carry_is_refused_before_anything_is_sent(api: Any, name: str) -> None:
    with pytest.raises(UsageError) as refused:
        api.cluster(act_as=name)
    assert refused.value.field == "--as"


async def test_impersonation_is_asked_for_with_every_group(api: Any, answer: Any) -> None:
    user = {"as": "jane", "as-groups": ["a", "b"], "as-user-extra": {"scopes/x": ["view"]}}
    api.on("GET", "/api/v1/namespaces/n", answer({"metadata": {"name": "n", "uid": "u"}}))
    await api.cluster(user).get(NAMESPACES, "n")
    headers = api.requests[0][0].headers
    assert headers["Impersonate-User"] == "jane"
    assert headers.getall("Impersonate-Group") == ["a", "b"]
    assert headers["Impersonate-Extra-scopes%2Fx"] == "view"


async def test_logs_stream_as_they_come_and_a_cut_is_an_error(
    api: Any, answer: Callable[..., Any], refuse: Any
) -> None:
    async def lines(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        assert request.transport is not None
        request.transport.close()
        return response

    api.on("GET", POD_PATH + "/log", lines)
    got = []

    async def read() -> None:
        async for chunk in api.cluster().logs("p", "main", tail_lines=5, previous=True):
            got.append(chunk)

    assert (await problem_of(read())).kind == "transport"
    assert got == [b"one\n"]
    assert dict(api.requests[0][0].query) == {"container": "main", "tailLines": "5", "previous": "true"}


async def test_a_closed_cluster_sends_nothing_more(api: Any) -> None:
    cluster: kube.KubeCluster = api.cluster()
    await cluster.close()
    assert (await problem_of(cluster.get(PODS, "p"))).sent == "no"
    assert api.requests == []
