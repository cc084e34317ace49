"""Something in front of the API server answers: nothing secret is shown, nothing endless is read, and what is
no object of the asked kind is an ApiError, never a fault of ours."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from aiohttp import web

from moorage.core.errors import ApiError
from moorage.core.kinds import EVENTS, PODS, Resource
from moorage.kube import transport

POD_PATH = "/api/v1/namespaces/ns/pods/p"
PODS_PATH = "/api/v1/namespaces/ns/pods"
EVENTS_PATH = "/api/v1/namespaces/ns/events"
TOKEN = "planted.tok/en+1"
META = {"name": "p", "uid": "u1"}
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")


async def echo(request: web.Request) -> web.StreamResponse:
    """A debugging proxy: it says what it got, in several ways."""
    said = request.headers["Authorization"]
    other = "Basic cGxhbnRlZDpwdw== and https://planted:pw@proxy.test/"
    return web.Response(status=int(request.query.get("x", "502")), text=f"{said} {said[7:]} {other}")


async def echo_as_success(request: web.Request) -> web.StreamResponse:
    return web.Response(text=f"you sent {dict(request.headers)} {request.headers['Authorization'][7:]}")


async def echo_as_status(request: web.Request) -> web.StreamResponse:
    said = {"kind": "Status", "apiVersion": "v1", "message": request.headers["Authorization"], "reason": "X"}
    return web.json_response(said, status=400)


@pytest.mark.parametrize("handler", [echo, echo_as_success, echo_as_status])
async def test_a_proxy_that_repeats_the_request_does_not_make_us_show_its_credentials(
    api: Any, handler: Any
) -> None:
    api.on("GET", POD_PATH, handler)
    api.on("GET", POD_PATH + "/log", handler)
    cluster = api.cluster({"token": TOKEN})
    with pytest.raises(ApiError) as caught:
        await cluster.get(PODS, "p")
    shown = [str(caught.value), repr(caught.value.problem)]
    if handler is not echo_as_success:
        with pytest.raises(ApiError) as caught:
            _ = [chunk async for chunk in cluster.logs("p", "agent")]
        shown += [str(caught.value), repr(caught.value.problem)]
    for text in shown:
        assert TOKEN not in text
        assert "planted" not in text
        assert "cGxhbnRl" not in text


async def test_an_answer_that_unpacks_without_end_is_given_up(
    api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MAX_ANSWER", 1024 * 1024)
    bomb = gzip.compress(b" " * (4 * 1024 * 1024) + b"{}")

    async def handle(_: web.Request) -> web.StreamResponse:
        return web.Response(
            body=bomb, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"}
        )

    api.on("GET", POD_PATH, handle)
    with pytest.raises(ApiError) as caught:
        await api.cluster().get(PODS, "p")
    assert (caught.value.problem.kind, caught.value.problem.sent) == ("http", "maybe")
    assert "more than 1 MiB" in caught.value.message


WRONG = {
    "empty": {},
    "metadata is text": {"metadata": "x"},
    "no name": {"metadata": {"uid": "u1"}},
    "another name": {"metadata": {"name": "q", "uid": "u1"}},
    "no uid": {"metadata": {"name": "p"}},
    "uid is a number": {"metadata": {"name": "p", "uid": 7}},
    "labels is a list": {"metadata": {**META, "labels": []}},
    "another kind": {"kind": "Secret", "metadata": META},
    "spec is a list": {"metadata": META, "spec": []},
    "status is text": {"metadata": META, "status": "Running"},
    "a container status is null": {"metadata": META, "status": {"containerStatuses": [None]}},
    "a state is text": {"metadata": META, "status": {"containerStatuses": [{"state": "running"}]}},
    "running is text": {"metadata": META, "status": {"containerStatuses": [{"state": {"running": "yes"}}]}},
    "conditions is a mapping": {"metadata": META, "status": {"conditions": {}}},
}


@pytest.mark.parametrize("name", WRONG)
async def test_json_of_another_shape_is_no_pod(api: Any, answer: Any, name: str) -> None:
    for method in ("GET", "PUT", "PATCH"):
        api.on(method, POD_PATH, answer(WRONG[name]))
    api.on("POST", PODS_PATH, answer(WRONG[name], 201))
    cluster, pod = api.cluster(), {"metadata": {"name": "p"}}
    for call in (
        cluster.get(PODS, "p"),
        cluster.create(PODS, pod),
        cluster.replace(PODS, pod),
        cluster.patch(PODS, "p", pod),
        cluster.apply(PODS, pod, field_manager="moorage"),
    ):
        with pytest.raises(ApiError) as caught:
            await call
        problem = caught.value.problem
        assert (problem.kind, problem.http_status, problem.sent) == ("http", 200, "maybe")
        assert "Pod" in problem.message


async def test_a_subresource_with_a_kind_of_its_own_answers_with_that(api: Any, answer: Any) -> None:
    path = "/apis/apps/v1/namespaces/ns/deployments/p/scale"
    scale = {"kind": "Scale", "metadata": META, "spec": {"replicas": 0}}
    api.on("PATCH", path, answer(scale), answer({"kind": "Deployment", "metadata": META}))
    assert await api.cluster().patch(DEPLOYMENTS, "p", {}, subresource="scale") == scale
    with pytest.raises(ApiError, match="kind"):
        await api.cluster().patch(DEPLOYMENTS, "p", {}, subresource="scale")


@pytest.mark.parametrize(
    "page",
    [
        {"items": 7},
        {"items": [7]},
        {"items": [None]},
        {"items": [{"metadata": {}}]},
        {"items": [{"metadata": {"name": "e"}, "involvedObject": 7}]},
        {"metadata": [], "items": []},
        {"metadata": {"continue": 7}, "items": []},
    ],
    ids=json.dumps,
)
async def test_a_list_of_another_shape_is_no_list(api: Any, answer: Any, page: Any) -> None:
    api.on("GET", EVENTS_PATH, answer(page))
    with pytest.raises(ApiError) as caught:
        _ = [event async for event in api.cluster().list_all(EVENTS)]
    assert caught.value.problem.kind == "http"


@pytest.mark.parametrize("wrong", [{}, {"metadata": "x"}, WRONG["a state is text"]], ids=json.dumps)
async def test_a_watch_that_brings_another_shape_is_unknown_not_empty(api: Any, wrong: Any) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": [wrong]})
        return web.Response(text=json.dumps({"type": "ADDED", "object": wrong}) + "\n")

    api.on("GET", PODS_PATH, handle)
    async with api.cluster().watch(PODS) as cache:
        assert await cache.changed()
        assert "no Kubernetes Pod" in cache.stale()
        assert dict(cache.items()) == {}
