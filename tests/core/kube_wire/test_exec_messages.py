"""Exec messages as the API server and the CRI server send them: bytes in, verdict out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moorage.core.wire.exec import CHUNK, V4, V5, Ended, ExecProtocol, ExecProtocolError, Output


def status(**fields: Any) -> bytes:
    return b"\x03" + json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, **fields}).encode()


def exit_code(code: str) -> bytes:
    causes = [{"reason": "ExitCode", "message": code}]
    return status(status="Failure", reason="NonZeroExitCode", message="failed", details={"causes": causes})


MESSAGES: dict[str, tuple[bytes, Output | Ended | None]] = {
    "stdout": (b"\x01hello", Output(1, b"hello")),
    "stderr": (b"\x02oops", Output(2, b"oops")),
    "bytes of every kind": (b"\x01" + bytes(range(256)), Output(1, bytes(range(256)))),
    "the empty message that opens a channel": (b"\x01", None),
    "an empty status is none": (b"\x03", None),
    "success is 0": (status(status="Success"), Ended(0)),
    "an exit code": (exit_code("7"), Ended(7, "NonZeroExitCode", "failed")),
    "killed by a signal, as a shell says it": (exit_code("137"), Ended(137, "NonZeroExitCode", "failed")),
    "a code that is no number": (exit_code("x"), Ended(None, "NonZeroExitCode", "failed")),
    "a negative code": (exit_code("-1"), Ended(None, "NonZeroExitCode", "failed")),
    "a superscript is no digit": (exit_code("²"), Ended(None, "NonZeroExitCode", "failed")),
    "no causes": (status(status="Failure", reason="NonZeroExitCode"), Ended(None, "NonZeroExitCode")),
    "causes of another shape": (
        status(status="Failure", reason="NonZeroExitCode", details={"causes": "x"}),
        Ended(None, "NonZeroExitCode"),
    ),
    "it never started": (
        status(status="Failure", reason="InternalError", message="not found in $PATH"),
        Ended(None, "InternalError", "not found in $PATH"),
    ),
    "a failure without a reason": (status(status="Failure"), Ended(None, "Failure")),
    "a close from the server says nothing": (b"\xff\x01", None),
}


@pytest.mark.parametrize("version", [V5, V4])
@pytest.mark.parametrize(("message", "event"), MESSAGES.values(), ids=MESSAGES.keys())
def test_a_message_means_what_the_server_said(
    message: bytes, event: Output | Ended | None, version: str
) -> None:
    assert ExecProtocol(version).receive(message) == event


@pytest.mark.parametrize("message", [b"", b"\x07x", b"\x00x", b"\x03not json", b"\x03[1]"])
def test_a_message_of_no_known_kind_is_refused(message: bytes) -> None:
    with pytest.raises(ExecProtocolError):
        ExecProtocol(V5).receive(message)


def test_a_stream_without_a_status_never_counts_as_a_success() -> None:
    protocol = ExecProtocol(V5)
    protocol.receive(b"\x01all of the output")
    assert protocol.ended.exit_code is None
    assert protocol.ended.reason == "NoStatus"


def test_stdin_is_cut_into_small_messages_and_closed_with_exactly_two_bytes_on_v5() -> None:
    protocol = ExecProtocol(V5)
    data = bytes(range(256)) * 300
    messages = list(protocol.stdin(data))
    assert all(message[0] == 0 and len(message) <= CHUNK + 1 for message in messages)
    assert b"".join(message[1:] for message in messages) == data
    assert protocol.close_stdin() == b"\xff\x00"


def test_v4_has_no_half_close_and_says_so() -> None:
    protocol = ExecProtocol(V4)
    assert protocol.half_close is False
    assert protocol.close_stdin() is None


@pytest.mark.parametrize("chosen", ["", "channel.k8s.io", "v5.channel.k8s.io, v4.channel.k8s.io"])
def test_another_subprotocol_is_refused(chosen: str) -> None:
    with pytest.raises(ExecProtocolError):
        ExecProtocol(chosen)
