"""The client's side of the hello: both ends prove that they hold the bootstrap nonce.

Used by ``engine.link``. Bytes in, bytes out; the random value is given. The nonce itself never goes on the
wire, and nothing that does can be used on another connection.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import struct
from dataclasses import dataclass
from typing import Any

import msgspec

from moorage.core.errors import LinkError
from moorage.core.wire.frames import MAX_HELLO_PAYLOAD, Frame, FrameDecoder, FrameType, Seal, encode
from moorage.core.wire.frames import MAX_PAYLOAD as MAX_SEALED_PAYLOAD

MIN_VERSION = 1
MAX_VERSION = 1
"""The protocol versions this release speaks: its own and that of the release before."""

_LABEL = b"moorage link hello\0"
_EPOCH = re.compile("[0-9a-f]{1,64}")


@dataclass(frozen=True, repr=False)
class Keys:
    """All secrets of one connection."""

    client_proof: bytes
    server_proof: bytes
    client_seal: bytes
    server_seal: bytes


@dataclass(frozen=True)
class Ready:
    """What the server said once both sides were proved."""

    pod_uid: str
    helper: str
    platform: str
    version: int
    fence: int
    epoch: str


def derive_keys(nonce: bytes, epoch: str, banner: bytes, hello: bytes) -> Keys:
    """Keys from the nonce, the epoch and both payloads as they went over the wire."""
    epoch_key = hmac.digest(nonce, b"moorage link epoch\0" + epoch.encode(), "sha256")
    framed = b"".join(struct.pack(">I", len(part)) + part for part in (banner, hello))
    transcript = hashlib.sha256(_LABEL + framed).digest()

    def key(purpose: bytes) -> bytes:
        return hmac.digest(epoch_key, purpose + b"\0" + transcript, "sha256")

    return Keys(key(b"client proof"), key(b"server proof"), key(b"client frames"), key(b"server frames"))


def negotiate(minimum: int, maximum: int) -> int:
    """The highest version that both ranges hold, or 0."""
    version = min(maximum, MAX_VERSION)
    return version if version >= max(minimum, MIN_VERSION) else 0


def refused(code: str, message: str, *, hint: str = "") -> LinkError:
    """A hello that failed; ``details['code']`` says how."""
    return LinkError(message, hint=hint, details={"code": code})


class ClientHello:
    """One hello as a state machine: ``receive`` bytes until ``ready`` is set.

    The server speaks first; the client then proves itself; only then does the server, so that nobody
    without the nonce learns anything but random numbers from either side.
    """

    def __init__(self, nonce: bytes, random: bytes, *, fence: int):
        self._nonce = nonce
        self._random = random
        self._fence = fence
        self._epoch = ""
        self._keys: Keys | None = None
        self.decoder = FrameDecoder(MAX_HELLO_PAYLOAD)
        """Hands the bytes behind the hello on to the connection: it is the one decoder of the stream."""
        self.seal: Seal | None = None
        self.ready: Ready | None = None

    def receive(self, data: bytes) -> bytes:
        """Take bytes of the server; returns what to send. Raises LinkError when the hello fails."""
        self.decoder.feed(data)
        out = b""
        while self.ready is None and (frame := self.decoder.next()) is not None:
            out += self._step(frame)
        return out

    def _step(self, frame: Frame) -> bytes:
        if frame.type is FrameType.REFUSED:
            raise self._server_refused(frame.payload)
        if self._keys is None:
            return self._answer_banner(_expect(frame, FrameType.BANNER))
        if self.decoder.seal is None:
            self._check_proof(_expect(frame, FrameType.PROOF), self._keys)
            return b""
        self.ready = self._read_ready(_expect(frame, FrameType.READY))
        self.decoder.limit = MAX_SEALED_PAYLOAD
        return b""

    def _answer_banner(self, banner: bytes) -> bytes:
        said = _object(banner)
        epoch, random = said.get("epoch"), said.get("random")
        if said.get("link") != "moorage" or not isinstance(epoch, str) or not isinstance(random, str):
            raise refused("malformed", "what answers on the link's port is not agentctl")
        if _EPOCH.fullmatch(epoch) is None:
            raise refused("malformed", "the epoch of the hello is no short hexadecimal number")
        if not negotiate(_number(said, "min"), _number(said, "max")):
            raise refused(
                "version",
                f"agentctl speaks link versions {said.get('min')} to {said.get('max')}, "
                f"this side {MIN_VERSION} to {MAX_VERSION}",
                hint="reset the session: it gets the helper of this release",
            )
        self._epoch = epoch
        body = {
            "min": MIN_VERSION,
            "max": MAX_VERSION,
            "random": self._random.hex(),
            "fence": self._fence,
        }
        hello = json.dumps(body, separators=(",", ":")).encode()
        keys = self._keys = derive_keys(self._nonce, epoch, banner, hello)
        return encode(Frame(FrameType.HELLO, 0, hello)) + encode(Frame(FrameType.PROOF, 0, keys.client_proof))

    def _check_proof(self, proof: bytes, keys: Keys) -> None:
        if not hmac.compare_digest(proof, keys.server_proof):
            raise refused("impostor", "what answers on the link's port does not hold this session's nonce")
        self.decoder.seal = Seal(keys.server_seal)
        self.seal = Seal(keys.client_seal)

    def _read_ready(self, payload: bytes) -> Ready:
        said = _object(payload)
        try:
            return Ready(
                pod_uid=str(said["pod_uid"]),
                helper=str(said["helper"]),
                platform=str(said["platform"]),
                version=_number(said, "version"),
                fence=_number(said, "fence"),
                epoch=self._epoch,
            )
        except KeyError as missing:
            raise refused("malformed", f"agentctl did not say its {missing}") from None

    def _server_refused(self, payload: bytes) -> LinkError:
        said = _object(payload)
        code, message = str(said.get("code", ""))[:40], str(said.get("message", ""))[:200]
        hint = "deliver the nonce again over pods/exec" if code == "unproved" else ""
        return refused(code or "refused", f"agentctl refused the connection: {message}", hint=hint)


def _expect(frame: Frame, kind: FrameType) -> bytes:
    if frame.type is not kind:
        raise refused("malformed", f"{frame.type.name} where {kind.name} belongs")
    return frame.payload


def _object(payload: bytes) -> dict[str, Any]:
    try:
        said = msgspec.json.decode(payload)  # refuses surrogates, too deep nesting and NaN
    except (ValueError, RecursionError):
        raise refused("malformed", "a hello that is no JSON") from None
    if not isinstance(said, dict):
        raise refused("malformed", "a hello that is no JSON object")
    return said


def _number(said: dict[str, Any], name: str) -> int:
    value = said.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise refused("malformed", f"{name} of the hello is no number")
    return value
