"""EXEC knobs: what our client concludes of a command whose stream ends, lies or loses bytes.

A struck command is never a success, never half an answer taken for a whole one, and never waited for without
end; and the one after it works.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from moorage import kube
from moorage.core.errors import ApiError, LinkError
from moorage.embedded import EmbeddedCluster
from moorage.kube.exec import PodExec
from moorage.ports.streams import ExecResult

from . import exec_
from .exec_ import (
    WITHOUT_CODE,
    CloseAfterUpgrade,
    DropTail,
    NoStatusClose,
    OnlyV4,
    SlowReader,
    StdinDrop,
    SuccessWithoutCode,
)
from .knob import Armed, Knob, Strike, Triple
from .memory_node import POD, Console, MemoryNode, cluster_with
from .streaming import ResetAfter

PATIENCE = 60
RNG = random.Random(1)
DATA = bytes(range(256)) * 1200
GET = "get pods/exec"


async def prints(console: Console) -> int:
    console.out(DATA)
    return 3


async def counts(console: Console) -> int:
    """Reads as much as there is of ``DATA``, and says how much that was."""
    console.out(b"%d" % len(await console.read(len(DATA))))
    return 0


async def reads_to_the_end(console: Console) -> int:
    console.out(b"%d" % len(await console.read(1 << 40)))
    return 0


async def both(console: Console) -> int:
    await console.read(len(DATA))
    console.out(DATA)
    return 3


class Bench:
    """One cluster, one client, and the faults between them."""

    def __init__(self, cluster: EmbeddedCluster, client: kube.KubeCluster, node: MemoryNode) -> None:
        self.client, self.node = client, node
        self.armed = Armed()
        self.armed.install(cluster)

    def strike(self, made: Callable[[random.Random, int], Strike]) -> None:
        self.armed.arm(Knob("it", "EXEC", exec_.EXECS, made), RNG)

    async def run(self, program: str, stdin: bytes = b"") -> tuple[bytes, ExecResult]:
        """All of its output and how it ended; LinkError where the output broke off."""
        async with asyncio.timeout(PATIENCE):
            stream = await self.client.exec(POD, "main", [program])
            try:
                if stdin:
                    await stream.write(stdin)
                parts = []
                while (chunk := await stream.read()) is not None:
                    parts.append(chunk.data)
                return b"".join(parts), await stream.result()
            finally:
                await stream.close()

    @property
    def fired(self) -> int:
        return self.armed.fired[Triple("", GET, "it")]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    node = MemoryNode({"prints": prints, "counts": counts, "reads": reads_to_the_end, "both": both})
    async with cluster_with(node, tmp_path / "cluster") as cluster:
        client = kube.connect(str(cluster.kubeconfig), None, "default")
        yield Bench(cluster, client, node)
        await client.close()


async def test_nothing_is_changed_where_nothing_is_armed(bench: Bench) -> None:
    out, result = await bench.run("prints")
    assert (out, result.exit_code) == (DATA, 3)


@pytest.mark.parametrize("code", [1000, 1001, 1006])
async def test_case_102_a_close_without_a_status_is_never_a_success(bench: Bench, code: int) -> None:
    bench.strike(lambda rng, times: NoStatusClose(rng, times, code=code))
    if code == 1000:
        out, result = await bench.run("prints")
        assert (out, result.reason) == (DATA, "NoStatus")
    else:  # nobody said that this was all
        with pytest.raises(LinkError, match=r"cut|gave the connection up"):
            await bench.run("prints")
        stream = await bench.client.exec(POD, "main", ["prints"])
        assert (await stream.result()).exit_code == 3
        await stream.close()
        result = ExecResult(None)
    assert result.exit_code is None
    assert bench.fired == 1


@pytest.mark.parametrize("said", WITHOUT_CODE)
async def test_case_102_a_status_without_a_code_is_never_a_success(bench: Bench, said: bytes) -> None:
    bench.strike(lambda rng, times: SuccessWithoutCode(rng, times, said=said))
    out, result = await bench.run("prints")
    assert (out, result.exit_code, bench.fired) == (DATA, None, 1)


async def test_case_115_upgraded_and_closed_is_told_as_a_command_that_nobody_knows_to_have_run(
    bench: Bench,
) -> None:
    bench.strike(CloseAfterUpgrade)
    out, result = await bench.run("prints")
    assert (out, result.exit_code, result.reason, bench.node.asked) == (b"", None, "NoStatus", [])
    assert "unknown" in result.message


@pytest.mark.parametrize("after", [0, 1, 32_768, 100_000])
async def test_a_reset_anywhere_is_an_error_after_what_came_before(bench: Bench, after: int) -> None:
    bench.strike(lambda rng, times: ResetAfter(rng, times, after=after))
    stream = await bench.client.exec(POD, "main", ["prints"])
    result = await stream.result()
    got = b""
    with contextlib.suppress(LinkError):
        while (chunk := await stream.read()) is not None:
            got += chunk.data
    await stream.close()
    assert DATA.startswith(got)
    assert len(got) <= after
    assert (result.exit_code, result.reason, bench.fired) == (None, "Broken", 1)
    assert (await bench.run("prints"))[1].exit_code == 3


async def test_case_110_a_dropped_tail_cannot_be_seen_from_the_status(bench: Bench) -> None:
    # Whoever needs all of the output compares it with a length or a hash that it carries; see the stories of
    # the helper's delivery and of the link.
    bench.strike(lambda rng, times: DropTail(rng, times, kept=1000))
    out, result = await bench.run("prints")
    assert (out, result.exit_code, bench.fired) == (DATA[:1000], 0, 1)


async def test_case_109_without_v5_the_end_of_stdin_is_not_told_and_the_client_knows(bench: Bench) -> None:
    bench.strike(OnlyV4)
    stream = await bench.client.exec(POD, "main", ["counts"])
    assert isinstance(stream, PodExec)
    assert not stream.half_close
    await stream.close_stdin()
    await stream.close()
    bench.strike(OnlyV4)
    out, result = await bench.run("counts", DATA)  # its length is what ends it
    assert (out, result.exit_code) == (b"%d" % len(DATA), 0)


async def test_with_v5_the_end_of_stdin_is_told(bench: Bench) -> None:
    stream = await bench.client.exec(POD, "main", ["reads"])
    await stream.write(DATA)
    await stream.close_stdin()
    chunk = await stream.read()
    assert chunk is not None
    assert chunk.data == b"%d" % len(DATA)
    await stream.close()


@pytest.mark.parametrize("length", [1, 65_535, 65_536, 65_537, 1 << 20, 16 << 20], ids="case 106: {}".format)
async def test_input_of_any_length_arrives_as_it_was_sent(bench: Bench, length: int) -> None:
    data = (DATA * (length // len(DATA) + 1))[:length]

    async def hashes(console: Console) -> int:
        console.out(hashlib.sha256(await console.read(length)).digest())
        return 0

    bench.node.programs["hashes"] = hashes
    out, result = await bench.run("hashes", data)
    assert (out, result.exit_code) == (hashlib.sha256(data).digest(), 0)


async def test_a_server_that_reads_slowly_gets_every_byte(bench: Bench) -> None:
    bench.strike(SlowReader)
    out, result = await bench.run("counts", DATA)
    assert (out, result.exit_code, bench.fired) == (b"%d" % len(DATA), 0, 1)


async def test_200_where_101_was_asked_for_is_an_error_that_names_a_proxy(bench: Bench) -> None:
    bench.armed.arm(next(knob for knob in exec_.KNOBS if knob.name == "200_not_101"), RNG)
    with pytest.raises(ApiError) as refused:
        await bench.run("prints")
    problem = refused.value.problem
    assert (problem.kind, problem.http_status) == ("http", 200)
    assert "WebSocket" in refused.value.message
    assert "proxy" in refused.value.hint
    assert bench.node.asked == []


@pytest.mark.parametrize("kept", [0, 1000])
async def test_case_113_stdin_that_is_dropped_leaves_a_command_without_an_answer(
    bench: Bench, kept: int
) -> None:
    bench.strike(lambda rng, times: StdinDrop(rng, times, kept=kept))
    stream = await bench.client.exec(POD, "main", ["counts"])
    await stream.write(DATA)
    await stream.close_stdin()  # of that the command still hears, and its count tells
    chunk = await stream.read()
    assert chunk is not None
    assert (chunk.data, bench.fired) == (b"%d" % kept, 1)
    await stream.close()


@pytest.mark.parametrize("knob", exec_.KNOBS, ids=str)
async def test_a_knob_that_fired_once_leaves_the_next_command_alone(bench: Bench, knob: Knob) -> None:
    bench.armed.arm(knob, random.Random(1))
    with contextlib.suppress(ApiError, LinkError):
        async with asyncio.timeout(PATIENCE):
            stream = await bench.client.exec(POD, "main", ["both"])
            await stream.write(DATA)
            await stream.close_stdin()
            await stream.result()
            await stream.close()
    out, result = await bench.run("both", DATA)
    assert (out, result.exit_code) == (DATA, 3)
    assert bench.armed.fired[Triple("", GET, knob.name)] == 1
