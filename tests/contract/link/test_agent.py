"""The agent over the link: started once, its output by offset, its exit, its end with all that it left."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest

from moorage.core.errors import Conflict
from moorage.engine.link import AgentLink
from moorage.ports.link import ExitStatus, Gap, Output, ProcessSpec
from tests.contract.link.loopback import Agentctl


def shell(script: str, **fields: object) -> ProcessSpec:
    return ProcessSpec(["/bin/sh", "-c", script], cwd="/tmp", **fields)  # type: ignore[arg-type]


async def transcript(link: AgentLink, offset: int = 0) -> bytes:
    """All output until the agent's exit; every part begins where the one before ended."""
    whole = b""
    async for part in link.output(offset):
        assert isinstance(part, Output)
        assert part.offset == offset + len(whole)
        whole += part.data
    return whole


async def first_output(link: AgentLink, wanted: bytes) -> bytes:
    """Output up to and with ``wanted``."""
    whole = b""
    async for part in link.output(0):
        assert isinstance(part, Output)
        whole += part.data
        if wanted in whole:
            break
    return whole


EXITS: dict[str, tuple[list[str], ExitStatus]] = {
    "success": (["true"], ExitStatus(code=0)),
    "a code": (["/bin/sh", "-c", "exit 7"], ExitStatus(code=7)),
    "a signal": (["/bin/sh", "-c", "kill -9 $$"], ExitStatus(signal=9)),
    "not on PATH": (["no-such-program"], ExitStatus(error="not_found: no-such-program is not on PATH")),
    "no such file": (["/no/such/file"], ExitStatus(error="not_found: /no/such/file")),
    "a directory": (["/tmp"], ExitStatus(error="not_executable: /tmp is a directory")),
    "no right": (["/etc/passwd"], ExitStatus(error="not_executable: /etc/passwd: permission denied")),
}


@pytest.mark.parametrize("name", EXITS)
async def test_how_the_agent_ended_is_told_apart(link: AgentLink, name: str) -> None:
    argv, expected = EXITS[name]
    await link.start_agent(ProcessSpec(argv, cwd="/tmp"), base_offset=0, start_id="a")
    assert await link.wait_exit() == expected
    status = await link.status()
    assert (status.state, status.start_id, status.exit) == ("exited", "a", expected)


async def test_a_start_brings_its_input_along_once(agentctl: Agentctl, link: AgentLink) -> None:
    spec = shell("cat; echo the end", input="do it\n")
    await link.start_agent(spec, base_offset=0, start_id="a")
    await (await agentctl.link()).start_agent(spec, base_offset=0, start_id="a")
    assert await transcript(link) == b"do it\nthe end\n"


async def test_a_terminal_is_typed_into_once_the_agent_has_spoken(link: AgentLink) -> None:
    script = (
        'sleep 0.3; stty -echo; echo ready; read -r line; echo "got $line"'  # earlier, it would be echoed
    )
    await link.start_agent(shell(script, tty=True, input="do it\r"), base_offset=0, start_id="a")
    assert await transcript(link) == b"ready\r\ngot do it\r\n"


async def test_output_begins_at_the_offset_that_the_owner_gives(link: AgentLink) -> None:
    await link.start_agent(shell("echo out; echo err >&2"), base_offset=1000, start_id="a")
    assert sorted((await transcript(link, 1000)).split()) == [b"err", b"out"]
    assert (await link.status()).end == 1008


async def test_the_same_start_twice_is_one_process(agentctl: Agentctl, link: AgentLink) -> None:
    spec = shell("echo once; cat")
    first = await link.start_agent(spec, base_offset=0, start_id="a")
    again = await (await agentctl.link()).start_agent(spec, base_offset=0, start_id="a")
    assert first.pid == again.pid
    with pytest.raises(Conflict, match="still runs"):
        await link.start_agent(spec, base_offset=0, start_id="b")
    await link.close_input()
    assert await transcript(link) == b"once\n"


async def test_input_reaches_the_agent_in_order_and_its_end_too(link: AgentLink) -> None:
    await link.start_agent(ProcessSpec(["cat"], cwd="/tmp"), base_offset=0, start_id="a")
    for number in range(20):
        await link.send_input(b"%d\n" % number)
    await link.close_input()
    assert await transcript(link) == b"".join(b"%d\n" % number for number in range(20))
    with pytest.raises(Conflict):
        await link.send_input(b"late")


async def test_a_client_that_comes_back_at_any_byte_misses_none_and_sees_none_twice(
    agentctl: Agentctl, link: AgentLink
) -> None:
    script = "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done"
    expected = b"".join(b"line %d\n" % number for number in range(3000))
    await link.start_agent(shell(script), base_offset=0, start_id="a")
    whole, lives = b"", 0
    while len(whole) < len(expected):
        again = await agentctl.link()
        async for part in again.output(len(whole)):
            assert isinstance(part, Output)
            assert part.offset == len(whole)
            whole += part.data[: 1 + lives * 997 % 4096]
            break
        await again.close()
        lives += 1
    assert whole == expected
    assert lives > 3


async def test_bytes_below_the_oldest_kept_one_are_a_gap_never_silence(
    agentctl: Agentctl, link: AgentLink
) -> None:
    await agentctl.end()
    await agentctl.receive({"journal_bytes": 64 << 10})
    await agentctl.start()
    link = await agentctl.link()
    await link.start_agent(shell("yes abcdefg 2>/dev/null | head -c 400000"), base_offset=0, start_id="a")
    await link.wait_exit()
    parts = [part async for part in link.output(5)]
    gap, rest = parts[0], parts[1:]
    assert isinstance(gap, Gap)
    assert gap.offset == 5
    assert gap.length is not None
    held = b"".join(part.data for part in rest if isinstance(part, Output))
    assert 5 + gap.length + len(held) == 400_000
    assert held == (b"abcdefg\n" * 50_000)[5 + gap.length :]
    assert 0 < len(held) <= 64 << 10


