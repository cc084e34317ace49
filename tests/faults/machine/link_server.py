"""agentctl's end of a link: hello, frames and streams over one byte stream. Used by the scripted node."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from moorage.core.wire.frames import MAX_HELLO_PAYLOAD, MAX_PAYLOAD, Frame, FrameDecoder, FrameType, Seal
from moorage.core.wire.frames import encode as framed
from moorage.core.wire.hello import derive_keys
from tests.faults.machine.agentctl import Agentctl, Refused, Request, perform

Read = Callable[[], Awaitable[bytes]]
Write = Callable[[bytes], None]


class LinkServer:
    """One connection. ``read`` gives b"" at its end; ``write`` never waits."""

    def __init__(self, agent: Agentctl, read: Read, write: Write) -> None:
        self._agent, self._read, self._write = agent, read, write
        self._decoder = FrameDecoder(MAX_HELLO_PAYLOAD)
        self._seal: Seal | None = None
        self._fence = 0
        self._requests: dict[int, Request] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def serve(self) -> None:
        """Until the other side leaves."""
        try:
            if await self._hello():
                while (frame := await self._next()) is not None and frame.type is not FrameType.GOODBYE:
                    self._dispatch(frame)
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _next(self) -> Frame | None:
        while (frame := self._decoder.next()) is None:
            data = await self._read()
            if not data:
                return None
            self._decoder.feed(data)
        return frame

    def _send(self, kind: FrameType, stream: int, payload: bytes) -> None:
        self._write(framed(Frame(kind, stream, payload), self._seal))

    async def _hello(self) -> bool:
        agent = self._agent
        banner = json.dumps(
            {"link": "moorage", "min": 1, "max": 1, "random": secrets.token_hex(32), "epoch": agent.epoch}
        ).encode()
        self._send(FrameType.BANNER, 0, banner)
        hello, proof = await self._next(), await self._next()
        if hello is None or proof is None or agent.nonce is None:
            return False
        keys = derive_keys(agent.nonce, agent.epoch, banner, hello.payload)
        if not hmac.compare_digest(keys.client_proof, proof.payload):
            self._send(FrameType.REFUSED, 0, b'{"code":"unproved","message":"who are you"}')
            return False
        self._fence = json.loads(hello.payload)["fence"]
        agent.fence = max(agent.fence, self._fence)
        self._send(FrameType.PROOF, 0, keys.server_proof)
        self._decoder.seal, self._decoder.limit = Seal(keys.client_seal), MAX_PAYLOAD
        self._seal = Seal(keys.server_seal)
        ready = {"pod_uid": agent.pod_uid, "helper": "in-memory", "platform": "linux/amd64", "version": 1}
        self._send(FrameType.READY, 0, json.dumps({**ready, "fence": agent.fence}).encode())
        return True

    def _dispatch(self, frame: Frame) -> None:
        number = frame.stream
        match frame.type:
            case FrameType.PING:
                self._send(FrameType.PONG, 0, frame.payload)
            case FrameType.OPEN:
                say = self._says(number)
                self._requests[number] = Request(json.loads(frame.payload), say)
                self._tasks[number] = asyncio.create_task(self._answer(number))
            case FrameType.DATA if number in self._requests:
                self._requests[number].inbox.put_nowait((frame.payload[0], frame.payload[1:]))
                self._send(FrameType.WINDOW, number, len(frame.payload).to_bytes(4, "big"))
            case FrameType.END if number in self._requests:
                self._requests[number].inbox.put_nowait(None)
            case FrameType.RESET if number in self._tasks:
                self._tasks.pop(number).cancel()
                self._requests.pop(number, None)

    def _says(self, number: int) -> Callable[[int, bytes], None]:
        return lambda channel, data: self._send(FrameType.DATA, number, bytes((channel,)) + data)

    async def _answer(self, number: int) -> None:
        kind = FrameType.RESULT
        said: dict[str, Any] = {}
        try:
            said = await perform(self._agent, self._fence, self._requests[number])
        except Refused as refusal:
            kind, said = FrameType.ERROR, {"code": refusal.code, "message": str(refusal)}
        with contextlib.suppress(KeyError):
            del self._requests[number], self._tasks[number]
            self._send(kind, number, json.dumps(said).encode())
