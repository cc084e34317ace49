"""Frames of the link: encoding, decoding and the tags that authenticate them.

Used by ``core.wire.hello`` and ``core.wire.mux``; the format stands in docs/link-protocol.md and the vectors
shared with Go in agentctl/testdata. Does no I/O and keeps no more than one frame that is still coming in.
"""

from __future__ import annotations

import hmac
import struct
from dataclasses import dataclass
from enum import IntEnum

from moorage.core.errors import LinkError

HEADER = struct.Struct(">BII")
"""Type, stream, payload length; 9 bytes."""
TAG_SIZE = 16
MAX_PAYLOAD = 64 << 10
MAX_HELLO_PAYLOAD = 1 << 10
PROOF_SIZE = 32


class FrameType(IntEnum):
    """What a frame means. Below 16: the hello; above: an open connection."""

    BANNER = 1
    HELLO = 2
    PROOF = 3
    READY = 4
    REFUSED = 5
    OPEN = 16
    DATA = 17
    WINDOW = 18
    END = 19
    RESULT = 20
    ERROR = 21
    RESET = 22
    PING = 23
    PONG = 24
    GOODBYE = 25


_ON_STREAM = {
    FrameType.OPEN,
    FrameType.DATA,
    FrameType.WINDOW,
    FrameType.END,
    FrameType.RESULT,
    FrameType.ERROR,
    FrameType.RESET,
}
_EXACT = {
    FrameType.PROOF: PROOF_SIZE,
    FrameType.PING: 8,
    FrameType.PONG: 8,
    FrameType.WINDOW: 4,
    FrameType.END: 0,
    FrameType.RESET: 0,
}


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame. ``stream`` is 0 for what concerns the whole connection."""

    type: FrameType
    stream: int
    payload: bytes


class FrameError(LinkError):
    """The other side broke the format. ``verdict`` is stable: the shared vectors name it."""

    def __init__(self, verdict: str, message: str):
        super().__init__(message, details={"verdict": verdict})
        self.verdict = verdict


class Seal:
    """Tags for the frames of one direction: HMAC-SHA256 over a counter, the header and the payload."""

    def __init__(self, key: bytes):
        self._mac = hmac.new(key, digestmod="sha256")
        self._counter = 0

    def tag(self, header: bytes, payload: bytes) -> bytes:
        """The tag of the next frame; each call counts."""
        mac = self._mac.copy()
        mac.update(struct.pack(">Q", self._counter) + header)
        mac.update(payload)  # by itself: a payload is not copied for its tag
        self._counter += 1
        return mac.digest()[:TAG_SIZE]


def encode(frame: Frame, seal: Seal | None = None) -> bytes:
    """The bytes of one frame; without a seal (the hello) it has no tag."""
    header = HEADER.pack(frame.type, frame.stream, len(frame.payload))
    tag = b"" if seal is None else seal.tag(header, frame.payload)
    return b"".join((header, frame.payload, tag))


class FrameDecoder:
    """Bytes in, frames out. The limit is applied to a header before any of its payload is kept."""

    def __init__(self, limit: int = MAX_PAYLOAD, seal: Seal | None = None):
        self.limit = limit
        self.seal = seal
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Take what arrived, in pieces of any size."""
        self._buffer += data

    def next(self) -> Frame | None:
        """The next whole frame, None until more bytes come. Raises FrameError."""
        if len(self._buffer) < HEADER.size:
            return None
        number, stream, length = HEADER.unpack_from(self._buffer)
        kind = check_shape(number, stream, length, self.limit)
        body = HEADER.size + length
        size = body + (TAG_SIZE if self.seal is not None else 0)
        if len(self._buffer) < size:
            return None
        with memoryview(self._buffer) as view:
            header, payload = bytes(view[: HEADER.size]), bytes(view[HEADER.size : body])
            tag = bytes(view[body:size])
        del self._buffer[:size]
        if self.seal is not None:
            expected = self.seal.tag(header, payload)
            if not hmac.compare_digest(expected, tag):
                raise FrameError("bad_tag", "a frame was altered, dropped or inserted on its way")
        return Frame(kind, stream, payload)

    def end(self) -> None:
        """The stream ended. FrameError when that cuts a frame off."""
        if self._buffer:
            raise FrameError("truncated", "the stream ended inside a frame")


def check_shape(number: int, stream: int, length: int, limit: int) -> FrameType:
    """Judge a header by itself. Raises FrameError."""
    try:
        kind = FrameType(number)
    except ValueError:
        raise FrameError("unknown_type", f"frame type {number}") from None
    if (kind in _ON_STREAM) != (stream != 0):
        raise FrameError("bad_stream", f"{kind.name} on stream {stream}")
    if length > limit:
        raise FrameError("too_long", f"a payload of {length} bytes, at most {limit}")
    exact = _EXACT.get(kind, length)
    if length != exact or (kind is FrameType.DATA and length == 0):
        raise FrameError("bad_length", f"{kind.name} with {length} bytes")
    return kind
