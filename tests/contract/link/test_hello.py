"""Who may open a link, and what the fence forbids to whom."""

from __future__ import annotations

import asyncio
import json

import pytest

from moorage.core.errors import Conflict, Fenced, LinkError
from moorage.core.wire.frames import MAX_HELLO_PAYLOAD, Frame, FrameDecoder, FrameType, encode
from moorage.engine.link import AgentLink, open_link
from tests.contract.link.loopback import NONCE, POD_UID, Agentctl, SocketStream
from tests.contract.link.test_agent import shell


async def test_both_sides_say_who_they_are(link: AgentLink) -> None:
    assert (link.hello.pod_uid, link.hello.protocol) == (POD_UID, 1)
    assert link.hello.platform.startswith("linux/")
    assert len(link.hello.epoch) == 32


async def test_a_wrong_nonce_opens_nothing(agentctl: Agentctl) -> None:
    with pytest.raises(LinkError) as refusal:
        await agentctl.link(nonce=bytes(32))
    assert refusal.value.details["code"] == "unproved"
    assert (await (await agentctl.link()).status()).state == "none"


async def test_another_pod_is_refused(agentctl: Agentctl) -> None:
    with pytest.raises(LinkError) as refusal:
        await open_link(await agentctl.stream(), NONCE, fence=0, expect_pod_uid="another")
    assert refusal.value.details["code"] == "wrong_pod"


async def test_a_recorded_hello_opens_nothing_when_it_is_played_again(agentctl: Agentctl) -> None:
    stream = await agentctl.stream()
    stream.record = True
    link = await open_link(stream, NONCE, fence=0, expect_pod_uid=POD_UID)
    await link.start_agent(shell("exit 0"), base_offset=0, start_id="a")
    await link.close()
    replay = await agentctl.stream()
    await replay.write(bytes(stream.sent))
    kinds = [frame.type for frame in await _frames(replay)]
    assert kinds == [FrameType.BANNER, FrameType.REFUSED]


async def _frames(stream: SocketStream) -> list[Frame]:
    decoder = FrameDecoder()
    frames = []
    try:
        while data := await stream.read():
            decoder.feed(data)
            while (frame := decoder.next()) is not None:
                frames.append(frame)
    except LinkError:
        pass  # an end by reset says the same
    await stream.close()
    return frames


async def test_a_recorded_server_convinces_nobody(agentctl: Agentctl) -> None:
    stream = await agentctl.stream()
    stream.record = True
    link = await open_link(stream, NONCE, fence=0, expect_pod_uid=POD_UID)
    await link.close()

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(stream.received))
        await reader.read()
        writer.close()

    impostor = await asyncio.start_server(play, "127.0.0.1", 0)
    async with impostor:
        port = impostor.sockets[0].getsockname()[1]
        client = SocketStream(*await asyncio.open_connection("127.0.0.1", port))
        client.record = True
        with pytest.raises(LinkError) as refusal:
            await open_link(client, NONCE, fence=0, expect_pod_uid=POD_UID)
    assert refusal.value.details["code"] == "impostor"
    assert NONCE not in client.sent
    assert NONCE.hex().encode() not in client.sent


GARBAGE = {
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a frame beyond the limit": encode(Frame(FrameType.HELLO, 0, bytes(MAX_HELLO_PAYLOAD + 1))),
    "a stream before the hello": encode(Frame(FrameType.OPEN, 1, b'{"op":"status"}')),
    "a hello that is none": encode(Frame(FrameType.HELLO, 0, b"[]")),
}


@pytest.mark.parametrize("name", GARBAGE)
async def test_who_does_not_speak_the_hello_learns_nothing(agentctl: Agentctl, name: str) -> None:
    stream = await agentctl.stream()
    await stream.write(GARBAGE[name])
    frames = await _frames(stream)
    assert {frame.type for frame in frames} <= {FrameType.BANNER, FrameType.REFUSED}
    assert POD_UID not in repr(frames)


