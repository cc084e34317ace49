"""The way to agentctl: found out once, remembered, and looked for again when it no longer leads there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from moorage.core.errors import ApiError, ApiProblem, LinkError
from moorage.core.session import Session, change
from moorage.core.wire.frames import Frame, FrameType, encode
from moorage.engine import bootstrap, transports
from moorage.engine.bootstrap import Reached
from moorage.engine.link import open_link
from moorage.engine.link.streams import PrefixedStream
from moorage.engine.transports import Transports, setting
from moorage.ports.store import Store
from moorage.ports.streams import ByteStream, ExecChunk, ExecResult
from moorage.store import open_store
from tests.store.samples import a_session

NONCE = bytes(range(32))
GENUINE = b"what agentctl says"


class FakeStream:
    """A connection to whoever says ``said`` first; None is somebody who says nothing and stays."""

    def __init__(self, said: bytes | None) -> None:
        self._said = said
        self.closed = False

    async def read(self) -> bytes:
        if self._said is None:
            await asyncio.Event().wait()
        said, self._said = self._said or b"", b""
        return said

    async def write(self, data: bytes) -> None:
        """Nobody answers."""

    async def close(self) -> None:
        self.closed = True


class FakeExec(FakeStream):
    """The same through ``agentctl tunnel``."""

    async def read(self) -> Any:
        return ExecChunk(1, data) if (data := await super().read()) else None

    async def result(self) -> ExecResult:
        return ExecResult(exit_code=1)


class FakePod:
    """A Pod whose port leads to ``port`` and whose tunnel to ``tunnel``; an error is what the API answers."""

    def __init__(self, port: bytes | Exception | None, tunnel: bytes | Exception = GENUINE) -> None:
        self.ways = {"portforward": port, "exec": tunnel}
        self.asked: list[str] = []
        self.streams: list[FakeStream] = []

    async def port_forward(self, pod: str, port: int) -> FakeStream:
        return self._give("portforward", FakeStream)

    async def exec(self, pod: str, container: str, command: Any) -> FakeStream:
        return self._give("exec", FakeExec)

    def _give(self, way: str, kind: type[FakeStream]) -> FakeStream:
        self.asked.append(way)
        answer = self.ways[way]
        if isinstance(answer, Exception):
            raise answer
        self.streams.append(kind(answer))
        return self.streams[-1]


class Opened:
    """A link, as far as the way to it goes."""

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream

    async def close(self) -> None:
        await self.stream.close()


async def opening(stream: ByteStream) -> Opened:
    """Take agentctl for agentctl; for anybody else the real hello finds the words."""
    if (first := await stream.read()) != GENUINE:
        await (await open_link(PrefixedStream(first, stream), NONCE, fence=0, expect_pod_uid="u")).close()
    return Opened(stream)


class Ways:
    """Which transports lead to agentctl; what was tried."""

    def __init__(self, *open_ways: str) -> None:
        self.open = set(open_ways)
        self.tried: list[str] = []

    async def connect(
        self, cluster: Any, pod: str, container: str, opening: Any, transport: str
    ) -> Reached[Opened]:
        self.tried.append(transport)
        for way in ("portforward", "exec") if transport == "auto" else (transport,):
            if way in self.open:
                return Reached(Opened(FakeStream(b"")), way)
        raise LinkError(f"nobody answers over {transport}")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(tmp_path)
    yield opened
    await opened.close()


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Ways:
    ways = Ways("exec")
    monkeypatch.setattr(transports, "connect", ways.connect)
    return ways


def on_runtime(name: str) -> Session:
    session = a_session()
    snapshot = session.inventory.snapshot
    template = {"template": {"spec": {"runtimeClassName": name, "containers": []}}}
    inventory = change(session.inventory, snapshot=change(snapshot, template=template))
    return change(session, inventory=inventory)  # type: ignore[no-any-return]


async def used(store: Store, session: Session) -> str:
    """What a process that starts now uses."""
    return (await Transports(None, store).reach(session, opening))[1]  # type: ignore[arg-type]


async def test_exec_is_remembered_and_port_forward_not_tried_again(store: Store, ways: Ways) -> None:
    assert await used(store, a_session()) == "exec"
    assert await used(store, a_session("s00000000002")) == "exec"
    assert ways.tried == ["auto", "exec"]


async def test_a_remembered_exec_that_fails_gives_way_to_port_forward(store: Store, ways: Ways) -> None:
    await used(store, a_session())
    ways.open = {"portforward"}
    assert await used(store, a_session()) == "portforward"
    assert await store.get_setting(setting(a_session())) == "portforward"


async def test_where_nothing_leads_there_the_remembered_way_says_why_and_stays(
    store: Store, ways: Ways
) -> None:
    await used(store, a_session())
    ways.open = set()
    with pytest.raises(LinkError, match="nobody answers over exec"):
        await used(store, a_session())
    ways.open = {"portforward", "exec"}
    assert await used(store, a_session()) == "exec"


async def test_a_remembered_port_forward_gives_way_to_exec(store: Store, ways: Ways) -> None:
    ways.open = {"portforward", "exec"}
    assert await used(store, a_session()) == "portforward"
    ways.open = {"exec"}
    assert await used(store, a_session()) == "exec"


async def test_another_runtime_class_is_looked_at_for_itself(store: Store, ways: Ways) -> None:
    await used(store, on_runtime("gvisor"))
    ways.open = {"portforward", "exec"}
    assert await used(store, on_runtime("kata")) == "portforward"
    assert await used(store, on_runtime("gvisor")) == "exec"


@pytest.mark.parametrize("named", ["portforward", "exec"])
async def test_a_transport_that_a_person_named_is_used_and_not_remembered(
    store: Store, ways: Ways, named: str
) -> None:
    ways.open = {"portforward", "exec"}
    await store.put_setting(setting(a_session()), "exec" if named == "portforward" else "portforward")
    before = await store.get_setting(setting(a_session()))
    assert await used(store, change(a_session(), transport=named)) == named
    assert ways.tried == [named]
    assert await store.get_setting(setting(a_session())) == before


def banner(**said: Any) -> bytes:
    return encode(Frame(FrameType.BANNER, 0, json.dumps(said).encode()))


IMPOSTORS = {
    "garbage": b"\xff" * 64,
    "another protocol": b"SSH-2.0-OpenSSH_9.9\r\n",
    "no JSON": encode(Frame(FrameType.BANNER, 0, b"[]")),
    "a number too many": banner(link="moorage", min="x", max=1, random="ab" * 32, epoch="ab"),
    "another version": banner(link="moorage", min=90, max=99, random="ab" * 32, epoch="ab"),
    "a hello without an end": banner(link="moorage", min=1, max=1, random="ab" * 32, epoch="ab"),
    "a refusal": encode(Frame(FrameType.REFUSED, 0, b'{"code": "proof", "message": "no"}')),
    "half a frame": GENUINE[:3],
}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for who says nothing."""
    monkeypatch.setattr(bootstrap, "FORWARD_TIMEOUT", 0)


