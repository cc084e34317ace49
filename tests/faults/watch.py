"""WATCH: streams that end, fall silent, forget, repeat or tell old news."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable

from moorage.core.kinds import Json
from moorage.embedded.api.calls import Call
from moorage.embedded.faults import Answer, Dropped
from moorage.embedded.refusal import Refusal, expired, too_new

from .answering import instead
from .knob import Knob, Strike

WATCHES = frozenset({"watch pods"})


class OnEvent(Strike):
    """Something happens at an event that tells of an object."""

    async def watch_event(self, call: Call, event: Json) -> Iterable[Json]:
        if self.holds(call):
            return await self.later(call, event)
        if event["type"] == "BOOKMARK":
            return (event,)
        self.hit(call)
        return await self.first(call, event)

    async def first(self, call: Call, event: Json) -> Iterable[Json]:
        """The event that is hit."""
        return (event,)

    async def later(self, call: Call, event: Json) -> Iterable[Json]:
        """Every event of the same watch after it."""
        return (event,)


class InBand(OnEvent):
    """200, then a Status without UID and version."""

    async def first(self, call: Call, event: Json) -> Iterable[Json]:
        status = expired("too old resource version").status
        return ({"type": "ERROR", "object": status},)

    async def later(self, call: Call, event: Json) -> Iterable[Json]:
        return ()


class Silent(OnEvent):
    """The connection stays open, and not a byte comes any more."""

    async def first(self, call: Call, event: Json) -> Iterable[Json]:
        await asyncio.Event().wait()
        return ()


class Drops(OnEvent):
    """One event never comes."""

    async def first(self, call: Call, event: Json) -> Iterable[Json]:
        return ()


class Doubles(OnEvent):
    """One event comes twice."""

    async def first(self, call: Call, event: Json) -> Iterable[Json]:
        return (event, event)


class Coalesces(OnEvent):
    """Of two events in a row only the second is told, as the change it is not."""

    def __init__(self, rng: random.Random, times: int = 1) -> None:
        super().__init__(rng, times)
        self._pending = False

    async def first(self, call: Call, event: Json) -> Iterable[Json]:
        self._pending = True
        return ()

    async def later(self, call: Call, event: Json) -> Iterable[Json]:
        if not self._pending or event["type"] == "BOOKMARK":
            return (event,)
        self._pending = False
        return ({**event, "type": "ADDED" if event["type"] == "MODIFIED" else event["type"]},)


class BookmarksOnly(OnEvent):
    """From now on versions are told, and no objects."""

    async def first(self, call: Call, event: Json) -> Iterable[Json]:
        return ()

    async def later(self, call: Call, event: Json) -> Iterable[Json]:
        return (event,) if event["type"] == "BOOKMARK" else ()


class Replays(OnEvent):
    """What was told first is told again later, with its old version."""

    def __init__(self, rng: random.Random, times: int = 1) -> None:
        super().__init__(rng, times)
        self._old: Json | None = None

    async def first(self, call: Call, event: Json) -> Iterable[Json]:
        self._old = event
        return (event, {**event, "type": "DELETED"}, event)

    async def later(self, call: Call, event: Json) -> Iterable[Json]:
        old, self._old = self._old, None
        return (event, old) if old is not None else (event,)


class Cut(OnEvent):
    """A load balancer cuts the connection."""

    async def first(self, call: Call, event: Json) -> Iterable[Json]:
        raise Dropped


def _gone(call: Call) -> Refusal:
    return expired("too old resource version: 1 (2)")


def _closed(call: Call) -> Answer:
    return Answer(200, b"")


def _older_server(call: Call) -> Refusal:
    return too_new(2_000_000, 1_000_000)


KNOBS = (
    Knob("http410", "WATCH", WATCHES, instead(_gone)),
    Knob("inband_ERROR410", "WATCH", WATCHES, InBand),
    Knob("200_close_empty", "WATCH", WATCHES, instead(_closed)),
    Knob("silent", "WATCH", WATCHES, Silent),
    Knob("drop_event", "WATCH", WATCHES, Drops),
    Knob("dup_event", "WATCH", WATCHES, Doubles),
    Knob("coalesce", "WATCH", WATCHES, Coalesces),
    Knob("bookmark_only", "WATCH", WATCHES, BookmarksOnly),
    Knob("replay_old", "WATCH", WATCHES, Replays),
    Knob("lb_cut", "WATCH", WATCHES, Cut),
    Knob("watch_of_an_older_server", "WATCH", WATCHES, instead(_older_server)),
)
