"""Streams over one link: numbers, windows, and what each frame of the server means.

Used by ``engine.link``. The client opens every stream. Bytes in, events out, without I/O: the engine sends
what the methods return and waits where ``sendable`` says 0.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from moorage.core.errors import UsageError
from moorage.core.wire.frames import MAX_PAYLOAD, Frame, FrameDecoder, FrameError, FrameType, Seal, encode

INITIAL_WINDOW = 512 << 10
"""Bytes of DATA payload either side may send on a new stream before it is granted more."""
BULK_WINDOW = 2 << 20
"""What we grant in all on a stream that brings data in bulk: over a long way, the window bounds the rate."""
GRANT_SIZE = INITIAL_WINDOW // 4
"""Consumed bytes are given back in pieces of this size: a frame back for each frame would cost throughput."""
MAX_STREAMS = 64
MAX_CHUNK = MAX_PAYLOAD - 1

MESSAGE, BYTES, STDERR = 0, 1, 2
"""Channels in a stream's DATA: JSON messages, bytes, and a second kind of bytes."""


@dataclass(frozen=True, slots=True)
class Received:
    """DATA on a stream. Grant it back (``grant``) once it was consumed."""

    stream: int
    channel: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """The server sends no more DATA on the stream; its answer still follows."""

    stream: int


@dataclass(frozen=True, slots=True)
class Granted:
    """More may be sent on the stream."""

    stream: int


@dataclass(frozen=True, slots=True)
class Answered:
    """The stream is over, with a result or a failure (``code`` is then not empty)."""

    stream: int
    result: Any
    code: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Ponged:
    """The server is alive."""


@dataclass(frozen=True, slots=True)
class SaidGoodbye:
    """The server ends the connection."""

    message: str


Event: TypeAlias = Received | Ended | Granted | Answered | Ponged | SaidGoodbye


@dataclass(slots=True)
class _State:
    credit: int = INITIAL_WINDOW  # what we may still send
    limit: int = INITIAL_WINDOW  # how much may be held
    held: int = 0  # received and not yet granted again
    consumed: int = 0  # the part of it that was read
    ended: bool = False


