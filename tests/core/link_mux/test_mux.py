"""Streams and windows: frames of the server in, events or a breach out."""

from __future__ import annotations

import struct

import pytest

from moorage.core.errors import UsageError
from moorage.core.wire.frames import Frame, FrameDecoder, FrameError, FrameType, Seal, encode
from moorage.core.wire.mux import (
    BULK_WINDOW,
    INITIAL_WINDOW,
    MAX_CHUNK,
    Answered,
    ClientMux,
    Ended,
    Granted,
    Ponged,
    Received,
    SaidGoodbye,
)


class Server:
    """The other end: encodes frames for the mux and reads what it sent."""

    def __init__(self) -> None:
        self.mux = ClientMux(FrameDecoder(seal=Seal(b"server")), Seal(b"client"))
        self._out = Seal(b"server")
        self._in = FrameDecoder(seal=Seal(b"client"))

    def says(self, kind: FrameType, stream: int, payload: bytes = b"") -> list[object]:
        return list(self.mux.feed(encode(Frame(kind, stream, payload), self._out)))

    def hears(self, data: bytes) -> Frame | None:
        self._in.feed(data)
        return self._in.next()


@pytest.fixture
def server() -> Server:
    made = Server()
    number, opening = made.mux.open({"op": "x"})
    assert number == 1
    assert made.hears(opening) == Frame(FrameType.OPEN, 1, b'{"op":"x"}')
    return made


EVENTS: dict[str, tuple[FrameType, int, bytes, object]] = {
    "data": (FrameType.DATA, 1, b"\x02abc", Received(1, 2, b"abc")),
    "an end": (FrameType.END, 1, b"", Ended(1)),
    "a window": (FrameType.WINDOW, 1, struct.pack(">I", 5), Granted(1)),
    "a result": (FrameType.RESULT, 1, b'{"a":1}', Answered(1, {"a": 1})),
    "a failure": (FrameType.ERROR, 1, b'{"code":"c","message":"m"}', Answered(1, None, "c", "m")),
    "a failure without a code": (FrameType.ERROR, 1, b"{}", Answered(1, None, "internal", "")),
    "a pong": (FrameType.PONG, 0, bytes(8), Ponged()),
    "a goodbye": (FrameType.GOODBYE, 0, b'{"message":"m"}', SaidGoodbye("m")),
}


@pytest.mark.parametrize("name", EVENTS)
def test_what_a_frame_of_the_server_means(server: Server, name: str) -> None:
    kind, stream, payload, event = EVENTS[name]
    assert server.says(kind, stream, payload) == [event]


BREACHES: dict[str, tuple[list[tuple[FrameType, int, bytes]], str]] = {
    "a stream nobody opened": ([(FrameType.DATA, 2, b"\1x")], "bad_stream"),
    "data after the end": ([(FrameType.END, 1, b""), (FrameType.DATA, 1, b"\1x")], "after_end"),
    "an open": ([(FrameType.OPEN, 1, b"{}")], "unknown_type"),
    "a reset": ([(FrameType.RESET, 1, b"")], "unknown_type"),
    "an answer that is no JSON": ([(FrameType.RESULT, 1, b"{")], "bad_json"),
    "an answer nested too deep": ([(FrameType.RESULT, 1, b"[" * 5000)], "bad_json"),
    "an answer of half a character": ([(FrameType.RESULT, 1, b'{"a":"\\ud800."}')], "bad_json"),
    "more than the window": (
        [(FrameType.DATA, 1, bytes(MAX_CHUNK + 1))] * (INITIAL_WINDOW // (MAX_CHUNK + 1) + 1),
        "window",
    ),
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_server_that_breaks_a_rule_ends_the_link(server: Server, name: str) -> None:
    frames, verdict = BREACHES[name]
    for kind, stream, payload in frames[:-1]:
        server.says(kind, stream, payload)
    with pytest.raises(FrameError) as breach:
        server.says(*frames[-1])
    assert breach.value.verdict == verdict


def test_consumed_data_is_granted_back_so_that_a_stream_never_stops(server: Server) -> None:
    credit, received = INITIAL_WINDOW, 0
    for _ in range(3 * INITIAL_WINDOW // MAX_CHUNK):
        (event,) = server.says(FrameType.DATA, 1, b"\1" + bytes(MAX_CHUNK))
        assert isinstance(event, Received)
        received += MAX_CHUNK + 1
        credit -= MAX_CHUNK + 1
        grant = server.hears(server.mux.grant(1, len(event.data)))
        credit += int.from_bytes(grant.payload, "big") if grant is not None else 0
        assert credit >= INITIAL_WINDOW // 2
    assert received > INITIAL_WINDOW


def test_a_widened_stream_takes_so_much_and_no_more(server: Server) -> None:
    granted = server.hears(server.mux.widen(1))
    assert granted == Frame(FrameType.WINDOW, 1, struct.pack(">I", BULK_WINDOW - INITIAL_WINDOW))
    assert server.mux.widen(1) == b""
    for _ in range(BULK_WINDOW // (MAX_CHUNK + 1)):
        server.says(FrameType.DATA, 1, bytes(MAX_CHUNK + 1))
    with pytest.raises(FrameError) as breach:
        server.says(FrameType.DATA, 1, bytes(MAX_CHUNK + 1))
    assert breach.value.verdict == "window"


def test_sending_stops_at_the_window_and_goes_on_after_a_grant(server: Server) -> None:
    sent = 0
    while size := server.mux.sendable(1):
        frame = server.hears(server.mux.data(1, 1, bytes(size)))
        assert frame is not None
        sent += len(frame.payload)
    assert INITIAL_WINDOW - 1 <= sent <= INITIAL_WINDOW
    server.says(FrameType.WINDOW, 1, struct.pack(">I", 100))
    assert 99 <= server.mux.sendable(1) <= 100


def test_a_stream_that_was_given_up_is_silent(server: Server) -> None:
    assert server.hears(server.mux.reset(1)) == Frame(FrameType.RESET, 1, b"")
    assert server.says(FrameType.DATA, 1, b"\1late") == []
    assert server.mux.reset(1) == b""
    assert server.mux.end(1) == b""
    assert server.mux.open_streams == 0


def test_a_request_too_large_for_a_frame_is_refused_here(server: Server) -> None:
    with pytest.raises(FrameError, match="64 KiB"):
        server.mux.open({"op": "x" * 70_000})
    assert server.mux.open({"op": "y"})[0] == 2


def test_a_name_that_agentctl_would_read_as_another_is_not_sent(server: Server) -> None:
    with pytest.raises(UsageError, match="not UTF-8"):
        server.mux.open({"op": "put_tar", "path": "/workspace/x\udcff"})


def test_what_came_before_a_broken_rule_is_told(server: Server) -> None:
    seal = Seal(b"server")
    rows = [(FrameType.RESULT, b'{"a":1}'), (FrameType.HELLO, b"")]
    wire = b"".join(
        encode(Frame(kind, int(kind is FrameType.RESULT), payload), seal) for kind, payload in rows
    )
    events = server.mux.feed(wire)
    assert next(events) == Answered(1, {"a": 1})
    with pytest.raises(FrameError):
        next(events)
