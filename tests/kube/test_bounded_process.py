"""A program that is given up leaves nothing behind; one that ends is not waited for longer than it runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import pytest

from moorage.kube.bounded_process import ERRORS_KEPT, run_bounded

ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """A pipe with a name: its reader sees the end once no process holds it any more."""
    os.mkfifo(tmp_path / "held")
    return tmp_path / "held"


async def test_of_a_run_that_is_given_up_no_process_is_left(held: Path) -> None:
    words = ["sh", "-c", f"exec 3> {held}; (printf x >&3; exec sleep 30) & wait"]
    run = asyncio.create_task(run_bounded(words, ENV, interactive=False, seconds=300, most=1))
    with await asyncio.to_thread(held.open, "rb") as end:
        assert await asyncio.to_thread(end.read, 1) == b"x", "its child runs"
        run.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await run
        assert await asyncio.wait_for(asyncio.to_thread(end.read), 20) == b""


async def test_of_a_run_that_is_given_up_while_it_begins_no_process_is_left(held: Path) -> None:
    words = ["sh", "-c", f"exec 3> {held}; (printf x >&3; exec sleep 30) & wait"]
    run = asyncio.create_task(run_bounded(words, ENV, interactive=False, seconds=300, most=1))
    await asyncio.sleep(0)  # the first step of the run, which makes a task of the start
    await asyncio.sleep(0)  # the first step of the start, which makes the process
    with held.open("rb") as end:  # nothing else runs here meanwhile: its start is not known to be over
        assert end.read(1) == b"x", "its child runs"
        run.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await run
        assert await asyncio.wait_for(asyncio.to_thread(end.read), 20) == b""


async def test_time_that_is_over_ends_a_program_that_prints_nothing() -> None:
    printed = await run_bounded(["sleep", "300"], ENV, interactive=False, seconds=0, most=1)
    assert (printed.exit_code, printed.too_much) == (None, False)


async def test_a_byte_more_than_allowed_ends_a_program_that_would_go_on() -> None:
    words = ["sh", "-c", "printf ab; exec sleep 20"]
    printed = await run_bounded(words, ENV, interactive=False, seconds=300, most=1)
    assert (printed.exit_code, printed.too_much) == (None, True)


async def test_all_that_is_allowed_arrives_with_the_exit_code() -> None:
    words = ["sh", "-c", "printf ab; printf cd >&2; exit 3"]
    printed = await run_bounded(words, ENV, interactive=False, seconds=300, most=2)
    assert (printed.output, printed.errors, printed.exit_code) == (b"ab", b"cd", 3)


async def test_of_errors_without_end_the_last_are_kept() -> None:
    words = ["sh", "-c", "head -c 1000000 /dev/zero >&2; printf last >&2"]
    printed = await run_bounded(words, ENV, interactive=False, seconds=300, most=1)
    assert len(printed.errors) == ERRORS_KEPT
    assert printed.errors.endswith(b"\0last")


async def test_a_process_that_an_ended_program_left_with_its_output_is_neither_awaited_nor_killed() -> None:
    words = ["sh", "-c", "sleep 300 & echo $!"]
    printed = await run_bounded(words, ENV, interactive=False, seconds=300, most=100)
    assert printed.exit_code == 0
    os.kill(int(printed.output), signal.SIGKILL)  # raises if it were gone
