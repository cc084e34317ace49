"""Exec and port-forward against a server that misbehaves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import WSCloseCode, WSMsgType, web

from moorage.core.errors import ApiError, LinkError
from moorage.core.wire.exec import V4, V5
from moorage.kube.exec import PodExec, open_exec
from moorage.kube.portforward import open_forward
from moorage.kube.transport import Transport
from moorage.ports.streams import ByteStream, ExecChunk, ExecResult, ExecStream

EXEC = "/api/v1/namespaces/ns/pods/p/exec"
FORWARD = "/api/v1/namespaces/ns/pods/p/portforward"
SUCCESS = b"\x03" + json.dumps({"status": "Success"}).encode()
ANNOUNCED = (8765).to_bytes(2, "little")

Script = Callable[[web.WebSocketResponse], Awaitable[None]]


@pytest.fixture
def plays(api: Any) -> Callable[..., None]:
    """Let the server play ``script`` on each WebSocket at ``path``, then close it."""

    def make(
        path: str, script: Script, *, version: str = V5, cut: bool = False, code: int = WSCloseCode.OK
    ) -> None:
        async def handle(request: web.Request) -> web.StreamResponse:
            socket = web.WebSocketResponse(protocols=(version,), autoping=False, max_msg_size=0)
            await socket.prepare(request)
            await script(socket)
            if cut:
                assert request.transport is not None
                request.transport.abort()
            else:
                await socket.close(code=code)
            return socket

        api.on("GET", path, handle)

    return make


async def read_all(stream: ExecStream) -> list[ExecChunk]:
    chunks = []
    while (chunk := await stream.read()) is not None:
        chunks.append(chunk)
    return chunks


def sends(*messages: bytes) -> Script:
    async def script(socket: web.WebSocketResponse) -> None:
        for message in messages:
            await socket.send_bytes(message)

    return script


async def silent(socket: web.WebSocketResponse) -> None:
    async for _ in socket:
        pass  # neither pings nor data are answered


async def test_output_and_status_come_apart(api: Any, plays: Any) -> None:
    plays(EXEC, sends(b"\x01", b"\x01out", b"\x02err", SUCCESS))
    stream: ExecStream = await api.cluster().exec("p", "main", ["sh", "-c", "a b"], tty=False)
    assert await read_all(stream) == [ExecChunk(1, b"out"), ExecChunk(2, b"err")]
    assert await stream.result() == ExecResult(0)
    await stream.close()
    (request,) = api.seen("GET", EXEC)
    assert request.query.getall("command") == ["sh", "-c", "a b"]
    assert {k: v for k, v in request.query.items() if k != "command"} == {
        "container": "main",
        "stdin": "true",
        "stdout": "true",
        "stderr": "true",
    }
    assert "Sec-WebSocket-Extensions" not in request.headers


async def test_an_orderly_close_without_a_status_is_not_a_success(api: Any, plays: Any) -> None:
    plays(EXEC, sends(b"\x01all of it"))
    stream = await api.cluster().exec("p", "main", ["x"])
    assert await read_all(stream) == [ExecChunk(1, b"all of it")]
    result = await stream.result()
    assert (result.exit_code, result.reason) == (None, "NoStatus")
    await stream.close()


async def test_a_cut_before_the_status_gives_what_came_and_then_an_error(api: Any, plays: Any) -> None:
    plays(EXEC, sends(b"\x01half"), cut=True)
    stream = await api.cluster().exec("p", "main", ["x"])
    assert await stream.read() == ExecChunk(1, b"half")
    with pytest.raises(LinkError, match="cut"):
        await stream.read()
    result = await stream.result()
    assert (result.exit_code, result.reason) == (None, "Broken")
    await stream.close()


async def test_a_cut_after_the_status_loses_nothing(api: Any, plays: Any) -> None:
    plays(EXEC, sends(b"\x01all", SUCCESS), cut=True)
    stream = await api.cluster().exec("p", "main", ["x"])
    assert await read_all(stream) == [ExecChunk(1, b"all")]
    assert (await stream.result()).exit_code == 0
    await stream.close()


async def test_a_reader_that_does_not_read_holds_nothing_up(api: Any, plays: Any) -> None:
    sent = asyncio.Event()

    async def flood(socket: web.WebSocketResponse) -> None:
        for number in range(400):
            await socket.send_bytes(b"\x01" + bytes([number % 256]) * 32768)
        await socket.send_bytes(SUCCESS)
        sent.set()

    plays(EXEC, flood)
    stream = await api.cluster().exec("p", "main", ["x"])
    async with asyncio.timeout(20):
        await sent.wait()  # 12.8 MB left the server though nobody has read a byte
        assert (await stream.result()).exit_code == 0
    chunks = await read_all(stream)
    assert b"".join(chunk.data for chunk in chunks) == b"".join(bytes([n % 256]) * 32768 for n in range(400))
    await stream.close()


async def test_input_arrives_whole_and_is_closed_on_v5(api: Any, plays: Any) -> None:
    got: list[bytes] = []

    async def collect(socket: web.WebSocketResponse) -> None:
        async for message in socket:
            if message.data == b"\xff\x00":
                break
            got.append(message.data)
        await socket.send_bytes(SUCCESS)

    plays(EXEC, collect)
    stream = await api.cluster().exec("p", "main", ["x"])
    data = bytes(range(256)) * 1000
    await stream.write(data)
    await stream.close_stdin()
    assert (await stream.result()).exit_code == 0
    assert b"".join(message[1:] for message in got) == data
    with pytest.raises(LinkError, match="stdin was closed"):
        await stream.write(b"more")
    await stream.close()


async def test_without_stdin_it_is_asked_for_and_closed_at_once(api: Any, plays: Any) -> None:
    async def expects_close(socket: web.WebSocketResponse) -> None:
        assert (await socket.receive()).data == b"\xff\x00"
        await socket.send_bytes(SUCCESS)

    plays(EXEC, expects_close)
    stream = await api.cluster().exec("p", "main", ["x"], stdin=False)
    assert (await stream.result()).exit_code == 0
    assert api.seen("GET", EXEC)[0].query["stdin"] == "true"
    await stream.close()


async def test_on_v4_closing_stdin_sends_nothing_and_says_so(api: Any, plays: Any) -> None:
    got: list[Any] = []

    async def one_message(socket: web.WebSocketResponse) -> None:
        got.append((await socket.receive()).data)
        await socket.send_bytes(SUCCESS)

    plays(EXEC, one_message, version=V4)
    stream = await api.cluster().exec("p", "main", ["x"])
    assert isinstance(stream, PodExec)
    assert stream.half_close is False
    await stream.close_stdin()
    assert got == []
    await stream.close()


async def test_a_connection_without_a_byte_is_given_up(api: Any, plays: Any) -> None:
    plays(EXEC, silent)
    transport: Transport = api.cluster()._transport
    stream = await open_exec(
        transport, "ns", "p", "main", ["x"], tty=False, stdin=True, ping_every=0.01, dead_after=0.05
    )
    with pytest.raises(LinkError, match="silent"):
        await stream.read()
    assert (await stream.result()).exit_code is None
    await stream.close()


async def test_answers_to_our_pings_keep_a_quiet_stream_alive(api: Any, plays: Any) -> None:
    async def pongs(socket: web.WebSocketResponse) -> None:
        answered = 0
        async for message in socket:
            if message.type is WSMsgType.PING:
                await socket.pong(message.data)
                answered += 1
            if answered == 20:
                break
        await socket.send_bytes(SUCCESS)

    plays(EXEC, pongs)
    transport: Transport = api.cluster()._transport
    stream = await open_exec(
        transport, "ns", "p", "main", ["x"], tty=False, stdin=True, ping_every=0.1, dead_after=1.5
    )
    assert (await stream.result()).exit_code == 0  # after 20 pings, longer than it may stay silent
    await stream.close()


async def test_a_refused_upgrade_is_the_servers_own_word(api: Any, refuse: Any) -> None:
    api.on("GET", EXEC, refuse(404, "NotFound", 'pods "p" not found', kind="pods", name="p"))
    with pytest.raises(ApiError) as caught:
        await api.cluster().exec("p", "main", ["x"])
    problem = caught.value.problem
    assert (problem.http_status, problem.reason, problem.details_name) == (404, "NotFound", "p")


async def test_a_proxy_that_knows_no_upgrade_is_recognised(api: Any) -> None:
    async def page(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>hello</html>", content_type="text/html")

    api.on("GET", EXEC, page)
    with pytest.raises(ApiError) as caught:
        await api.cluster().exec("p", "main", ["x"])
    assert (caught.value.problem.kind, caught.value.problem.http_status) == ("http", 200)
    assert "WebSocket" in caught.value.message


async def test_a_message_that_is_no_exec_message_ends_the_stream(api: Any, plays: Any) -> None:
    plays(EXEC, sends(b"\x09what"))
    stream = await api.cluster().exec("p", "main", ["x"])
    with pytest.raises(LinkError, match="unknown channel 9"):
        await stream.read()
    await stream.close()


async def test_streams_do_not_starve_calls(api: Any, plays: Any, answer: Any) -> None:
    plays(EXEC, silent)
    api.on("GET", "/version", answer({"gitVersion": "v1"}))
    cluster = api.cluster()
    streams = [await cluster.exec("p", "main", ["x"]) for _ in range(120)]
    assert (await cluster.identity()).version == "v1"
    await asyncio.gather(*(stream.close() for stream in streams))


async def test_a_forwarded_port_carries_bytes_both_ways_and_ends(api: Any, plays: Any) -> None:
    async def echo(socket: web.WebSocketResponse) -> None:
        await sends(b"\x00" + ANNOUNCED, b"\x01" + ANNOUNCED)(socket)
        await socket.send_bytes((await socket.receive()).data)

    plays(FORWARD, echo, version=V4)
    stream: ByteStream = await api.cluster().port_forward("p", 8765)
    await stream.write(b"hello")
    assert (await stream.read(), await stream.read()) == (b"hello", b"")
    with pytest.raises(LinkError):
        await stream.write(b"after the end")
    await stream.close()
    await stream.close()
    assert dict(api.seen("GET", FORWARD)[0].query) == {"ports": "8765"}


async def test_a_port_nobody_listens_on_is_an_error_with_the_nodes_words(api: Any, plays: Any) -> None:
    plays(FORWARD, sends(b"\x00" + ANNOUNCED, b"\x01" + ANNOUNCED, b"\x01connection refused"), version=V4)
    stream = await api.cluster().port_forward("p", 8765)
    with pytest.raises(LinkError, match="port 8765 in the Pod: connection refused"):
        await stream.read()
    await stream.close()


async def test_a_forward_cut_by_the_network_is_not_an_end(api: Any, plays: Any) -> None:
    plays(FORWARD, sends(b"\x00" + ANNOUNCED, b"\x01" + ANNOUNCED, b"\x00half"), version=V4, cut=True)
    stream = await api.cluster().port_forward("p", 8765)
    assert await stream.read() == b"half"
    with pytest.raises(LinkError, match="cut"):
        await stream.read()
    await stream.close()


@pytest.mark.parametrize("code", [WSCloseCode.GOING_AWAY, WSCloseCode.INTERNAL_ERROR, 1012, 1013])
async def test_a_forward_that_somebody_on_the_way_gave_up_is_not_an_end(
    api: Any, plays: Any, code: int
) -> None:
    opened = sends(b"\x00" + ANNOUNCED, b"\x01" + ANNOUNCED, b"\x00half")
    plays(FORWARD, opened, version=V4, code=code)
    stream = await api.cluster().port_forward("p", 8765)
    assert await stream.read() == b"half"
    with pytest.raises(LinkError, match=f"gave the connection up .code {code}"):
        await stream.read()
    await stream.close()


@pytest.mark.parametrize(
    "messages", [[], [b"\x00\x01\x00"], [b"\x00" + ANNOUNCED]], ids=["nothing", "another port", "half"]
)
async def test_a_forward_that_never_opens_is_an_error(api: Any, plays: Any, messages: list[bytes]) -> None:
    plays(FORWARD, sends(*messages), version=V4)
    with pytest.raises(LinkError):
        await api.cluster().port_forward("p", 8765)


async def test_a_forward_that_stays_silent_is_an_error_in_time(api: Any, plays: Any) -> None:
    plays(FORWARD, silent, version=V4)
    transport: Transport = api.cluster(timeout=1.0)._transport
    with pytest.raises(LinkError, match="did not announce"):
        await open_forward(transport, "ns", "p", 8765)
