"""PF knobs: what our client concludes of a forwarded connection that stalls, breaks or ends on one side."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from moorage import kube
from moorage.core.errors import LinkError
from moorage.embedded import EmbeddedCluster
from moorage.kube import websocket
from moorage.ports.streams import ByteStream

from . import portforward
from .knob import Armed, Knob, Strike, Triple
from .memory_node import POD, MemoryNode, Plug, cluster_with
from .portforward import AcceptStall, ErrorStreamTimeout, FirstConnOnly, HalfClose, IdleCut
from .streaming import ResetAfter

PATIENCE = 60
PORT = 8765
RNG = random.Random(1)
DATA = bytes(range(256)) * 1200


class Echo:
    """Says what it hears. ``heard`` by one connection, told once that has ended."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def serve(self, plug: Plug) -> None:
        whole = b""
        while data := await plug.read():
            whole += data
            await plug.write(data)
        self.heard.put_nowait(whole)


class Bench:
    """One cluster, one client, and an echo behind a port."""

    def __init__(self, cluster: EmbeddedCluster, client: kube.KubeCluster, echo: Echo) -> None:
        self.client, self.echo = client, echo
        self.armed = Armed()
        self.armed.install(cluster)

    def strike(self, made: Callable[[random.Random, int], Strike]) -> None:
        self.armed.arm(Knob("it", "PF", portforward.FORWARDS, made), RNG)

    async def dial(self) -> ByteStream:
        return await self.client.port_forward(POD, PORT)

    @property
    def fired(self) -> int:
        return self.armed.fired[Triple("", "get pods/portforward", "it")]


@pytest.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    monkeypatch.setattr(websocket, "CLOSE_GRACE", 0.1)  # a server that is stuck answers no goodbye
    echo = Echo()
    async with cluster_with(MemoryNode(ports={PORT: echo.serve}), tmp_path / "cluster") as cluster:
        client = kube.connect(str(cluster.kubeconfig), None, "default", request_timeout=2.0)
        yield Bench(cluster, client, echo)
        await client.close()


async def read(stream: ByteStream, length: int) -> bytes:
    """``length`` bytes, fewer where the stream ended."""
    got = b""
    async with asyncio.timeout(PATIENCE):
        while len(got) < length and (data := await stream.read()):
            got += data
    return got


async def works(bench: Bench) -> bool:
    stream = await bench.dial()
    await stream.write(DATA)
    got = await read(stream, len(DATA))
    await stream.close()
    return got == DATA


async def test_nothing_is_changed_where_nothing_is_armed(bench: Bench) -> None:
    assert await works(bench)


async def test_what_a_client_wrote_before_it_left_arrives_whole(bench: Bench) -> None:
    stream = await bench.dial()
    await stream.write(DATA)
    await stream.close()
    async with asyncio.timeout(PATIENCE):
        assert await bench.echo.heard.get() == DATA


async def test_a_node_that_accepts_and_says_nothing_is_given_up_in_time_and_told(bench: Bench) -> None:
    bench.strike(lambda rng, times: AcceptStall(rng, times, announced=False))
    with pytest.raises(LinkError, match="did not announce the forwarded port in time"):
        await bench.dial()
    assert bench.fired == 1
    assert await works(bench)


async def test_case_123_a_forward_on_which_nothing_comes_can_be_closed(bench: Bench) -> None:
    bench.strike(lambda rng, times: AcceptStall(rng, times, announced=True))
    stream = await bench.dial()
    await stream.write(DATA)
    reading = asyncio.ensure_future(stream.read())
    async with asyncio.timeout(PATIENCE):
        await stream.close()
        with pytest.raises(LinkError, match="closed by us"):
            await reading
    assert bench.fired == 1
    assert await works(bench)


@pytest.mark.parametrize("after", [0, 2, 4, 5, 50_000])
async def test_case_119_a_reset_ends_its_own_connection_only(bench: Bench, after: int) -> None:
    other = await bench.dial()
    bench.strike(lambda rng, times: ResetAfter(rng, times, after=after))
    got = b""
    with contextlib.suppress(LinkError):
        stream = await bench.dial()
        await stream.write(DATA)
        got = await read(stream, len(DATA))
        await stream.close()
    assert DATA.startswith(got)
    assert (len(got) < len(DATA), bench.fired) == (True, 1)
    await other.write(b"still here")
    assert await read(other, 10) == b"still here"
    await other.close()
    assert await works(bench)


async def test_case_125_what_the_pod_said_before_its_side_ended_is_read_whole(bench: Bench) -> None:
    bench.strike(lambda rng, times: HalfClose(rng, times, after=100_000))
    stream = await bench.dial()
    with contextlib.suppress(LinkError):  # data in flight when the end comes
        for start in range(0, len(DATA), 10_000):
            await stream.write(DATA[start : start + 10_000])
    got = await read(stream, len(DATA))
    assert got == DATA[:100_000]
    assert await stream.read() == b""  # an end, not an error: that is what the Pod's side said
    with pytest.raises(LinkError):
        await stream.write(b"after the end")
    await stream.close()
    assert bench.fired == 1


async def test_a_quiet_connection_that_is_cut_is_an_error_and_not_an_end(bench: Bench) -> None:
    bench.strike(IdleCut)
    stream = await bench.dial()
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(LinkError, match="cut"):
            await stream.read()
    await stream.close()
    assert bench.fired == 1


async def test_case_119_a_stream_pair_that_is_never_whole_is_an_error_and_the_next_one_works(
    bench: Bench,
) -> None:
    bench.strike(ErrorStreamTimeout)
    with pytest.raises(LinkError, match="ended before it began"):
        await bench.dial()
    assert bench.fired == 1
    assert await works(bench)


async def test_where_only_the_first_connection_works_the_others_say_why(bench: Bench) -> None:
    bench.strike(FirstConnOnly)
    assert await works(bench)
    stream = await bench.dial()
    with pytest.raises(LinkError, match=r"port 8765 in the Pod: .*lost connection to pod"):
        await read(stream, 1)
    await stream.close()
    assert bench.fired == 1
