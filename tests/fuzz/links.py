"""Targets for the link's client side: frames, the hello, and the messages of an open connection.

What arrives is the same whatever pieces it came in, a decoder takes no byte beyond its frame, and what is
wrong is a LinkError with a stable verdict.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec

from moorage.core.errors import LinkError
from moorage.core.wire.frames import (
    HEADER,
    MAX_PAYLOAD,
    TAG_SIZE,
    Frame,
    FrameDecoder,
    FrameError,
    FrameType,
    Seal,
    encode,
)
from moorage.core.wire.hello import ClientHello, Ready, derive_keys
from moorage.core.wire.mux import INITIAL_WINDOW, MAX_CHUNK, Answered, ClientMux, Event, Received
from tests.fuzz.target import Target, messages, pieces

KEY = bytes(range(32))
NONCE = b"a nonce that is long enough for a test"
RANDOM = b"\x07" * 32
VERDICTS = {
    "unknown_type",
    "bad_stream",
    "too_long",
    "bad_length",
    "bad_tag",
    "truncated",
    "bad_json",
    "after_end",
    "window",
}


class Decoded(NamedTuple):
    frames: list[Frame]
    verdict: str


def frames(data: bytes) -> None:
    """The first byte says whether the frames are sealed; sealed or not, decoding and encoding agree."""
    sealed, wire = bool(data[:1] and data[0] & 1), data[1:]
    whole = decoded([wire], sealed)
    assert whole == decoded(pieces(wire), sealed)
    assert whole.verdict in {"", *VERDICTS}
    seal = Seal(KEY) if sealed else None
    again = b"".join(encode(frame, seal) for frame in whole.frames)
    assert wire.startswith(again)
    altered_frames_are_refused(whole.frames, wire)


def decoded(parts: list[bytes], sealed: bool) -> Decoded:
    decoder = FrameDecoder(seal=Seal(KEY) if sealed else None)
    found: list[Frame] = []
    try:
        for part in parts:
            decoder.feed(part)
            while (frame := decoder.next()) is not None:
                found.append(frame)
                assert len(frame.payload) <= MAX_PAYLOAD
            assert len(decoder._buffer) <= HEADER.size + MAX_PAYLOAD + TAG_SIZE
        decoder.end()
    except FrameError as error:
        return Decoded(found, error.verdict)
    return Decoded(found, "")


def altered_frames_are_refused(whole: list[Frame], chosen: bytes) -> None:
    """Frames under a seal with one bit changed, at a place the input chooses, never come out as sent."""
    seal = Seal(KEY)
    wire = bytearray(b"".join(encode(frame, seal) for frame in whole))
    if not wire:
        return
    place = int.from_bytes(chosen[-4:], "big") % (8 * len(wire))
    wire[place // 8] ^= 1 << place % 8
    got = decoded([bytes(wire)], sealed=True)
    assert got.verdict
    assert got.frames == whole[: len(got.frames)]


def hello(data: bytes) -> None:
    """Messages: how it is answered (r: what follows is the wire itself), the banner, the proof (empty: the
    right one), ready, and what comes behind it."""
    said = [*messages(data), *[b""] * 5]
    how, banner, proof, ready, rest = said[0], said[1][:60000], said[2], said[3][:60000], b"".join(said[4:])
    raw = how[:1] == b"r"
    wire = b"".join(said[1:]) if raw else server_words(banner, proof, ready, rest)
    greeting = greeted([wire])
    assert greeting == greeted(pieces(wire))
    if proof and not raw:  # 32 bytes that nobody without the nonce can know
        assert not isinstance(greeting, Ready)


def server_words(banner: bytes, proof: bytes, ready: bytes, rest: bytes) -> bytes:
    keys = derive_keys(NONCE, epoch_of(banner), banner, hello_to(banner))
    seal = Seal(keys.server_seal)
    return b"".join(
        (
            encode(Frame(FrameType.BANNER, 0, banner)),
            encode(Frame(FrameType.PROOF, 0, proof or keys.server_proof)),
            encode(Frame(FrameType.READY, 0, ready), seal),
            rest,
        )
    )


def hello_to(banner: bytes) -> bytes:
    """The payload with which a client answers; empty when it does not."""
    sent = answer_to(banner)
    return sent[HEADER.size : HEADER.size + HEADER.unpack_from(sent)[2]] if sent else b""


def answer_to(banner: bytes) -> bytes:
    try:
        return ClientHello(NONCE, RANDOM, fence=3).receive(encode(Frame(FrameType.BANNER, 0, banner)))
    except LinkError:
        return b""


def epoch_of(banner: bytes) -> str:
    return str(msgspec.json.decode(banner)["epoch"]) if answer_to(banner) else ""


def greeted(parts: list[bytes]) -> Ready | str:
    """What the client made of it; a code or verdict where it broke off."""
    client = ClientHello(NONCE, RANDOM, fence=3)
    sent = b""
    try:
        for part in parts:
            sent += client.receive(part)
    except LinkError as error:
        said = error.message + error.hint
        said.encode()
        assert len(said) <= 1000
        assert NONCE.decode() not in said
        assert client.ready is None
        return str(error.details.get("code") or error.details["verdict"])
    assert NONCE not in sent
    return client.ready or ""


def link_messages(data: bytes) -> None:
    """The first byte says how many streams are open; the rest is what the server sends on them."""
    streams, wire = (data[0] % 4 if data else 0), data[1:]
    whole = heard([wire], streams)
    assert whole == heard(pieces(wire), streams)
    events, verdict = whole
    held: Counter[int] = Counter()
    over: set[int] = set()
    for event in events:
        stream = getattr(event, "stream", 0)
        assert 0 <= stream <= streams
        assert stream == 0 or stream not in over
        if isinstance(event, Received):
            held[stream] += len(event.data) + 1
        if isinstance(event, Answered):
            over.add(stream)
            (event.code + event.message).encode()
    assert all(size <= INITIAL_WINDOW for size in held.values())
    assert verdict == "" or verdict in VERDICTS


def heard(parts: list[bytes], streams: int) -> tuple[list[Event], str]:
    mux = ClientMux(FrameDecoder(), Seal(KEY))
    for _ in range(streams):
        mux.open({"op": "status"})
    events: list[Event] = []
    for part in one_frame_each(parts):
        try:
            events += mux.feed(part)
        except FrameError as error:
            return events, error.verdict
        for number in range(1, streams + 1):
            assert 0 <= mux.sendable(number) <= MAX_CHUNK
    return events, ""


def one_frame_each(parts: list[bytes]) -> list[bytes]:
    """Each byte string so cut that at most one frame ends in it: events before a fault are then all told."""
    cut: list[bytes] = []
    for part in parts:
        cut += [part[start : start + HEADER.size] for start in range(0, len(part), HEADER.size)]
    return cut


def vectors() -> list[bytes]:
    """The frames that Python and Go agree on, and those that both refuse."""
    folder = Path(__file__).parents[2] / "agentctl" / "testdata"
    texts = [(folder / f"{name}.json").read_text() for name in ("frames", "malformed")]
    cases = [case for text in texts for case in json.loads(text)]
    return [bytes((bool(case["key"]),)) + bytes.fromhex(case["wire"]) for case in cases]


FRAMES = Target("frames", frames, others=vectors)
HELLO = Target("hello", hello)
LINK = Target("link", link_messages)
