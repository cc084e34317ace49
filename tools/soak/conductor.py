"""One soak from its first session to its last: so many stories at once, disturbances by the clock, samples of
memory, and a line every minute. Called by ``tools.soak.__main__``.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from moorage.cli.wiring import GlobalOptions
from moorage.core.errors import MoorageError
from moorage.main import Composition
from moorage.ports.sessions import SessionVerbs
from tools.live_cluster import LiveCluster
from tools.soak import leftovers
from tools.soak.memory import Sample
from tools.soak.node import Node
from tools.soak.schedule import disturbances, script
from tools.soak.story import Story, forget
from tools.soak.tally import Tally

SAMPLE_EVERY = 5.0
LINE_EVERY = 60.0
TEMPLATE = {
    "apiVersion": "v1",
    "kind": "PodTemplate",
    "metadata": {"name": "soak"},
    "template": {
        "spec": {
            "terminationGracePeriodSeconds": 2,
            "containers": [
                {"name": "agent", "image": "localhost/busybox:test", "imagePullPolicy": "Never"},
            ],
        }
    },
}


@dataclass
class Run:
    """One soak. ``memory``: MiB of this process; ``open_files``: before the first session and after the last;
    ``minutes``: how long it really was disturbed."""

    seed: int
    at_once: int
    tally: Tally = field(default_factory=Tally)
    memory: list[Sample] = field(default_factory=list)
    open_files: tuple[int, int] = (0, 0)
    minutes: float = 0.0


class Conductor:
    """``play`` once. Ctrl-C ends the run early, in order; a second one at once."""

    def __init__(self, live: LiveCluster, minutes: float, seed: int, at_once: int) -> None:
        self._live, self._node, self._seconds = live, Node(live), minutes * 60
        self.run = Run(seed, at_once)
        self._disturbances = disturbances(seed, minutes)
        self._numbers = itertools.count()
        self._under_way = 0
        self._over = asyncio.Event()
        self._began = 0.0

    @property
    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    async def play(self) -> Run:
        run = self.run
        run.open_files = (leftovers.open_files(), 0)
        with tempfile.TemporaryDirectory(prefix="moorage-soak-") as folder, _temporary(Path(folder)) as spool:
            data = Path(folder) / "data"
            async with self._verbs(Path(folder), data) as verbs:
                self._began = time.monotonic()
                with _ended_by(self._over):
                    await self._sessions(verbs)
                await self._forget(verbs)
            found = [*leftovers.in_folder(data), *leftovers.in_folder_of_temporary_files(spool)]
        found += await leftovers.in_cluster(self._live, self._node)
        run.tally.orphans += [*found, *leftovers.children()]
        run.open_files = (run.open_files[0], leftovers.open_files())
        return run

    @contextlib.asynccontextmanager
    async def _verbs(self, folder: Path, data: Path) -> AsyncIterator[SessionVerbs]:
        """The library as ``moorage`` itself composes it, in this process for the whole run."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MOORAGE_")}
        wiring = Composition({**kept, "MOORAGE_CONFIG_DIR": str(folder / "config")})
        options = GlobalOptions(
            kubeconfig=self._live.kubeconfig,
            namespace=self._live.namespace,
            data_dir=str(data),
            no_input=True,
        )
        verbs = await wiring.sessions(options)
        try:
            yield verbs
        finally:
            await verbs.close()

    async def _sessions(self, verbs: SessionVerbs) -> None:
        """All of it until nothing is under way any more."""
        beside = [asyncio.create_task(job()) for job in (self._disturb, self._sample, self._tell)]
        ending = asyncio.create_task(self._end_in_time())
        try:
            await asyncio.gather(*(self._place(verbs) for _ in range(self.run.at_once)))
            self.run.minutes = round(self._elapsed / 60, 1)
            await asyncio.wait_for(beside[0], LINE_EVERY)
        finally:
            for task in (*beside, ending):
                task.cancel()
            results = await asyncio.gather(*beside, ending, return_exceptions=True)
            broken = [repr(one) for one in results if isinstance(one, Exception)]
            self.run.tally.faults += broken

    async def _place(self, verbs: SessionVerbs) -> None:
        """One of the places that always hold a session."""
        template = yaml.safe_dump(TEMPLATE).encode()
        while not self._over.is_set():
            story = Story(
                verbs, self._node, template, script(self.run.seed, next(self._numbers)), self.run.tally
            )
            self.run.tally.records.append(story.record)
            self._under_way += 1
            try:
                await story.live()
            finally:
                self._under_way -= 1
            self._report(story)

    def _report(self, story: Story) -> None:
        record = story.record
        if not record.clean:
            say(f"{record.name}: {record.lost + record.stuck + record.faults}")
        if record.over and not record.sha256:
            record.faults.append("its transcript was never read")

    async def _forget(self, verbs: SessionVerbs) -> None:
        """Archived sessions are looked at once more, and all go. What is there then is stuck."""
        for record in self.run.tally.records:
            if record.over and record.archived:
                await forget(verbs, record, self.run.tally)
        for view in await verbs.list_views(include_archived=True):
            name = view.session.name
            self.run.tally.faults.append(f"{name} is still on record: {view.word}, {view.reason}")
            with contextlib.suppress(MoorageError):  # what it has is on record, and so no orphan
                await verbs.remove(name, lambda progress: None, force=True)

    async def _end_in_time(self) -> None:
        await asyncio.sleep(self._seconds)
        self._over.set()

    async def _disturb(self) -> None:
        for one in self._disturbances:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), max(0.0, one.at - self._elapsed))
            if self._over.is_set():
                return
            failed = await self._node.disturb(one.kind)
            self.run.tally.disturbed[one.kind] += not failed
            self.run.tally.faults += [failed] if failed else []

    async def _sample(self) -> None:
        while True:
            await asyncio.sleep(SAMPLE_EVERY)
            self.run.memory.append((round(self._elapsed, 1), round(leftovers.resident(), 2)))
            if not self._over.is_set():
                self.run.tally.live.append(self._under_way)

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(LINE_EVERY)
            tally = self.run.tally
            disturbed = ", ".join(f"{count} {kind}" for kind, count in sorted(tally.disturbed.items()))
            parts = (
                f"{tally.total('over')} sessions over, {self._under_way} live",
                f"{tally.total('kills')} kills ({tally.total('missed_kills')} missed)",
                disturbed or "nothing disturbed",
                f"{self.run.memory[-1][1]:.0f} MiB, {leftovers.open_files()} files open",
                f"{sum(not record.clean for record in tally.records)} unclean",
            )
            say(f"{self._elapsed / 60:.0f} of {self._seconds / 60:.0f} min: {'; '.join(parts)}")


def say(text: str) -> None:
    """To whoever waits for it, at once."""
    print(f"soak: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _ended_by(over: asyncio.Event) -> Iterator[None]:
    """SIGINT and SIGTERM end the run in order; the second one as usual."""
    loop = asyncio.get_running_loop()

    def end() -> None:
        over.set()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.default_int_handler)
        say("ending early; what is under way is ended first")

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """Where this process puts temporary files meanwhile, so that none is left unseen."""
    spool, before = folder / "tmp", tempfile.tempdir
    spool.mkdir()
    tempfile.tempdir = str(spool)
    try:
        yield spool
    finally:
        tempfile.tempdir = before
