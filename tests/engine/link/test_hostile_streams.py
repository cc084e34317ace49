"""A hostile agentctl at the other end of a stream: what it sends without end is cut, and what it invents
about its output is not believed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

import pytest

from moorage.core.errors import LinkError
from moorage.core.wire.mux import BYTES, MESSAGE
from moorage.engine.link.client import AgentLink
from moorage.engine.link.connection import LinkConnection
from moorage.ports.link import Gap, HelloInfo, Output

Part = tuple[int, bytes]
STATUS = {"state": "running", "pid": 7, "started_at": 5, "exit": None, "oldest": 0, "start_id": "a"}


class Stream:
    """One answered request."""

    def __init__(self, parts: Iterator[Part], result: dict[str, Any]) -> None:
        self.parts = parts
        self.said = result
        self.closed = False

    async def receive(self) -> Part | None:
        return next(self.parts, None)

    async def result(self) -> dict[str, Any]:
        return self.said

    def reset(self) -> None:
        self.closed = True


class Hostile:
    """A connection on which ``parts`` come for whatever is asked, and whose agent wrote ``end`` bytes."""

    def __init__(self, parts: Iterable[Part], end: int = 0) -> None:
        self.parts = iter(parts)
        self.end = end
        self.streams: list[Stream] = []

    async def open(self, request: dict[str, Any], *, bulk: bool = False) -> Stream:
        status = request["op"] == "status"
        self.streams.append(Stream(iter(()) if status else self.parts, {**STATUS, "end": self.end}))
        return self.streams[-1]

    def link(self) -> AgentLink:
        return AgentLink(cast(LinkConnection, self), HelloInfo("pod-1", "epoch-1", 1, "test", "linux/amd64"))


def message(value: object) -> Part:
    return MESSAGE, json.dumps(value).encode()


ENTRY = {"path": "/workspace/a", "kind": "file", "size": 1, "mode": 420, "mtime": 1.5}


async def test_a_listing_of_as_many_entries_as_were_asked_for_is_taken() -> None:
    connection = Hostile([message([ENTRY] * 2), message([ENTRY])])
    assert len(await connection.link().list_files("/workspace", limit=3)) == 3


@pytest.mark.parametrize(
    "part", [message([ENTRY]), message([]), (BYTES, b"x")], ids=["entries", "nothing", "bytes"]
)
async def test_a_listing_without_end_is_cut_at_the_limit(part: Part) -> None:
    connection = Hostile(itertools.repeat(part))
    with pytest.raises(LinkError, match="protocol does not allow"):
        await connection.link().list_files("/workspace", limit=3)
    assert connection.streams[0].closed


async def test_places_that_the_agent_has_reached_are_taken() -> None:
    marks = [message({"offset": 5}), message({"offset": 5, "gap": 95}), (BYTES, b"abc")]
    read = [part async for part in Hostile(marks, end=103).link().output(5)]
    assert read == [Gap(5, 95), Output(100, b"abc")]


@pytest.mark.parametrize(
    "mark", [{"offset": 104}, {"offset": 5, "gap": 99}, {"offset": 1 << 62, "gap": 1 << 62}]
)
async def test_a_place_beyond_all_that_the_agent_wrote_is_refused(mark: dict[str, int]) -> None:
    with pytest.raises(LinkError, match="protocol does not allow"):
        [part async for part in Hostile([message(mark)], end=103).link().output(5)]
