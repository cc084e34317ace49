"""Strikes that most families share: an answer in place of the call, and a call that is cut or held up."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from moorage.core.kinds import CLAIMS, PODS, Json, Resource
from moorage.embedded.api.calls import Call
from moorage.embedded.faults import Answer, Dropped
from moorage.embedded.refusal import Refusal

from .knob import Strike

RESOURCES: dict[str, Resource] = {kind.plural: kind for kind in (PODS, CLAIMS)}
LONG = 40.0
"""Seconds for which a server is slow: longer than a client waits for one call."""


def resource_of(call: Call) -> Resource:
    """The kind a call is about, for the words of a refusal."""
    known = RESOURCES.get(call.resource)
    return known or Resource(call.group, call.version, call.resource, call.resource.title(), True)


class Instead(Strike):
    """The call is answered by something else, and nothing is done."""

    def __init__(self, rng: random.Random, times: int, say: Callable[[Call], Refusal | Answer]) -> None:
        super().__init__(rng, times)
        self._say = say

    async def request(self, call: Call) -> Answer | None:
        said = self._say(call)
        self.hit(call)
        if isinstance(said, Refusal):
            raise said
        return said


class DropBefore(Strike):
    """The connection is cut before anything was done."""

    async def request(self, call: Call) -> Answer | None:
        self.hit(call)
        raise Dropped


class DropAfter(Strike):
    """A write is stored, and its answer lost."""

    async def committed(self, call: Call, obj: Json) -> None:
        self.hit(call)
        raise Dropped


class SlowBefore(Strike):
    """Nothing is done and nothing answered for longer than anybody waits."""

    async def request(self, call: Call) -> Answer | None:
        self.hit(call)
        await asyncio.sleep(LONG)  # sleep: it is the fault
        return None


class SlowAfter(Strike):
    """A write is stored, and its answer comes when nobody waits for it any more."""

    async def committed(self, call: Call, obj: Json) -> None:
        self.hit(call)
        await asyncio.sleep(LONG)  # sleep: it is the fault


def instead(say: Callable[[Call], Refusal | Answer]) -> Callable[[random.Random, int], Strike]:
    """Makes strikes of one answer."""
    return lambda rng, times: Instead(rng, times, say)
