"""What is tried again, for how long, and what is told when it was in vain."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from aiohttp import web

from moorage.core.errors import ApiError
from moorage.core.kinds import PODS
from moorage.kube import transport

from .test_requests import POD, POD_PATH, PODS_PATH, cut, problem_of


async def test_a_read_survives_a_cut_and_a_gateway_fault(api: Any, answer: Any, refuse: Any) -> None:
    api.on("GET", POD_PATH, cut, refuse(503, "ServiceUnavailable"), answer(POD))
    assert await api.cluster().get(PODS, "p") == POD


async def test_a_read_that_stays_broken_ends(api: Any, refuse: Any) -> None:
    api.on("GET", POD_PATH, refuse(503, "ServiceUnavailable"))
    assert (await problem_of(api.cluster().get(PODS, "p"))).http_status == 503
    assert len(api.requests) == 3


@pytest.mark.parametrize("status", [429, 500, 503, 504])
async def test_a_server_that_could_not_do_it_now_is_to_be_tried_again(
    api: Any, refuse: Any, status: int
) -> None:
    api.on("POST", PODS_PATH, refuse(status, "Why"))
    with pytest.raises(ApiError) as refused:
        await api.cluster(timeout=0.5).create(PODS, POD)
    assert "try again" in refused.value.hint


async def test_a_pause_that_lasts_longer_than_our_time_ends_in_the_error_it_was_made_for(
    api: Any, refuse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_a_busy_machine(*args: Any) -> float | None:
        asyncio.get_running_loop().call_soon(time.sleep, 1.2)  # sleep: the pause below is held up by that
        return pause(*args)

    pause = transport._pause
    monkeypatch.setattr(transport, "_pause", on_a_busy_machine)
    api.on("GET", POD_PATH, refuse(503, "ServiceUnavailable"))
    problem = await problem_of(api.cluster(timeout=1.0).get(PODS, "p"))
    assert (problem.http_status, len(api.requests)) == (503, 1)


async def test_an_internal_error_is_not_asked_again(api: Any, refuse: Any) -> None:
    api.on("GET", POD_PATH, refuse(500, "InternalError"))
    assert (await problem_of(api.cluster().get(PODS, "p"))).http_status == 500
    assert len(api.requests) == 1


async def busy(_: web.Request) -> web.StreamResponse:
    return web.Response(status=429, text="Too many requests", headers={"Retry-After": "0"})


async def test_a_write_told_to_come_later_comes_later(api: Any, answer: Any) -> None:
    api.on("POST", PODS_PATH, busy, busy, answer(POD, 201))
    assert await api.cluster().create(PODS, POD) == POD
    assert len(api.requests) == 3


async def test_a_wait_longer_than_our_time_is_an_error_at_once(api: Any, refuse: Any) -> None:
    api.on("POST", PODS_PATH, refuse(429, "TooManyRequests", headers={"Retry-After": "3600"}))
    problem = await problem_of(api.cluster().create(PODS, POD))
    assert (problem.retry_after, problem.sent) == (3600.0, "no")
    assert len(api.requests) == 1
