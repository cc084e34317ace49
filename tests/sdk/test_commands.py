"""Commands: what is sent, what is told as it comes, how an end is judged."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage import AsyncSandbox, CommandExitException, CommandTimeoutException, PtySize, TimeoutException
from moorage.core.errors import LinkError, NotFound, UsageError
from tests.sdk.fakes import Verbs


async def test_a_text_goes_to_the_shell_and_words_go_as_they_are(sandbox: AsyncSandbox, verbs: Verbs) -> None:
    for _ in range(3):
        verbs.ready(code=0)
    await sandbox.commands.run("echo $A | wc", envs={"A": "1"}, cwd="sub")
    await sandbox.commands.run(["echo", "$A"], cwd="/tmp")
    await sandbox.commands.run("true")
    assert [list(spec.argv) for spec in verbs.specs] == [
        ["sh", "-c", "echo $A | wc"],
        ["echo", "$A"],
        ["sh", "-c", "true"],
    ]
    assert [spec.cwd for spec in verbs.specs] == ["/workspace/sub", "/tmp", "/workspace/"]
    assert verbs.specs[0].env == {"A": "1"}
    assert all(spec.agent_env for spec in verbs.specs)
    with pytest.raises(UsageError, match="no words"):
        await sandbox.commands.run([])


async def test_output_is_told_as_it_comes_whole_characters_only(sandbox: AsyncSandbox, verbs: Verbs) -> None:
    process = verbs.ready()
    heard: list[str] = []

    async def slow(text: str) -> None:
        await asyncio.sleep(0)
        heard.append(f"err {text}")

    process.say("ü".encode()[:1]).say("ü".encode()[1:] + b"x").say(b"oh", 2).say(b"\xff").end(code=0)
    result = await sandbox.commands.run(
        "x", on_stdout=lambda text: heard.append(f"out {text}"), on_stderr=slow
    )
    assert heard == ["out üx", "err oh", "out �"]
    assert (result.stdout, result.stderr, result.exit_code, result.error) == ("üx�", "oh", 0, None)


ENDS: list[tuple[dict[str, Any], int, str | None]] = [
    ({"code": 3}, 3, None),
    ({"signal": 9}, 137, "ended by SIGKILL"),
    ({"signal": 9, "oom": True}, 137, "ended by SIGKILL (out of memory)"),
    ({"error": "not_found: sh is not on PATH"}, 127, "not_found: sh is not on PATH"),
    ({"code": None}, -1, "nobody knows how it ended"),
]


@pytest.mark.parametrize(("status", "code", "why"), ENDS, ids=str)
async def test_any_end_but_0_is_an_exception_with_the_output_or_a_result_where_that_is_wished(
    sandbox: AsyncSandbox, verbs: Verbs, status: dict[str, Any], code: int, why: str | None
) -> None:
    for _ in range(2):
        verbs.ready().say(b"out").say(b"err", 2).end(**status)
    with pytest.raises(CommandExitException) as caught:
        await sandbox.commands.run("x")
    error = caught.value
    assert (error.exit_code, error.stdout, error.stderr, error.error or None) == (code, "out", "err", why)
    result = await sandbox.commands.run("x", check=False)
    assert (result.exit_code, result.error, result.timed_out) == (code, why, False)


async def test_a_command_that_runs_too_long_is_killed_and_said_to_be(
    sandbox: AsyncSandbox, verbs: Verbs
) -> None:
    for _ in range(2):
        verbs.ready().say(b"so far")
    with pytest.raises(TimeoutException) as caught:
        await sandbox.commands.run("sleep 1000", timeout=0.01)
    assert isinstance(caught.value, CommandTimeoutException)
    assert (caught.value.stdout, caught.value.timed_out) == ("so far", True)
    assert "signal 9" in verbs.processes[0].told
    result = await sandbox.commands.run("sleep 1000", timeout=0.01, check=False)
    assert (result.timed_out, result.exit_code) == (True, 137)


async def test_input_ends_at_once_unless_it_is_asked_for(sandbox: AsyncSandbox, verbs: Verbs) -> None:
    first, second = verbs.ready(code=0), verbs.ready()
    await sandbox.commands.run("cat")
    assert first.told[0] == "eof"
    handle = await sandbox.commands.run("cat", background=True, stdin=True)
    await handle.send_stdin("a")
    await sandbox.commands.send_stdin(handle.pid, b"b")
    await handle.close_stdin()
    assert second.told == [b"a", b"b", "eof"]
    second.end()
    await handle.wait()


async def test_a_command_in_the_background_is_found_joined_and_killed_by_its_pid(
    sandbox: AsyncSandbox, verbs: Verbs
) -> None:
    process = verbs.ready().say(b"before ")
    handle = await sandbox.commands.run(["serve", "--fast"], background=True)
    assert [(one.pid, one.cmd, one.args) for one in await sandbox.commands.list()] == [
        (7, "serve", ["--fast"])
    ]
    await process.heard()
    joined = await sandbox.commands.connect(handle.pid)
    process.say(b"after")
    assert await sandbox.commands.kill(handle.pid)
    for one, heard in ((handle, "before after"), (joined, "after")):
        with pytest.raises(CommandExitException) as caught:
            await one.wait()
        assert (caught.value.stdout, one.exit_code) == (heard, 137)
    assert await sandbox.commands.list() == []
    assert not await sandbox.commands.kill(handle.pid)
    assert not await handle.kill()
    with pytest.raises(NotFound):
        await sandbox.commands.connect(handle.pid)


async def test_waiting_with_a_handler_tells_what_was_said_before(sandbox: AsyncSandbox, verbs: Verbs) -> None:
    process = verbs.ready().say(b"one ")
    handle = await sandbox.commands.run("x", background=True)
    await process.heard()
    process.say(b"two").end()
    heard: list[str] = []
    await handle.wait(on_stdout=heard.append)
    assert "".join(heard) == "one two"


async def test_who_disconnects_hears_no_more_and_the_command_goes_on(
    sandbox: AsyncSandbox, verbs: Verbs
) -> None:
    process = verbs.ready()
    heard: list[str] = []
    handle = await sandbox.commands.run("x", background=True, on_stdout=heard.append)
    await handle.disconnect()
    process.say(b"unheard")
    other = await sandbox.commands.connect(handle.pid)
    process.end()
    assert (await other.wait()).exit_code == 0
    assert heard == []
    with pytest.raises(UsageError, match="disconnected"):
        await handle.wait()


async def test_what_a_handler_raises_is_raised_by_wait_and_the_command_is_still_read(
    sandbox: AsyncSandbox, verbs: Verbs
) -> None:
    process = verbs.ready().say(b"x").say(b"y").end()

    def broken(text: str) -> None:
        raise ZeroDivisionError(text)

    with pytest.raises(ZeroDivisionError, match="x"):
        await sandbox.commands.run("x", on_stdout=broken)
    assert process.parts.empty()


async def test_a_lost_connection_is_no_end_of_the_command(sandbox: AsyncSandbox, verbs: Verbs) -> None:
    process = verbs.ready()
    process.lost = True
    process.say(b"")
    with pytest.raises(LinkError):
        await sandbox.commands.run("x")


async def test_who_is_cancelled_hangs_up(sandbox: AsyncSandbox, verbs: Verbs) -> None:
    process = verbs.ready().say(b"it runs")
    running = asyncio.create_task(sandbox.commands.run("x"))
    await process.heard()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert process.told[-1] == "closed"


async def test_closing_the_object_hangs_up_on_its_commands(sandbox: AsyncSandbox, verbs: Verbs) -> None:
    process = verbs.ready()
    handle = await sandbox.commands.run("x", background=True)
    await sandbox.close()
    assert process.told[-1] == "closed"
    with pytest.raises(LinkError, match="closed"):
        await handle.wait()
    with pytest.raises(UsageError, match="closed"):
        await sandbox.commands.run("x")


async def test_a_terminal_takes_keys_and_sizes_and_shows_bytes(sandbox: AsyncSandbox, verbs: Verbs) -> None:
    process = verbs.ready()
    shown: list[bytes] = []
    handle = await sandbox.pty.create(PtySize(rows=30, cols=100), shown.append, timeout=None)
    spec = verbs.specs[0]
    assert (spec.tty, spec.rows, spec.cols) == (True, 30, 100)
    await sandbox.pty.send_stdin(handle.pid, b"ls\r")
    await sandbox.pty.resize(handle.pid, PtySize(rows=31, cols=101))
    process.say(b"\xff\x1b[m").end()
    assert (await handle.wait()).stdout == ""
    assert shown == [b"\xff\x1b[m"]
    assert process.told[:2] == [b"ls\r", (101, 31)]
    assert not await sandbox.pty.kill(handle.pid)
