"""Ad-hoc processes and dialled ports over the link: kept apart, hung up with their stream."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from moorage.core.errors import Conflict, NotFound
from moorage.engine.link import AgentLink
from moorage.engine.link.process import LinkProcess
from moorage.ports.link import ExitStatus, ProcessSpec, RemoteProcess
from tests.contract.link.loopback import Agentctl
from tests.contract.link.test_agent import shell


async def both(process: RemoteProcess) -> dict[int, bytes]:
    kept = {1: b"", 2: b""}
    while (part := await process.read()) is not None:
        kept[part[0]] += part[1]
    return kept


async def test_stdout_and_stderr_stay_apart_and_the_code_comes_back(link: AgentLink) -> None:
    process = await link.run(shell("echo out; echo err >&2; exit 5"))
    assert await both(process) == {1: b"out\n", 2: b"err\n"}
    assert await process.wait() == ExitStatus(code=5)


async def test_stdin_is_binary_safe_and_its_end_arrives(link: AgentLink) -> None:
    data = bytes(range(256)) * 8192
    process = await link.run(ProcessSpec(["cat"], cwd="/tmp"))

    async def feed() -> None:
        await process.write(data)
        await process.close_stdin()

    feeding = asyncio.create_task(feed())
    assert (await both(process))[1] == data
    await feeding
    assert await process.wait() == ExitStatus(code=0)


async def test_what_is_run_ignores_no_signal_so_that_a_writer_ends_with_its_reader(link: AgentLink) -> None:
    process = await link.run(ProcessSpec(["grep", "SigIgn", "/proc/self/status"], cwd="/tmp"))
    ignored = (await both(process))[1].split()[1]
    assert int(ignored, 16) == 0
    process = await link.run(shell("yes | head -n 1"))
    assert await both(process) == {1: b"y\n", 2: b""}


async def test_what_cannot_be_run_says_why(link: AgentLink) -> None:
    process = await link.run(ProcessSpec(["true"], cwd="/no/such/directory"))
    status = await process.wait()
    assert status.error == "not_found: working directory /no/such/directory does not exist"
    assert status.shell_code == 127


async def test_a_terminal_takes_keys_sizes_and_signals(link: AgentLink) -> None:
    process = await link.run(shell("stty size; read x; stty size; exec cat", tty=True, cols=81, rows=25))
    assert await process.read() == (1, b"25 81\r\n")
    await process.resize(100, 40)
    await process.write(b"x\r")
    seen = b""
    while b"40 100" not in seen:
        part = await process.read()
        assert part is not None
        seen += part[1]
    await process.write(b"there\r")
    while seen.count(b"there") < 2:  # the terminal's echo, then cat's: now the key has somebody to go to
        part = await process.read()
        assert part is not None
        seen += part[1]
    await process.write(b"\x03")
    assert await process.wait() == ExitStatus(signal=2)


async def test_a_signal_ends_a_process(link: AgentLink) -> None:
    process = await link.run(ProcessSpec(["sleep", "1000"], cwd="/tmp"))
    await process.signal(signal.SIGTERM)
    assert await process.wait() == ExitStatus(signal=15)


async def test_a_signal_comes_after_the_end_of_stdin(link: AgentLink) -> None:
    """As Ctrl-C does in `exec` without -i, and the link lives on."""
    process = await link.run(shell("trap 'echo caught; exit 7' INT; echo ready; sleep 1000 & wait"))
    await process.close_stdin()
    assert await process.read() == (1, b"ready\n")
    await process.signal(signal.SIGINT)
    assert (await both(process))[1] == b"caught\n"
    assert await process.wait() == ExitStatus(code=7)
    assert (await link.status()).state == "none"


async def test_a_signal_overtakes_input_that_the_process_does_not_read(link: AgentLink) -> None:
    process = await link.run(ProcessSpec(["sleep", "1000"], cwd="/tmp"))
    feeding = asyncio.create_task(process.write(bytes(4 << 20)))
    await asyncio.sleep(0)
    await process.signal(signal.SIGINT)
    assert await process.wait() == ExitStatus(signal=2)
    await feeding


async def test_a_signal_goes_to_the_group_and_to_runs_of_this_connection_only(
    agentctl: Agentctl, link: AgentLink
) -> None:
    process = await link.run(shell("sh -c 'trap \"echo child; exit\" INT; echo ready; sleep 1000 & wait'"))
    assert await process.read() == (1, b"ready\n")
    other = await agentctl.link()
    with pytest.raises(Conflict):
        await LinkProcess(other._connection, process._stream).signal(signal.SIGINT)
    await process.signal(signal.SIGINT)
    assert (await both(process))[1] == b"child\n"
    with pytest.raises(Conflict):
        await process.signal(signal.SIGINT)  # it has ended


async def test_hanging_up_ends_the_process_and_what_it_started(link: AgentLink) -> None:
    process = await link.run(shell("sh -c 'trap : HUP; echo $$; exec sleep 1000' & wait"))
    first = await process.read()
    assert first is not None
    await process.close()
    assert await _ended(int(first[1]))


async def _ended(pid: int) -> bool:
    """Wait for the end of a process that is no child of ours."""
    loop = asyncio.get_running_loop()
    try:
        watch = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ended = asyncio.Event()
    loop.add_reader(watch, ended.set)
    try:
        return await ended.wait()
    finally:
        loop.remove_reader(watch)
        os.close(watch)


async def test_a_dead_link_hangs_up_too(agentctl: Agentctl, link: AgentLink) -> None:
    process = await link.run(shell("echo $$; exec sleep 1000"))
    first = await process.read()
    assert first is not None
    await link.close()
    assert await _ended(int(first[1]))
    assert (await (await agentctl.link()).status()).state == "none"


async def test_a_slow_reader_of_one_stream_does_not_hold_up_the_others(link: AgentLink) -> None:
    flood = await link.run(ProcessSpec(["cat", "/dev/zero"], cwd="/tmp"))
    assert await flood.read() is not None
    for number in range(30):
        quick = await link.run(shell(f"echo {number}"))
        assert (await both(quick))[1] == b"%d\n" % number
        await quick.wait()
    total = 0
    while total < 8 << 20:
        part = await flood.read()
        assert part is not None
        total += len(part[1])
    await flood.close()


async def test_more_requests_than_streams_wait_for_their_turn(link: AgentLink) -> None:
    async def one(number: int) -> bytes:
        process = await link.run(shell(f"echo {number}"))
        return (await both(process))[1]

    answers = await asyncio.gather(*(one(number) for number in range(150)))
    assert answers == [b"%d\n" % number for number in range(150)]


async def test_a_port_of_the_container_is_dialled_inside_the_link(link: AgentLink) -> None:
    async def upper(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read()).upper())
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(upper, "127.0.0.1", 0)
    async with server:
        stream = await link.dial(server.sockets[0].getsockname()[1])
        await stream.write(b"hello")
        await stream.close_write()
        assert await stream.read() == b"HELLO"
        assert await stream.read() == b""
        await stream.close()


async def test_a_port_nobody_listens_on_is_an_error_of_its_own(link: AgentLink) -> None:
    with pytest.raises(NotFound, match="refused"):
        await link.dial(1)
    assert (await link.status()).state == "none"
