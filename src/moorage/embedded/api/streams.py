"""exec, attach, port-forward and logs: what goes through to the node, byte for byte.

Called by ``api.server`` after authorization. WebSockets only: ``v5`` and ``v4.channel.k8s.io`` for commands,
``v4.channel.k8s.io`` for ports. Knows messages; who runs a container is the node's business.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Coroutine, Sequence
from datetime import datetime
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web
from multidict import MultiMapping

from moorage.core.kinds import Json
from moorage.embedded.api.numbers import NotNumber, parse_uint, query_int
from moorage.embedded.faults import Dropped, HungUp, StreamFaults
from moorage.embedded.refusal import Refusal, bad_request
from moorage.embedded.seam import ByteStream, ExecExit, ExecSession, LogOptions, Node, NodeError

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
LARGEST = 32 * 1024 * 1024
"""Bytes in one message, as a kube-apiserver takes them."""
CHUNK = 32 * 1024
_STDIN, _STDOUT, _STATUS, _RESIZE, _CLOSE = 0, 1, 3, 4, 255


def refused_by_node(error: NodeError) -> Refusal:
    return Refusal(error.status, error.reason, error.message)


def container_of(pod: Json, name: str) -> str:
    """The container a request means. Raises Refusal 400."""
    spec = pod["spec"]
    known = [
        container["name"]
        for part in ("initContainers", "containers", "ephemeralContainers")
        for container in spec.get(part) or ()
    ]
    pod_name = pod["metadata"]["name"]
    if name:
        if name not in known:
            raise bad_request(f"container {name} is not valid for pod {pod_name}")
        return name
    ordinary = [container["name"] for container in spec["containers"]]
    marked = (pod["metadata"].get("annotations") or {}).get("kubectl.kubernetes.io/default-container")
    if marked in ordinary:
        return str(marked)
    if len(ordinary) == 1:
        return str(ordinary[0])
    listed = " ".join(ordinary)
    raise bad_request(f"a container name must be specified for pod {pod_name}, choose one of: [{listed}]")


def offered(request: web.BaseRequest) -> tuple[str, ...]:
    """The subprotocols a client offers. Raises Refusal 400 when it asks for no WebSocket."""
    if request.headers.get("Upgrade", "").lower() != "websocket":
        raise bad_request("Upgrade request required")
    text = ",".join(request.headers.getall("Sec-WebSocket-Protocol", []))
    return tuple(word.strip() for word in text.split(",") if word.strip())


class Channels:
    """One WebSocket of numbered channels, with the faults of a test in between."""

    def __init__(self, ws: web.WebSocketResponse, faults: StreamFaults | None) -> None:
        self._ws, self._faults = ws, faults

    @classmethod
    async def open(
        cls, request: web.BaseRequest, chosen: str, faults: StreamFaults | None
    ) -> tuple[Channels, web.WebSocketResponse]:
        protocols = (chosen,) if chosen else ()
        ws = web.WebSocketResponse(protocols=protocols, max_msg_size=LARGEST, compress=False, timeout=5)
        await ws.prepare(request)
        return cls(ws, faults), ws

    async def send(self, channel: int, data: bytes) -> None:
        """One message; a client that is gone is no error."""
        message = bytes((channel,)) + data
        if self._faults is None:
            await self._send(message)
            return
        async for part in self._faults.to_client(message):
            await self._send(part)

    async def _send(self, message: bytes) -> None:
        if not self._ws.closed:
            with contextlib.suppress(ConnectionError, RuntimeError):
                await self._ws.send_bytes(message)

    async def receive(self) -> list[bytes] | None:
        """What came in; None once the client has closed or is gone."""
        message = await self._ws.receive()
        if message.type is WSMsgType.BINARY:
            data: bytes = message.data
        elif message.type is WSMsgType.TEXT:
            data = str(message.data).encode()
        else:
            return None
        return [data] if self._faults is None else [part async for part in self._faults.from_client(data)]

    async def carry(self, carrying: Coroutine[Any, Any, None]) -> None:
        """Do the work of a stream, then close it; a fault may close it otherwise, or raise Dropped."""
        code = int(WSCloseCode.OK)
        try:
            await self._among_faults(carrying)
        except HungUp as fault:
            code = fault.code
        await self._ws.close(code=code)

    async def _among_faults(self, carrying: Coroutine[Any, Any, None]) -> None:
        if self._faults is None:
            await carrying
            return
        work, fault = asyncio.create_task(carrying), asyncio.create_task(self._faults.beside())
        try:
            await asyncio.wait((work, fault), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                fault.result()
            await work
        finally:
            for task in (work, fault):
                task.cancel()
            await asyncio.gather(work, fault, return_exceptions=True)


async def run_command(
    channels: Channels, session: ExecSession, *, half_close: bool, attached: bool = False
) -> None:
    """Carry one command's streams until it has ended and all of its output is sent. ``attached``: they are a
    container's own, whose exit code stands in the Pod's status; the kubelet calls such an end a success."""
    await channels.send(_STDOUT, b"")  # tells the client that it is through
    incoming = asyncio.create_task(_input(channels, session, half_close=half_close))
    outgoing = asyncio.create_task(_output(channels, session, attached=attached))
    try:
        await asyncio.wait((incoming, outgoing), return_when=asyncio.FIRST_COMPLETED)
        if not outgoing.done() and not incoming.cancelled():
            error = incoming.exception()
            if isinstance(error, Dropped | HungUp):
                raise error
            if error is None:
                return  # the client left first; what is still written has no reader
        await outgoing
    finally:
        for task in (incoming, outgoing):
            task.cancel()
        await session.close()  # first: a client that goes away may cancel this very wait, too
        await asyncio.gather(incoming, outgoing, return_exceptions=True)


async def _output(channels: Channels, session: ExecSession, *, attached: bool) -> None:
    while (found := await session.read()) is not None:
        channel, data = found
        for start in range(0, len(data), CHUNK):
            await channels.send(channel, data[start : start + CHUNK])
    ended = await session.wait()
    await say_ended(channels, ExecExit(0) if attached else ended)


async def say_ended(channels: Channels, ended: ExecExit) -> None:
    """The last message of a command."""
    await channels.send(_STATUS, json.dumps(exit_status(ended)).encode())


async def _input(channels: Channels, session: ExecSession, *, half_close: bool) -> None:
    while (messages := await channels.receive()) is not None:
        for message in messages:
            if not message:
                continue
            channel, data = message[0], message[1:]
            if channel == _STDIN:
                await session.write(data)
            elif channel == _RESIZE:
                await _resize(session, data)
            elif channel == _CLOSE and half_close and data == bytes((_STDIN,)):
                await session.close_stdin()


async def _resize(session: ExecSession, data: bytes) -> None:
    try:
        size = json.loads(data)
        columns, rows = int(size["Width"]), int(size["Height"])
    except (ValueError, KeyError, TypeError):
        return
    await session.resize(columns, rows)


def exit_status(ended: ExecExit) -> Json:
    """The Status on channel 3."""
    base: Json = {"metadata": {}, "status": "Failure"}
    if ended.code == 0:
        return {"metadata": {}, "status": "Success"}
    if ended.code is None:
        return {**base, "message": ended.message, "reason": "InternalError", "code": 500}
    return {
        **base,
        "message": f"command terminated with non-zero exit code: exit status {ended.code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(ended.code)}]},
    }


def asked_ports(query: MultiMapping[str]) -> list[int]:
    """The ports of a port-forward. Raises Refusal 400."""
    texts = [part for text in query.getall("ports", []) for part in text.split(",")]
    try:
        ports = [parse_uint(text) for text in texts]
    except NotNumber:
        raise bad_request("invalid port") from None
    if not ports or not all(0 < port < 65536 for port in ports):
        raise bad_request('query parameter "ports" is required' if not texts else "invalid port")
    return ports


async def forward(channels: Channels, node: Node, pod: Json, ports: Sequence[int]) -> None:
    """Carry one TCP connection a port, until one of them has ended on the Pod's side or the client leaves."""
    for number, port in enumerate(ports):
        announced = port.to_bytes(2, "little")
        await channels.send(2 * number, announced)
        await channels.send(2 * number + 1, announced)
    streams: dict[int, ByteStream] = {}
    tasks: list[asyncio.Task[None]] = []
    try:
        for number, port in enumerate(ports):
            try:
                streams[number] = await node.dial(pod, port)
            except (OSError, NodeError) as error:
                await channels.send(2 * number + 1, _cannot_dial(pod, port, error))
                return
        tasks = [asyncio.create_task(_from_pod(channels, n, stream)) for n, stream in streams.items()]
        tasks.append(asyncio.create_task(_to_pod(channels, streams)))
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        for stream in streams.values():
            await stream.close()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _from_pod(channels: Channels, number: int, stream: ByteStream) -> None:
    try:
        while data := await stream.read():
            for start in range(0, len(data), CHUNK):
                await channels.send(2 * number, data[start : start + CHUNK])
    except OSError as error:
        await channels.send(2 * number + 1, f"error forwarding: {error}".encode())


