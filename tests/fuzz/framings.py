"""Targets for what a cluster's streams carry: exec (v5 and v4) and port-forward messages.

Each input is a row of binary messages of one stream, as ``target.messages`` cuts it; what we send is read
back as the server would.
"""

from __future__ import annotations

from moorage.core.wire import exec as wire_exec
from moorage.core.wire.exec import NO_STATUS, V4, V5, Ended, ExecProtocol, ExecProtocolError, Output
from moorage.core.wire.portforward import (
    ForwardProtocol,
    ForwardProtocolError,
    Opened,
    Received,
    Refused,
)
from tests.fuzz.target import Target, messages

PORT = 8765
LONGEST_REASON = 64 * 1024
"""Characters of a node's reason that are kept, however much of it is sent."""


def exec_v5(data: bytes) -> None:
    exec_stream(V5, data)


def exec_v4(data: bytes) -> None:
    exec_stream(V4, data)


def exec_stream(subprotocol: str, data: bytes) -> None:
    protocol = ExecProtocol(subprotocol)
    for message in messages(data):
        try:
            event = protocol.receive(message)
        except ExecProtocolError:
            break
        if isinstance(event, Output):
            assert bytes((event.channel,)) + event.data == message
        elif isinstance(event, Ended):
            assert protocol.ended == event
            assert event.exit_code is None or 0 <= event.exit_code < 2**31
            (event.reason + event.message).encode()
    assert protocol.ended is NO_STATUS or isinstance(protocol.ended, Ended)
    sent_is_what_arrives(list(protocol.stdin(data)), data, wire_exec.CHUNK)
    assert protocol.close_stdin() == (b"\xff\x00" if subprotocol == V5 else None)


def portforward(data: bytes) -> None:
    protocol = ForwardProtocol(PORT)
    opened = False
    for message in messages(data):
        try:
            event = protocol.receive(message)
        except ForwardProtocolError:
            break
        if isinstance(event, Opened):
            assert not opened
            opened = True
        elif isinstance(event, Received):
            assert b"\x00" + event.data == message
        elif isinstance(event, Refused):
            assert len(event.message) <= LONGEST_REASON
            event.message.encode()
    sent_is_what_arrives(list(protocol.send(data)), data, 128 * 1024)


def sent_is_what_arrives(sent: list[bytes], data: bytes, chunk: int) -> None:
    assert b"".join(message[1:] for message in sent) == data
    assert all(message[0] == 0 and 1 < len(message) <= chunk + 1 for message in sent)


EXEC_V5 = Target("exec-v5", exec_v5)
EXEC_V4 = Target("exec-v4", exec_v4)
PORTFORWARD = Target("portforward", portforward)
