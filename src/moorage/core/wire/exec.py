"""The messages of ``pods/exec`` over WebSocket, v5 and v4: bytes in, events out.

Called by ``kube.exec``, which owns the connection. Never reads, waits or decides about time.

Each binary message is one channel byte and its payload: 0 stdin, 1 stdout, 2 stderr, 3 the final
``Status`` as JSON, 255 (v5 only) closes a channel. Source: the API server's stream translator (v5) and
the CRI streaming server's ``remotecommand`` package (v4).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

V5 = "v5.channel.k8s.io"
V4 = "v4.channel.k8s.io"
SUBPROTOCOLS = (V5, V4)
"""In order of preference. A server that knows v5 never falls back to v4 when both are offered."""

CHUNK = 128 * 1024
"""Payload bytes in one stdin message; servers take 32 MiB. A message costs every hop the same, whatever it
carries."""

_STDIN, _STATUS, _CLOSE = 0, 3, 255
_CODE = re.compile("[0-9]{1,10}")
_LARGEST_CODE = 2**31 - 1  # an int32 in the CRI


class ExecProtocolError(Exception):
    """The other side sent something that is no exec message."""


@dataclass(frozen=True)
class Output:
    """Bytes the process wrote; ``channel`` is 1 (stdout) or 2 (stderr)."""

    channel: int
    data: bytes


@dataclass(frozen=True)
class Ended:
    """What channel 3 said. ``exit_code`` is None when the Status names none (e.g. it never started)."""

    exit_code: int | None
    reason: str = ""
    message: str = ""


ExecEvent: TypeAlias = Output | Ended

NO_STATUS = Ended(None, "NoStatus", "the stream ended without a status: how the command ended is unknown")
"""A stream that closes without a Status is never a success (client-go treats it as one; we do not)."""
BROKEN = "Broken"
"""The reason of a command whose connection broke before its Status came."""
UNTOLD = (NO_STATUS.reason, BROKEN)
"""Reasons with which nobody told how a command ended, or whether it ever ran."""


class ExecProtocol:
    """One exec stream. ``subprotocol`` is what the server chose."""

    def __init__(self, subprotocol: str) -> None:
        if subprotocol not in SUBPROTOCOLS:
            raise ExecProtocolError(f"the server chose {subprotocol or 'no subprotocol'!r} for exec")
        self.half_close = subprotocol == V5
        """Whether stdin can be closed alone. v4 cannot: there the input must carry its own length."""
        self._ended: Ended | None = None

    @property
    def ended(self) -> Ended:
        """The final status so far: ``NO_STATUS`` until channel 3 has spoken."""
        return self._ended or NO_STATUS

    def receive(self, message: bytes) -> ExecEvent | None:
        """Read one binary message; None for the empty messages servers send to open a channel."""
        if not message:
            raise ExecProtocolError("an empty message without a channel")
        channel, data = message[0], message[1:]
        if channel in (1, 2):
            return Output(channel, data) if data else None
        if channel == _STATUS:
            return self._status(data)
        if channel == _CLOSE:
            return None
        raise ExecProtocolError(f"a message on unknown channel {channel}")

    def stdin(self, data: bytes) -> Iterator[bytes]:
        """The messages that carry ``data`` to the process."""
        view = memoryview(data)
        for start in range(0, len(view), CHUNK):
            yield b"\x00" + view[start : start + CHUNK]

    def close_stdin(self) -> bytes | None:
        """The message that half-closes stdin: exactly two bytes on v5; None on v4, which has none."""
        return bytes((_CLOSE, _STDIN)) if self.half_close else None

    def _status(self, data: bytes) -> Ended | None:
        if not data:
            return None
        try:
            status = msgspec.json.decode(data, type=dict[str, Any])
        except (ValueError, RecursionError) as error:
            raise ExecProtocolError(f"channel 3 carried no Status: {error}") from error
        self._ended = _read_status(status)
        return self._ended


def _read_status(status: dict[str, Any]) -> Ended:
    """``Success`` is 0; ``NonZeroExitCode`` names the code in its causes; all else is unknown."""
    reason, message = str(status.get("reason") or ""), str(status.get("message") or "")
    if status.get("status") == "Success":
        return Ended(0, reason, message)
    if reason == "NonZeroExitCode":
        details = status.get("details")
        causes = details.get("causes") if isinstance(details, dict) else None
        for cause in causes if isinstance(causes, list) else ():
            if not isinstance(cause, dict):
                continue
            said = str(cause.get("message", ""))
            if cause.get("reason") == "ExitCode" and _CODE.fullmatch(said) and int(said) <= _LARGEST_CODE:
                return Ended(int(said), reason, message)
    return Ended(None, reason or "Failure", message)
