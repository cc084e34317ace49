"""Many schedules, some at once, each judged; until there are enough and every pair of the table was felt.

Used by ``test_schedules``. Keeps the folder of a schedule that failed, and says how to run just that one;
``so-far.txt`` in the folder of the test tells how a long run stands.
"""

from __future__ import annotations

import asyncio
import shutil
import traceback
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from testcluster.audit import Judge, Log

from .faults import allowed
from .judge import AGENT, Ground, faults_of
from .people import Person
from .proxy import Lane, Proxy
from .schedule import Pair, Running, Schedule, Steering, table
from .story import REMOVING, Story

GIVEN_UP = 5
"""Failures after which no more schedules begin."""
AGAIN = "MOORAGE_FAULT_SCHEDULE={} ./dev test --cluster tests/contract/faults"


@dataclass
class Place:
    """One namespace, the log of what happens there, and what stands there that is not ours."""

    ground: Ground
    log: Log
    foreign: dict[str, str]

    @property
    def foreign_uids(self) -> set[str]:
        return {version.partition(":")[0] for version in self.foreign.values()}


@dataclass
class Campaign:
    """``wanted``: schedules in which a fault was felt."""

    front: Proxy
    token: str
    folder: Path
    steering: Steering
    wanted: int
    counted: int = 0
    begun: int = 0
    failures: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    async def run(self, places: list[Place]) -> None:
        """As many at once as there are places."""
        await asyncio.gather(*(self._work(place) for place in places))

    async def _work(self, place: Place) -> None:
        while not self._enough():
            self.begun += 1
            await self.try_one(self.steering.next(), place)

    def _enough(self) -> bool:
        enough = self.counted >= self.wanted and not (self.wanted >= len(allowed()) and self.unseen())
        return enough or len(self.failures) >= GIVEN_UP or self.begun >= 3 * self.wanted + 100

    def unseen(self) -> list[Pair]:
        """What the table allows and no schedule met."""
        return [Pair(*pair) for pair in allowed() if not self.steering.felt[Pair(*pair)]]

    def told(self) -> str:
        """Counts, for people."""
        lines = [f"{self.counted} schedules in which a fault was felt, of {self.begun}"]
        lines += [table(self.steering.felt), "how the disturbed verbs ended:"]
        return "\n".join([*lines, *(f"{count:5} {how}" for how, count in sorted(self.outcomes.items()))])

    async def try_one(self, schedule: Schedule, place: Place) -> None:
        """One schedule; counted when a fault was felt, noted when it failed."""
        running = Running(schedule)
        lane = Lane(f"l{schedule.seed}", running.choose, running.fired)
        folder = self.folder / lane.name
        person = Person(folder, self.front.open(lane), self.token, place.ground.namespace)
        story = Story(schedule, running, person, folder)
        try:
            await self._carried_through(story, lane, place)
        except Exception:
            felt = "\n".join([f"the verb: {story.outcome}", *running.told])
            why = traceback.format_exc()
            self.failures.append(f"{schedule.text}, see {folder}\n{felt}\n{why}{AGAIN.format(schedule.text)}")
        else:
            shutil.rmtree(folder)
        self.front.shut(lane)
        self.steering.felt.update(running.felt)
        self.counted += bool(running.felt)
        self.outcomes[f"{schedule.pair.verb}: {story.outcome.partition(':')[0]}"] += 1
        (self.folder / "so-far.txt").write_text("\n\n".join([self.told(), *self.failures]))

    async def _carried_through(self, story: Story, lane: Lane, place: Place) -> None:
        judge = await asyncio.to_thread(Judge, place.log)
        await story.lead()
        await story.disturbed()
        await lane.quiet()  # what was sent may still be carried out, and is by now
        await story.go_on()
        removing = story.verb in REMOVING
        if story.verb != "rm":
            there = await place.ground.of(story.session_id)
            assert len(there["pods"]) <= 1, there
            assert len(there["persistentvolumeclaims"]) == (0 if removing else 1), there
        until = datetime.now(UTC)
        await story.removed()
        assert await place.ground.of(story.session_id) == {"pods": [], "persistentvolumeclaims": []}
        assert await place.ground.versions() == place.foreign
        events = await asyncio.to_thread(judge.events, agent=AGENT, namespace=place.ground.namespace)
        assert events
        found = faults_of(events, place.foreign_uids, claim_stays_until=None if removing else until)
        assert not found, found