async def test_a_byte_changed_on_the_way_ends_the_link(agentctl: Agentctl) -> None:
    class Meddler(SocketStream):
        meddle = False

        async def write(self, data: bytes) -> None:
            await super().write(data[:-1] + bytes((data[-1] ^ 1,)) if self.meddle else data)

    stream = Meddler(*await asyncio.open_connection(*agentctl.address))
    link = await open_link(stream, NONCE, fence=0, expect_pod_uid=POD_UID)
    assert (await link.status()).state == "none"
    stream.meddle = True
    with pytest.raises(LinkError):
        await link.start_agent(shell("exit 0"), base_offset=0, start_id="a")
    await link.close()
    assert (await (await agentctl.link()).status()).state == "none"


async def test_versions_without_a_common_one_are_refused(agentctl: Agentctl) -> None:
    stream = await agentctl.stream()
    hello = json.dumps({"min": 90, "max": 99, "random": "0" * 64, "fence": 0}).encode()
    await stream.write(
        encode(Frame(FrameType.HELLO, 0, hello)) + encode(Frame(FrameType.PROOF, 0, bytes(32)))
    )
    frames = await _frames(stream)
    assert json.loads(frames[-1].payload)["code"] == "version"


async def test_a_lower_fence_reads_but_commands_nothing(agentctl: Agentctl) -> None:
    old = await agentctl.link(fence=3)
    await old.start_agent(shell("echo hello; exec cat"), base_offset=0, start_id="a")
    new = await agentctl.link(fence=4)
    with pytest.raises(Fenced):
        await old.start_agent(shell("true"), base_offset=0, start_id="b")
    with pytest.raises(Fenced):
        await old.signal(15)
    with pytest.raises(Fenced):
        await old.drain(1)
    with pytest.raises(Fenced):
        await old.ack(1)
    assert (await old.status()).state == "running"
    assert (await new.drain(5)).signal == 15


async def test_the_highest_fence_survives_a_restart(agentctl: Agentctl) -> None:
    await agentctl.link(fence=9)
    await agentctl.end()
    await agentctl.start()
    with pytest.raises(Fenced):
        await (await agentctl.link(fence=8)).start_agent(shell("true"), base_offset=0, start_id="a")
    await (await agentctl.link(fence=9)).start_agent(shell("true"), base_offset=0, start_id="a")


async def test_a_nonce_delivered_anew_opens_the_links_to_come(agentctl: Agentctl, link: AgentLink) -> None:
    fresh = bytes(reversed(NONCE))
    lines = await agentctl.receive(nonce=fresh)
    assert json.loads(lines[0])["pod_uid"] == POD_UID
    assert json.loads(lines[1])["woke"] is True
    again = await _eventually(agentctl, fresh)
    assert (await again.status()).state == "none"
    assert (await link.status()).state == "none"


async def _eventually(agentctl: Agentctl, nonce: bytes) -> AgentLink:
    """The signal needs a moment; each attempt is a real connection."""
    for _ in range(100):
        try:
            return await agentctl.link(nonce=nonce)
        except LinkError:
            continue
    raise AssertionError("the fresh nonce never came to be used")


async def test_an_agent_that_is_not_there_cannot_be_commanded(link: AgentLink) -> None:
    with pytest.raises(Conflict, match="no agent runs"):
        await link.send_input(b"x")


class Tunnel:
    """A ``ByteStream`` over the stdio of ``agentctl tunnel``."""

    def __init__(self, process: asyncio.subprocess.Process):
        self._process = process

    async def read(self) -> bytes:
        assert self._process.stdout is not None
        return await self._process.stdout.read(65536)

    async def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)

    async def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()


async def test_the_tunnel_leads_to_agentctl_also_while_others_crowd_its_port(agentctl: Agentctl) -> None:
    crowd = [await agentctl.stream() for _ in range(40)]
    tunnel = await asyncio.create_subprocess_exec(
        *agentctl.binary,
        "tunnel",
        *agentctl.places,
        env=agentctl.environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    link = await open_link(Tunnel(tunnel), NONCE, fence=0, expect_pod_uid=POD_UID)
    assert (await link.status()).state == "none"
    await link.close()
    assert tunnel.returncode == 0
    for stream in crowd:
        await stream.close()