class ClientMux:
    """The client's half of an open connection. Raises FrameError when the server breaks a rule."""

    def __init__(self, decoder: FrameDecoder, seal: Seal):
        self._decoder = decoder
        self._seal = seal
        self._streams: dict[int, _State] = {}
        self._last = 0

    def feed(self, data: bytes) -> Iterator[Event]:
        """Take bytes of the server (b"" once after the hello: frames may wait in the decoder).

        What comes before a broken rule is told before the FrameError, in whatever pieces it arrived.
        """
        self._decoder.feed(data)
        return self._events()

    def _events(self) -> Iterator[Event]:
        while (frame := self._decoder.next()) is not None:
            yield from self._event(frame)

    @property
    def open_streams(self) -> int:
        return len(self._streams)

    def open(self, request: dict[str, Any]) -> tuple[int, bytes]:
        """Open a stream with its request; (number, bytes to send). FrameError when it is too long, UsageError
        for text that is not UTF-8."""
        try:
            payload = json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode()
        except UnicodeEncodeError:  # a lone surrogate: agentctl would read another character in its place
            hint = "rename it, or send it inside a tar: moorage cp - NAME:/path"
            raise UsageError("a name or path that is not UTF-8 cannot be sent", hint=hint) from None
        if len(payload) > MAX_PAYLOAD:
            raise FrameError("too_long", "a request (arguments and environment) of more than 64 KiB")
        self._last += 1
        self._streams[self._last] = _State()
        return self._last, self._encode(FrameType.OPEN, self._last, payload)

    def sendable(self, stream: int) -> int:
        """How many bytes beside the channel byte one DATA frame may carry now; 0: wait for Granted."""
        state = self._streams.get(stream)
        return 0 if state is None else max(0, min(MAX_CHUNK, state.credit - 1))

    def data(self, stream: int, channel: int, data: bytes | memoryview) -> bytes:
        """One DATA frame. At most ``sendable`` bytes, at least one."""
        state = self._streams[stream]
        assert 0 < len(data) <= self.sendable(stream), "the caller waits for the window"
        state.credit -= len(data) + 1
        return self._encode(FrameType.DATA, stream, b"".join((bytes((channel,)), data)))

    def grant(self, stream: int, length: int) -> bytes:
        """Note that a ``Received`` with ``length`` bytes of data was consumed; now and then there is a
        WINDOW to send for it."""
        state = self._streams.get(stream)
        if state is None:
            return b""
        state.consumed += length + 1
        if state.consumed < GRANT_SIZE:
            return b""
        granted, state.consumed = state.consumed, 0
        state.held -= granted
        return self._encode(FrameType.WINDOW, stream, struct.pack(">I", granted))

    def widen(self, stream: int) -> bytes:
        """Let the server send in bulk; to be sent once."""
        state = self._streams[stream]
        more, state.limit = BULK_WINDOW - state.limit, BULK_WINDOW
        return self._encode(FrameType.WINDOW, stream, struct.pack(">I", more)) if more else b""

    def end(self, stream: int) -> bytes:
        """No more DATA from us on this stream."""
        return self._encode(FrameType.END, stream, b"") if stream in self._streams else b""

    def reset(self, stream: int) -> bytes:
        """Give the stream up; what still comes on it is dropped."""
        if self._streams.pop(stream, None) is None:
            return b""
        return self._encode(FrameType.RESET, stream, b"")

    def ping(self) -> bytes:
        return self._encode(FrameType.PING, 0, bytes(8))

    def goodbye(self) -> bytes:
        return self._encode(FrameType.GOODBYE, 0, b"{}")

    def _encode(self, kind: FrameType, stream: int, payload: bytes) -> bytes:
        return encode(Frame(kind, stream, payload), self._seal)

    def _event(self, frame: Frame) -> list[Event]:
        if frame.type is FrameType.PONG:
            return [Ponged()]
        if frame.type is FrameType.GOODBYE:
            return [SaidGoodbye(str(_json(frame.payload).get("message", ""))[:200])]
        if frame.stream == 0 or frame.stream > self._last:
            raise FrameError("bad_stream", f"{frame.type.name} on stream {frame.stream}")
        state = self._streams.get(frame.stream)
        return [] if state is None else self._stream_event(frame, state)

    def _stream_event(self, frame: Frame, state: _State) -> list[Event]:
        stream, payload = frame.stream, frame.payload
        if frame.type is FrameType.DATA:
            return [self._received(stream, state, payload)]
        if frame.type is FrameType.WINDOW:
            state.credit += int.from_bytes(payload, "big")
            return [Granted(stream)]
        if frame.type is FrameType.END:
            state.ended = True
            return [Ended(stream)]
        if frame.type is FrameType.RESULT:
            del self._streams[stream]
            return [Answered(stream, _json(payload))]
        if frame.type is FrameType.ERROR:
            del self._streams[stream]
            said = _json(payload)
            code, message = str(said.get("code") or "internal"), str(said.get("message", ""))
            return [Answered(stream, None, code, message)]
        raise FrameError("unknown_type", f"{frame.type.name}, which a server never sends")

    def _received(self, stream: int, state: _State, payload: bytes) -> Received:
        if state.ended:
            raise FrameError("after_end", "data after the end of a stream")
        state.held += len(payload)
        if state.held > state.limit:
            raise FrameError("window", "more than the window allows")
        return Received(stream, payload[0], payload[1:])


def _json(payload: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(payload or b"{}")  # refuses surrogates, too deep nesting and NaN
    except (ValueError, RecursionError):
        raise FrameError("bad_json", "an answer that is no JSON") from None
    return value if isinstance(value, dict) else {}
