"""One owner per session: live leases are kept, dead ones replaced, fences only grow."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from moorage.core.errors import Conflict, NotFound
from moorage.ports.link import Output
from moorage.ports.store import Owner, Store
from moorage.store import current_owner
from moorage.store.owners import start_time
from tests.store.samples import ELSEWHERE, a_session, leased

OTHER = Owner("third-host", 1, "1")
HOLD = "import sys; print('ready', flush=True); sys.stdin.read()"


async def test_somebody_elses_live_lease_is_kept_and_named(store: Store) -> None:
    lease = await leased(store)
    assert await store.leases.acquire(lease.session_id, OTHER) is None
    assert await store.leases.holder(lease.session_id) == "pid 4242 on another-host"
    assert await store.leases.renew(lease)


async def test_a_lease_that_ran_out_goes_to_the_next_and_its_old_holder_can_do_nothing(store: Store) -> None:
    lease = await leased(store)
    assert await store.leases.renew(lease, ttl=-1.0)  # as if the time had passed
    assert await store.leases.holder(lease.session_id) == ""
    taken = await store.leases.acquire(lease.session_id, OTHER)
    assert taken is not None
    assert taken.fence > lease.fence
    assert taken.took_over, "its holder may wake up again, so its acts must be shut out"
    assert not await store.leases.renew(lease)
    await store.leases.release(lease)
    assert await store.leases.holder(lease.session_id) == "pid 1 on third-host"
    with pytest.raises(Conflict):
        await store.transcripts.append(lease.session_id, Output(0, b"late"), lease)


async def test_a_lease_that_ran_out_and_nobody_took_still_counts(store: Store) -> None:
    lease = await leased(store)
    await store.leases.renew(lease, ttl=-1.0)
    assert await store.transcripts.append(lease.session_id, Output(0, b"x"), lease) == 1
    assert await store.leases.renew(lease)
    assert await store.leases.acquire(lease.session_id, OTHER) is None


async def test_the_fence_grows_with_every_holder_also_after_release(store: Store) -> None:
    first = await leased(store)
    fences = [first.fence]
    lease = first
    for owner in (OTHER, ELSEWHERE, ELSEWHERE):
        await store.leases.release(lease)
        await store.leases.release(lease)
        assert await store.leases.holder(first.session_id) == ""
        with pytest.raises(Conflict):
            await store.sessions.save(a_session(), lease)
        again = await store.leases.acquire(first.session_id, owner)
        assert again is not None
        lease = again
        fences.append(again.fence)
    assert fences == sorted(set(fences))


async def test_two_tasks_of_one_process_do_not_take_a_live_lease_from_each_other(store: Store) -> None:
    lease = await leased(store, owner=current_owner())
    assert await store.leases.acquire(lease.session_id, current_owner()) is None
    assert await store.leases.renew(lease)
    await store.leases.renew(lease, ttl=-1.0)  # as if the first one hung
    again = await store.leases.acquire(lease.session_id, current_owner())
    assert again is not None
    assert (again.fence > lease.fence, again.took_over) == (True, True)
    assert not await store.leases.renew(lease)


async def test_no_lease_on_a_session_that_does_not_exist(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.leases.acquire("nobody", OTHER)
    assert await store.leases.holder("nobody") == ""


def _gone() -> Owner:
    child = subprocess.Popen(["true"])
    child.wait()
    return replace(current_owner(), pid=child.pid, started="1")


def _reused() -> Owner:
    """Our own pid, but a process that started at another time."""
    return replace(current_owner(), started="1")


def _alive() -> Owner:
    """Another process of this host that lives: our parent."""
    return _owner_of(os.getppid())


def _owner_of(pid: int) -> Owner:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return replace(current_owner(), pid=pid, started=fields[19])


def _zombie() -> Owner:
    """A child that has exited and is reaped only when this process ends."""
    child = os.posix_spawnp("true", ["true"], os.environ)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    return _owner_of(child)


@pytest.mark.parametrize(
    ("make_holder", "replaced"),
    [(_gone, True), (_reused, True), (_zombie, True), (_alive, False)],
    ids=["pid gone", "pid reused", "zombie", "alive"],
)
async def test_a_holder_on_this_host_is_replaced_at_once_only_when_it_is_dead(
    store: Store, make_holder: Callable[[], Owner], replaced: bool
) -> None:
    lease = await leased(store, owner=make_holder())
    taken = await store.leases.acquire(lease.session_id, current_owner())
    assert (taken is not None) == replaced
    assert taken is None or taken.took_over, "what a dead one has sent may still arrive"


async def test_the_same_pid_on_another_host_says_nothing(store: Store) -> None:
    await leased(store, owner=replace(_gone(), host="another-host"))
    assert await store.leases.acquire("s00000000001", current_owner()) is None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["/opt/venv/bin/moorage", "run", "-e", "TOKEN=s3cr3t", "--", "agent"], "moorage run"),
        (["moorage", "--context", "prod", "stop", "brisk-otter"], "moorage stop"),
        (["moorage", "-q", "run", "--template", "pod.yaml", "-e", "s3cr3t"], "moorage"),
        (["/src/moorage/__main__.py", "attach", "demo"], "moorage attach"),
        (["-c", "pass"], "sleep"),
    ],
    ids=" ".join,
)
async def test_a_holder_on_this_machine_is_named_by_its_verb_and_pid_and_by_no_other_word(
    store: Store, words: list[str], told: str
) -> None:
    program = ["sleep", "60"] if told == "sleep" else [sys.executable, "-c", HOLD, *words]
    process = await asyncio.create_subprocess_exec(
        *program, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        if told != "sleep":
            assert process.stdout is not None
            assert await process.stdout.readline() == b"ready\n"
        started = start_time(process.pid)
        assert started is not None
        lease = await leased(store, owner=Owner(current_owner().host, process.pid, started))
        holder = await store.leases.holder(lease.session_id)
        assert holder == f"{told} (pid {process.pid} on this machine)"
    finally:
        process.kill()
        await process.wait()
