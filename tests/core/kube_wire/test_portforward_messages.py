"""Port-forward messages (v4, one port): bytes in, verdict out."""

from __future__ import annotations

import pytest

from moorage.core.wire.portforward import (
    CHUNK,
    ForwardProtocol,
    ForwardProtocolError,
    Opened,
    Received,
    Refused,
)

PORT = 8765
ANNOUNCED = PORT.to_bytes(2, "little")


def opened() -> ForwardProtocol:
    protocol = ForwardProtocol(PORT)
    assert protocol.receive(b"\x00" + ANNOUNCED) is None
    assert protocol.receive(b"\x01" + ANNOUNCED) == Opened()
    return protocol


def test_both_channels_announce_the_port_before_any_data() -> None:
    protocol = opened()
    assert protocol.receive(b"\x00hello") == Received(b"hello")


def test_data_that_looks_like_the_announcement_is_data_afterwards() -> None:
    protocol = opened()
    assert protocol.receive(b"\x00" + ANNOUNCED) == Received(ANNOUNCED)


def test_data_may_come_before_the_other_channel_is_announced() -> None:
    protocol = ForwardProtocol(PORT)
    protocol.receive(b"\x00" + ANNOUNCED)
    assert protocol.receive(b"\x00early") == Received(b"early")


def test_an_error_text_is_collected_over_messages() -> None:
    protocol = opened()
    assert protocol.receive(b"\x01connection ") == Refused("connection")
    assert protocol.receive(b"\x01refused\n") == Refused("connection refused")


@pytest.mark.parametrize(
    "message",
    [b"", b"\x02" + ANNOUNCED, b"\x00\x01\x00", b"\x00hello", b"\x00\x01"],
    ids=["empty", "another channel", "another port", "data at once", "half a port"],
)
def test_what_is_no_announcement_of_our_port_is_refused(message: bytes) -> None:
    with pytest.raises(ForwardProtocolError):
        ForwardProtocol(PORT).receive(message)


def test_sent_data_is_cut_into_small_messages() -> None:
    data = bytes(range(256)) * 300
    messages = list(opened().send(data))
    assert all(message[0] == 0 and len(message) <= CHUNK + 1 for message in messages)
    assert b"".join(message[1:] for message in messages) == data
