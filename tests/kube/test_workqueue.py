"""The work queue: each key once at a time, none lost, failures later and later."""

from __future__ import annotations

import asyncio

import pytest

from moorage.kube.workqueue import QueueClosed, WorkQueue


async def test_a_key_added_often_is_handed_out_once() -> None:
    queue = WorkQueue()
    for key in ("a", "b", "a", "a"):
        queue.add(key)
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    assert len(queue) == 0


async def test_a_key_added_while_it_runs_is_handed_out_again_afterwards() -> None:
    queue = WorkQueue()
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done("a")
    assert len(queue) == 1
    assert await queue.get() == "a"
    queue.done("a")
    assert len(queue) == 0


async def test_no_key_is_with_two_workers_and_none_is_lost() -> None:
    queue, running, handled = WorkQueue(), set[str](), dict[str, int]()

    async def worker() -> None:
        while True:
            try:
                key = await queue.get()
            except QueueClosed:
                return
            assert key not in running
            running.add(key)
            await asyncio.sleep(0)
            running.discard(key)
            handled[key] = handled.get(key, 0) + 1
            if handled[key] < 5:
                queue.add(key)
            queue.done(key)
            if sum(handled.values()) == 50:
                queue.close()

    for number in range(10):
        queue.add(str(number))
    await asyncio.gather(*(worker() for _ in range(4)))
    assert set(handled.values()) == {5}


async def test_failures_come_later_and_later_until_forgotten() -> None:
    queue = WorkQueue(first_backoff=1, max_backoff=5)
    assert [queue.retry("a") for _ in range(5)] == [1, 2, 4, 5, 5]
    queue.forget("a")
    assert queue.retry("a") == 1
    queue.close()


async def test_of_two_times_the_sooner_holds() -> None:
    queue = WorkQueue()
    queue.add_after("a", 3600)
    queue.add_after("a", 0.001)
    queue.add_after("a", 3600)
    assert await queue.get() == "a"
    queue.add_after("b", 3600)
    queue.add("b")
    assert await queue.get() == "b"
    queue.close()


async def test_a_worker_that_goes_away_loses_no_key() -> None:
    queue = WorkQueue()
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()  # just when it was chosen
    assert await second == "a"
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_closed_queue_sends_all_workers_home() -> None:
    queue = WorkQueue()
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.add_after("a", 3600)
    queue.close()
    queue.add("b")
    assert [type(e) for e in await asyncio.gather(*workers, return_exceptions=True)] == [QueueClosed] * 3
    with pytest.raises(QueueClosed):
        await queue.get()
