"""The client's hello by the vectors that Go's tests read too, and against servers that are none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moorage.core.errors import LinkError
from moorage.core.wire.frames import Frame, FrameDecoder, FrameType, Seal, encode
from moorage.core.wire.hello import ClientHello, derive_keys, negotiate

VECTORS = json.loads(
    (Path(__file__).resolve().parents[3] / "agentctl" / "testdata" / "hello.json").read_text()
)
NONCE = b"n" * 32
EPOCH = "e" * 32


@pytest.mark.parametrize("case", VECTORS["keys"], ids=[case["name"] for case in VECTORS["keys"]])
def test_keys_are_the_same_here_and_in_agentctl(case: dict[str, Any]) -> None:
    keys = derive_keys(
        bytes.fromhex(case["nonce"]), case["epoch"], case["banner"].encode(), case["hello"].encode()
    )
    names = ("client_proof", "server_proof", "client_seal", "server_seal")
    assert {name: getattr(keys, name).hex() for name in names} == {name: case[name] for name in names}


def test_no_two_keys_of_the_vectors_are_alike() -> None:
    names = ("client_proof", "server_proof", "client_seal", "server_seal")
    keys = [case[name] for case in VECTORS["keys"] for name in names]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("case", VECTORS["negotiation"], ids=str)
def test_the_highest_common_version_is_taken(case: dict[str, int]) -> None:
    assert negotiate(case["min"], case["max"]) == case["version"]


def banner(**changes: Any) -> bytes:
    said = {"link": "moorage", "min": 1, "max": 1, "random": "ab" * 32, "epoch": EPOCH, **changes}
    return json.dumps(said).encode()


def served(
    nonce: bytes = NONCE, ready: bytes = b"", proof: Callable[[Any], bytes] = lambda keys: keys.server_proof
) -> ClientHello:
    """A hello answered by a server that holds ``nonce``."""
    client = ClientHello(NONCE, b"r" * 32, fence=5)
    said = client.receive(encode(Frame(FrameType.BANNER, 0, banner())))
    decoder = FrameDecoder()
    decoder.feed(said)
    hello, shown = decoder.next(), decoder.next()
    assert hello is not None
    assert shown is not None
    assert json.loads(hello.payload)["fence"] == 5
    keys = derive_keys(nonce, EPOCH, banner(), hello.payload)
    if nonce == NONCE:
        assert shown.payload == keys.client_proof
    ready = (
        ready
        or json.dumps(
            {"pod_uid": "u", "helper": "1", "platform": "linux/amd64", "version": 1, "fence": 9}
        ).encode()
    )
    answer = encode(Frame(FrameType.PROOF, 0, proof(keys)))
    answer += encode(Frame(FrameType.READY, 0, ready), Seal(keys.server_seal))
    for number in range(len(answer)):
        assert client.receive(answer[number : number + 1]) == b""
    return client


def test_both_sides_proved_open_the_connection() -> None:
    client = served()
    assert client.ready is not None
    assert (client.ready.pod_uid, client.ready.fence, client.ready.epoch) == ("u", 9, EPOCH)


IMPOSTORS: dict[str, Callable[[Any], bytes]] = {
    "one that guesses": lambda keys: bytes(32),
    "one that reflects the client's proof": lambda keys: bytes(keys.client_proof),
}


@pytest.mark.parametrize("name", IMPOSTORS)
def test_an_impostor_is_found_out(name: str) -> None:
    with pytest.raises(LinkError) as refusal:
        served(proof=IMPOSTORS[name])
    assert refusal.value.details["code"] == "impostor"


def test_a_server_with_another_nonce_is_an_impostor() -> None:
    with pytest.raises(LinkError) as refusal:
        served(nonce=b"m" * 32)
    assert refusal.value.details["code"] == "impostor"


REFUSED: dict[str, tuple[bytes, str]] = {
    "another protocol": (encode(Frame(FrameType.BANNER, 0, b'{"hello":1}')), "malformed"),
    "no JSON": (encode(Frame(FrameType.BANNER, 0, b"\xff")), "malformed"),
    "a list": (encode(Frame(FrameType.BANNER, 0, b"[]")), "malformed"),
    "nested too deep": (encode(Frame(FrameType.BANNER, 0, b"[" * 1020)), "malformed"),
    "an epoch that is no text": (encode(Frame(FrameType.BANNER, 0, banner(epoch="\ud800"))), "malformed"),
    "an epoch that is no number": (encode(Frame(FrameType.BANNER, 0, banner(epoch="é"))), "malformed"),
    "an epoch without end": (encode(Frame(FrameType.BANNER, 0, banner(epoch="e" * 65))), "malformed"),
    "a version that is no number": (encode(Frame(FrameType.BANNER, 0, banner(min="1"))), "malformed"),
    "only newer versions": (encode(Frame(FrameType.BANNER, 0, banner(min=7, max=9))), "version"),
    "a proof first": (encode(Frame(FrameType.PROOF, 0, bytes(32))), "malformed"),
    "a refusal": (encode(Frame(FrameType.REFUSED, 0, b'{"code":"unproved","message":"m"}')), "unproved"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_agentctl_gets_no_proof(name: str) -> None:
    wire, code = REFUSED[name]
    client = ClientHello(NONCE, b"r" * 32, fence=0)
    with pytest.raises(LinkError) as refusal:
        client.receive(wire)
    assert refusal.value.details["code"] == code


def test_the_nonce_is_in_nothing_that_is_sent_or_shown() -> None:
    client = ClientHello(NONCE, b"r" * 32, fence=0)
    sent = client.receive(encode(Frame(FrameType.BANNER, 0, banner())))
    assert NONCE not in sent
    assert NONCE.hex().encode() not in sent
    assert "nnnn" not in repr(client)
    assert "client_proof" not in repr(derive_keys(NONCE, EPOCH, b"", b""))
