"""The terminal: a WebSocket to a session's agent. Output goes on at the byte offset that the other side
names, so a browser that lost its connection, or that comes to another server, misses and repeats nothing.

To the browser: text ``{"type": "at", "offset"}`` before the first byte and after a gap, binary output, text
``gap``, ``error`` and ``end``. From it: binary input, text ``resize``, ``signal`` and ``eof``. With
``watch=true`` nothing is taken from it. docs/rest.md has the messages.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Annotated, Final

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from moorage.core.errors import MoorageError, NotAllowed, NotSignedIn, UsageError
from moorage.ports.link import Gap, Output
from moorage.ports.sessions import Attachment
from moorage.server.guard import Visit
from moorage.server.parts import ServerParts, parts_of
from moorage.server.problems import of_error
from moorage.server.who import identify

PATH: Final = "/sessions/{session_id}/attach"
ASK_AGAIN: Final = 30.0
"""Seconds after which it is asked whether the person still may."""
OVER: Final = 1000
NOT_ANY_MORE: Final = 1008
GOING: Final = 1011


class Resize(msgspec.Struct, tag="resize", forbid_unknown_fields=True):
    cols: Annotated[int, msgspec.Meta(ge=1, le=1000)]
    rows: Annotated[int, msgspec.Meta(ge=1, le=1000)]


class Signal(msgspec.Struct, tag="signal", forbid_unknown_fields=True):
    number: Annotated[int, msgspec.Meta(ge=1, le=64)]


class Eof(msgspec.Struct, tag="eof", forbid_unknown_fields=True):
    """No input follows."""


_said = msgspec.json.Decoder(Resize | Signal | Eof)


async def attach(websocket: WebSocket) -> None:
    """``?offset=N`` (0: from the start), ``?watch=true``."""
    parts = parts_of(websocket)
    watch = websocket.query_params.get("watch") == "true"
    visit = Visit(parts, websocket, "session.watch" if watch else "session.attach")
    status, code = 0, None
    try:
        await visit.enter()
        offset = _offset(websocket.query_params.get("offset", "0"))
        await websocket.accept()
        status = 101
        code = await _Terminal(parts, websocket, watch=watch).run(offset)
    except MoorageError as error:
        refusal = of_error(error)
        await visit.leave(refusal.status_code)
        await websocket.send_denial_response(refusal)
    except WebSocketDisconnect:
        pass
    finally:
        await visit.leave(status)
    if code is not None:
        await websocket.close(code)


def _offset(text: str) -> int:
    if not text.isdigit() or len(text) > 18:
        raise UsageError("it is no byte offset", field="offset", hint="send the number of bytes you have")
    return int(text)


class _Terminal:
    """One open WebSocket."""

    def __init__(self, parts: ServerParts, websocket: WebSocket, *, watch: bool) -> None:
        self._parts = parts
        self._socket = websocket
        self._watch = watch
        self._session_id: str = websocket.path_params["session_id"]
        self._own = parts.places.sessions.attach(self._session_id, watching=True)

    async def run(self, offset: int) -> int | None:
        """Until the agent's end, or until one of the two sides goes. The code to close with; None: the other
        side has gone."""
        jobs = [asyncio.create_task(work) for work in (self._show(offset), self._hear(), self._ask_again())]
        try:
            done, _ = await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
            return next(iter(done)).result()
        finally:
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
            with contextlib.suppress(MoorageError):
                await self._own.close()

    async def _show(self, offset: int) -> int | None:
        logs = self._parts.places.sessions.logs(self._session_id, follow=True, offset=offset)
        try:
            await self._output(logs)
        except MoorageError as error:
            await self._tell_error(error)
            return GOING
        except WebSocketDisconnect:
            return None
        session = await self._parts.store.sessions.get(self._session_id)
        ended = session.run.exit if session.run is not None else None
        await self._tell({"type": "end", "exit": msgspec.to_builtins(ended)})
        return OVER

    async def _output(self, items: AsyncIterator[Output | Gap]) -> None:
        at = -1
        async for item in items:
            if isinstance(item, Gap):
                await self._tell({"type": "gap", "offset": item.offset, "length": item.length})
                continue
            if item.offset != at:
                await self._tell({"type": "at", "offset": item.offset})
            await self._socket.send_bytes(item.data)
            at = item.offset + len(item.data)

    async def _hear(self) -> int | None:
        while True:
            try:
                message = await self._socket.receive()
            except WebSocketDisconnect:
                return None
            if message["type"] == "websocket.disconnect":
                return None
            if self._watch:
                continue
            try:
                await self._obey(message.get("bytes"), message.get("text"))
            except MoorageError as error:
                await self._tell_error(error)

    async def _obey(self, data: bytes | None, text: str | None) -> None:
        agent: Attachment = self._parts.drivers.attachment(self._session_id) or self._own
        if data is not None:
            await agent.send_input(data)
            return
        try:
            said = _said.decode(text or "")
        except msgspec.MsgspecError as error:
            raise UsageError(f"this message is none of the terminal's: {error}") from None
        match said:
            case Resize(cols, rows):
                await agent.resize(cols, rows)
            case Signal(number):
                await agent.signal(number)
            case Eof():
                await agent.close_input()

    async def _ask_again(self) -> int:
        while True:
            await self._parts.clock.sleep(ASK_AGAIN)
            try:
                if await identify(self._parts, self._socket) is None:
                    return NOT_ANY_MORE
            except (NotSignedIn, NotAllowed):
                return NOT_ANY_MORE

    async def _tell_error(self, error: MoorageError) -> None:
        await self._tell(
            {"type": "error", "code": error.reason, "message": error.message, "hint": error.hint}
        )

    async def _tell(self, message: dict[str, object]) -> None:
        await self._socket.send_text(msgspec.json.encode(message).decode())