async def _to_pod(channels: Channels, streams: dict[int, ByteStream]) -> None:
    while (messages := await channels.receive()) is not None:
        for message in messages:
            if message and message[0] % 2 == 0 and message[0] // 2 in streams:
                try:
                    await streams[message[0] // 2].write(message[1:])
                except OSError:
                    return


def _cannot_dial(pod: Json, port: int, error: Exception) -> bytes:
    uid = pod["metadata"]["uid"]
    why = f"dial tcp4 127.0.0.1:{port}: connect: connection refused"
    if not isinstance(error, ConnectionRefusedError | FileNotFoundError):
        why = str(error)
    text = f"error forwarding port {port} to pod {uid}, uid : failed to connect to localhost:{port}: {why}"
    return text.encode()


def log_options(query: MultiMapping[str], now: float) -> LogOptions:
    """Of ``pods/log``. Raises Refusal 400."""
    numbers: dict[str, int | None] = {}
    for name in ("tailLines", "limitBytes", "sinceSeconds"):
        text = query.get(name)
        numbers[name] = query_int(text) if text is not None else None
    since: float | None = numbers["sinceSeconds"]
    if query.get("sinceTime"):
        try:
            then = datetime.fromisoformat(query["sinceTime"].replace("Z", "+00:00"))
            since = max(now - then.timestamp(), 0.0)
        except (ValueError, OverflowError):
            raise bad_request("sinceTime is no time") from None

    def flag(name: str) -> bool:
        return query.get(name, "false").lower() in ("true", "1", "")

    return LogOptions(
        previous=flag("previous"),
        follow=flag("follow"),
        timestamps=flag("timestamps"),
        tail_lines=numbers["tailLines"],
        limit_bytes=numbers["limitBytes"],
        since_seconds=None if since is None else min(since, now),  # there is nothing before 1970
    )
