"""Who leads: leases in, verdict out; and what becomes of the work."""

from __future__ import annotations

import asyncio
import copy
import re
from typing import Any

import pytest

from moorage.core.errors import ApiError, ApiProblem
from moorage.core.kinds import Json, Resource
from moorage.kube.leader import Leader, LeadershipLost
from moorage.kube.lease_state import Seen, may_take, micro_time, observe, released, taken


def lease(holder: str, renewed: str = "r1", duration: int = 15) -> Json:
    spec = {
        "holderIdentity": holder,
        "renewTime": renewed,
        "acquireTime": "a",
        "leaseDurationSeconds": duration,
    }
    return {"metadata": {"name": "l", "resourceVersion": "1"}, "spec": spec}


CASES: dict[str, tuple[Json, float, bool]] = {
    "ours": (lease("me"), 0, True),
    "given back": (lease(""), 0, True),
    "another's, fresh": (lease("you"), 14, False),
    "another's, run out on our clock": (lease("you"), 15, True),
    "another's, of no duration": (lease("you", duration=0), 0, True),
    "without a spec": ({"metadata": {"name": "l"}}, 0, True),
}


@pytest.mark.parametrize(("seen", "age", "verdict"), CASES.values(), ids=CASES.keys())
def test_a_lease_may_be_taken_when_nobody_can_hold_it_any_more(seen: Json, age: float, verdict: bool) -> None:
    assert may_take(seen, observe(seen, None, 100), "me", 100 + age) is verdict


def test_a_renewal_by_another_starts_the_wait_anew() -> None:
    first = observe(lease("you", "r1"), None, 100)
    assert observe(lease("you", "r1"), first, 110) == first
    second = observe(lease("you", "r2"), first, 110)
    assert second == Seen(("you", "r2", "a"), 110)
    assert not may_take(lease("you", "r2"), second, "me", 120)


def test_taking_over_counts_a_transition_and_keeps_the_lock() -> None:
    old = lease("you")
    new = taken(old, "l", "me", 15, 0.5)
    assert new["metadata"]["resourceVersion"] == "1"
    assert new["spec"]["leaseTransitions"] == 1
    assert new["spec"]["acquireTime"] == new["spec"]["renewTime"] == "1970-01-01T00:00:00.500000Z"
    renewed = taken(new, "l", "me", 15, 1.5)
    assert (renewed["spec"]["leaseTransitions"], renewed["spec"]["acquireTime"]) == (
        1,
        new["spec"]["acquireTime"],
    )
    assert released(renewed, 2)["spec"]["holderIdentity"] == ""


def test_times_have_the_form_the_api_server_wants() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", micro_time(1_700_000_000))


class OneLease:
    """The part of a cluster that an election uses; ``broken`` refuses everything."""

    def __init__(self) -> None:
        self.lease: Json | None = None
        self.broken = False
        self.writes = 0
        self.renewed_often = asyncio.Event()
        self.version = 0

    def _fail(self, reason: str, status: int) -> ApiError:
        return ApiError(ApiProblem("status", status, reason, reason, "no"))

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Json:
        if self.broken:
            raise self._fail("InternalError", 500)
        if self.lease is None:
            raise self._fail("NotFound", 404)
        return copy.deepcopy(self.lease)

    async def create(
        self, resource: Resource, obj: Json, namespace: str | None = None, *, dry_run: bool = False
    ) -> Json:
        if self.lease is not None:
            raise self._fail("AlreadyExists", 409)
        return self._store(obj)

    async def replace(self, resource: Resource, obj: Json, namespace: str | None = None) -> Json:
        if self.broken:
            raise self._fail("InternalError", 500)
        assert self.lease is not None
        if obj["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise self._fail("Conflict", 409)
        return self._store(obj)

    def _store(self, obj: Json) -> Json:
        self.version, self.writes = self.version + 1, self.writes + 1
        if self.writes == 5:
            self.renewed_often.set()
        self.lease = copy.deepcopy(obj)
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        return copy.deepcopy(self.lease)

    @property
    def holder(self) -> str:
        return "" if self.lease is None else str(self.lease["spec"]["holderIdentity"])


def leader(cluster: Any, identity: str) -> Leader:
    return Leader(cluster, "l", identity, duration=6, renew_deadline=3, retry_every=0.02)


async def test_work_runs_under_the_lease_which_is_then_given_back() -> None:
    cluster = OneLease()
    held = []

    async def work() -> None:
        held.append(cluster.holder)

    await leader(cluster, "me").run(work)
    assert (held, cluster.holder) == (["me"], "")


async def test_the_lease_is_renewed_while_work_goes_on() -> None:
    cluster = OneLease()

    async def work() -> None:
        await cluster.renewed_often.wait()

    async with asyncio.timeout(20):
        await leader(cluster, "me").run(work)
    assert cluster.writes >= 6


async def test_a_lease_that_cannot_be_renewed_stops_the_work_before_another_leads() -> None:
    cluster, stopped = OneLease(), asyncio.Event()

    async def work() -> None:
        cluster.broken = True
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    with pytest.raises(LeadershipLost):
        await leader(cluster, "me").run(work)
    assert stopped.is_set()
    assert cluster.holder == "me"  # not given back: we no longer know


async def test_a_lease_taken_by_another_stops_the_work() -> None:
    cluster = OneLease()

    async def work() -> None:
        cluster.lease = lease("you", duration=3600)
        await asyncio.Event().wait()

    with pytest.raises(LeadershipLost):
        await leader(cluster, "me").run(work)
    assert cluster.holder == "you"


async def test_two_candidates_never_work_at_once() -> None:
    cluster, working, order = OneLease(), set[str](), list[str]()

    def work(name: str) -> Any:
        async def run() -> None:
            assert not working
            working.add(name)
            await asyncio.sleep(0)
            working.discard(name)
            order.append(name)

        return run

    async with asyncio.timeout(20):
        await asyncio.gather(*(leader(cluster, name).run(work(name)) for name in ("a", "b", "c")))
    assert sorted(order) == ["a", "b", "c"]


async def test_what_the_work_raises_comes_out_and_the_lease_is_given_back() -> None:
    cluster = OneLease()

    async def work() -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        await leader(cluster, "me").run(work)
    assert cluster.holder == ""