async def test_drain_ends_grandchildren_that_ignore_term_and_sessions_of_their_own(
    link: AgentLink, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    hidden = f"trap '' TERM; echo $$ >> {pids}; while :; do sleep 1; done"
    setsid = f"'{sys.executable}' -c 'import os, sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])'"
    script = f"""(trap '' TERM; {setsid} sh -c "{hidden}" & sh -c "{hidden}") & echo $$ >> {pids}
        while [ $(wc -l < {pids}) -lt 3 ]; do sleep 0.05; done; echo ready; wait"""
    await link.start_agent(shell(script.replace("$$ >>", "\\$$ >>", 1)), base_offset=0, start_id="a")
    await first_output(link, b"ready")
    ended = await link.drain(0.2)
    assert ended.signal == signal.SIGTERM
    left = [pid for pid in pids.read_text().split() if Path(f"/proc/{pid}").exists()]
    assert left == []
    assert (await link.status()).state == "exited"


async def test_drain_lets_an_agent_that_ends_by_itself_say_its_last_words(link: AgentLink) -> None:
    script = "trap 'echo bye; exit 3' TERM; echo ready; read -r line"
    await link.start_agent(shell(script), base_offset=0, start_id="a")
    await first_output(link, b"ready")
    assert await link.drain(30) == ExitStatus(code=3)
    assert await transcript(link) == b"ready\nbye\n"


async def test_a_signal_goes_to_the_whole_group(link: AgentLink) -> None:
    await link.start_agent(shell("sleep 1000 & echo ready; wait $!; echo no"), base_offset=0, start_id="a")
    await first_output(link, b"ready")
    await link.signal(signal.SIGKILL)
    assert await link.wait_exit() == ExitStatus(signal=9)
    with pytest.raises(Conflict):
        await link.signal(signal.SIGTERM)


async def test_a_terminal_has_the_size_it_was_given_and_is_told_of_a_new_one(link: AgentLink) -> None:
    script = "trap 'stty size; exit 0' WINCH; stty size; while :; do sleep 0.1; done"
    await link.start_agent(shell(script, tty=True, cols=91, rows=33), base_offset=0, start_id="a")
    await first_output(link, b"33 91")
    await link.resize(120, 50)
    assert await link.wait_exit() == ExitStatus(code=0)
    assert re.sub(rb"\r\n", b"\n", await transcript(link)) == b"33 91\n50 120\n"


async def test_children_see_neither_agentctls_variables_nor_its_files(
    agentctl: Agentctl, link: AgentLink
) -> None:
    script = "env; ls -l /proc/self/fd"
    await link.start_agent(shell(script, env={"MINE": "1"}), base_offset=0, start_id="a")
    said = (await transcript(link)).decode()
    assert "MINE=1" in said
    assert "AGENTCTL_" not in said
    assert str(agentctl.root) not in said
    assert "socket:" not in said


async def test_a_killed_agentctl_keeps_the_transcript_and_says_the_exit_is_unknown(
    agentctl: Agentctl, link: AgentLink
) -> None:
    status = await link.start_agent(shell("echo before; sleep 1000"), base_offset=7, start_id="a")
    await first_output_at(link, 7, b"before\n")
    await agentctl.end(signal.SIGKILL)
    await agentctl.start()
    again = await agentctl.link()
    assert again.hello.epoch != link.hello.epoch
    after = await again.status()
    assert (after.state, after.exit, after.start_id) == ("exited", ExitStatus(), "a")
    assert (after.oldest, after.end) == (7, 14)
    assert await transcript(again, 7) == b"before\n"
    assert not _alive(status.pid)
    await again.start_agent(shell("echo after"), base_offset=14, start_id="b")
    assert await transcript(again, 7) == b"before\nafter\n"


async def first_output_at(link: AgentLink, offset: int, wanted: bytes) -> None:
    whole = b""
    async for part in link.output(offset):
        assert isinstance(part, Output)
        whole += part.data
        if whole == wanted:
            return


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()


async def test_term_to_the_container_is_passed_on_to_the_agent(agentctl: Agentctl, link: AgentLink) -> None:
    script = "trap 'echo bye; exit 0' TERM; echo ready; read -r line"
    await link.start_agent(shell(script), base_offset=0, start_id="a")
    await first_output(link, b"ready")
    assert await agentctl.end(signal.SIGTERM) == 143
    await agentctl.start()
    again = await agentctl.link()
    assert (await again.status()).exit == ExitStatus()  # unknown: that end was not the agent's own
    assert await transcript(again) == b"ready\nbye\n"


async def test_activity_tells_input_output_and_children(link: AgentLink) -> None:
    idle = await link.activity()
    assert (idle.busy, idle.last_input, idle.last_output, idle.children) == (False, 0, 0, 0)
    started = await link.start_agent(
        shell("sleep 1000 & echo ready; read -r line; wait"), base_offset=0, start_id="a"
    )
    await first_output(link, b"ready")
    await link.send_input(b"line\n")
    seen = await link.activity()
    assert seen.busy
    assert seen.children == 1
    assert seen.last_output >= started.started_at
    assert seen.last_input >= seen.last_output
    assert (await link.usage()).memory_bytes > 0