async def reached(pod: FakePod, store: Store, session: Session) -> str:
    opened, used = await Transports(pod, store).reach(session, opening)  # type: ignore[arg-type]
    assert [stream.closed for stream in pod.streams] == [True] * (len(pod.streams) - 1) + [False]
    await opened.close()
    return used


@pytest.mark.parametrize("impostor", IMPOSTORS.values(), ids=IMPOSTORS)
async def test_who_only_holds_the_port_does_not_keep_a_session_from_exec(
    store: Store, impostor: bytes
) -> None:
    pod = FakePod(impostor)
    assert await reached(pod, store, a_session()) == "exec"
    assert pod.asked == ["portforward", "exec"]
    # It is a matter of this Pod: others are reached by port-forward as before.
    assert await store.get_setting(setting(a_session())) == ""
    assert await reached(FakePod(GENUINE), store, a_session("s00000000002")) == "portforward"


@pytest.mark.usefixtures("short")
async def test_who_holds_the_port_and_says_nothing_is_not_waited_for(store: Store) -> None:
    pod = FakePod(None)
    assert await reached(pod, store, a_session()) == "exec"
    assert pod.asked == ["portforward", "exec"]


async def test_a_transport_named_stays_as_named_also_before_an_impostor(store: Store) -> None:
    pod = FakePod(IMPOSTORS["garbage"])
    with pytest.raises(LinkError):
        await reached(pod, store, change(a_session(), transport="portforward"))
    assert pod.asked == ["portforward"]
    assert pod.streams[0].closed


async def test_where_exec_is_denied_too_the_impostor_is_what_is_told(store: Store) -> None:
    denied = ApiError(ApiProblem("status", http_status=403))
    pod = FakePod(IMPOSTORS["another version"], denied)
    with pytest.raises(LinkError) as failed:
        await reached(pod, store, a_session())
    assert failed.value.details["code"] == "version"


async def test_a_denied_port_forward_is_remembered(store: Store) -> None:
    denied = ApiError(ApiProblem("status", http_status=403))
    assert await reached(FakePod(denied), store, a_session()) == "exec"
    assert await store.get_setting(setting(a_session())) == "exec"


async def test_agentctl_that_began_to_listen_meanwhile_is_found_by_port_forward(store: Store) -> None:
    pod = FakePod(b"")
    give, pod.ways["exec"] = pod._give, GENUINE

    def then_listens(way: str, kind: type[FakeStream]) -> FakeStream:
        given = give(way, kind)
        if way == "exec":
            pod.ways["portforward"] = GENUINE
        return given

    pod._give = then_listens  # type: ignore[method-assign]
    assert await reached(pod, store, a_session()) == "portforward"
    assert pod.asked == ["portforward", "exec", "portforward"]
