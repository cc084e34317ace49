"""Frames by the vectors that Go's tests read too: bytes in, frame or verdict out."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.wire.frames import Frame, FrameDecoder, FrameError, FrameType, Seal, encode

TESTDATA = Path(__file__).resolve().parents[3] / "agentctl" / "testdata"
FRAMES: list[dict[str, Any]] = json.loads((TESTDATA / "frames.json").read_text())
MALFORMED: list[dict[str, Any]] = json.loads((TESTDATA / "malformed.json").read_text())


def by_name(cases: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def seal(case: dict[str, Any]) -> Seal | None:
    if not case["key"]:
        return None
    made = Seal(bytes.fromhex(case["key"]))
    made._counter = case.get("counter", 0)
    return made


@by_name(FRAMES)
def test_a_frame_is_the_same_bytes_here_and_in_agentctl(case: dict[str, Any]) -> None:
    frame = Frame(FrameType(case["type"]), case["stream"], bytes.fromhex(case["payload"]))
    wire = bytes.fromhex(case["wire"])
    assert encode(frame, seal(case)) == wire
    decoder = FrameDecoder(seal=seal(case))
    decoder.feed(wire)
    assert decoder.next() == frame
    assert decoder.next() is None
    decoder.end()


@by_name(MALFORMED)
def test_a_malformed_frame_gets_its_verdict(case: dict[str, Any]) -> None:
    decoder = FrameDecoder(case["limit"], seal(case))
    decoder.feed(bytes.fromhex(case["wire"]))

    def read_all() -> None:
        while decoder.next() is not None:
            pass
        decoder.end()

    with pytest.raises(FrameError) as refusal:
        read_all()
    assert refusal.value.verdict == case["verdict"]


FRAME = st.builds(
    lambda stream, data: Frame(FrameType.DATA, stream, data),
    st.integers(1, 2**32 - 1),
    st.binary(min_size=1, max_size=300),
)


@given(st.lists(FRAME, max_size=8), st.lists(st.integers(1, 50)))
def test_frames_survive_any_cutting_of_the_stream(frames: list[Frame], cuts: list[int]) -> None:
    sender, decoder = Seal(b"k"), FrameDecoder(seal=Seal(b"k"))
    wire = b"".join(encode(frame, sender) for frame in frames)
    decoded = []
    while wire:
        cut = cuts.pop() if cuts else len(wire)
        decoder.feed(wire[:cut])
        wire = wire[cut:]
        while (frame := decoder.next()) is not None:
            decoded.append(frame)
    assert decoded == frames


@given(st.binary(max_size=200))
def test_any_bytes_are_frames_or_an_error_of_ours(data: bytes) -> None:
    decoder = FrameDecoder()
    decoder.feed(data)
    frames = []
    with contextlib.suppress(FrameError):
        while (frame := decoder.next()) is not None:
            frames.append(frame)
    again = b"".join(encode(frame) for frame in frames)
    assert data.startswith(again)
