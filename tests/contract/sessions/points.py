"""Commands that note the points they pass and can be killed at any; people who type them, what they leave.

Used by test_crash.py. ``traced.py`` is the command itself; nothing here knows what a verb should do.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testcluster.audit import Event

from tests.contract.data_folder import left_in

KILLED = -9
UNRECORDED = "unrecorded"
"""The phase in which a command has neither read nor written a session."""
ENDLESS = ("port-forward",)
"""Verbs that a person ends: used once, then Ctrl-C."""
_PATIENCE = 180.0
_POINT = re.compile(r"(?P<when>before|committed|after) (?P<what>.+) \[(?P<phase>\w+)\]#(?P<nth>\d+)")
_READS = ("get ", "list ", "watch ")
STREAMS = ("get pods/exec", "get pods/portforward")


@dataclass(frozen=True)
class Point:
    """One line of a log: ``text`` as logged; ``what`` was about to be done, or was done, in ``phase``.

    ``when``: ``before`` it was sent, ``committed`` (the API server did it, and nothing of its answer was read
    yet) or ``after`` its answer.
    """

    text: str
    when: str
    what: str
    phase: str
    nth: int

    @property
    def is_read(self) -> bool:
        """An API call that changes nothing, and a dry run is one. A stream may have changed the Pod."""
        return self.what not in STREAMS and (self.what.startswith(_READS) or self.what.endswith("(dry run)"))

    @property
    def is_write(self) -> bool:
        """An API call that changes something by itself."""
        return self.is_api and not self.is_read and self.what not in STREAMS

    @property
    def is_api(self) -> bool:
        """Not a store write; those are named ``part.method``."""
        return " " in self.what


def read_points(log: Path) -> list[Point]:
    found = []
    for line in log.read_text().splitlines():
        match = _POINT.fullmatch(line)
        assert match is not None, line
        found.append(Point(line, match["when"], match["what"], match["phase"], int(match["nth"])))
    return found


def worth_dying_at(points: Iterable[Point]) -> list[Point]:
    """The points of one undisturbed run, without those that cannot differ from one that is kept.

    A killed process leaves behind only what is durable. So a read that was not yet sent differs in nothing
    from the point before it; a read repeated in the same phase (a poll) leaves what the first one left; a
    renewed lease, whose owner is found dead by the next command, is the lease it was. What is done to a
    recorded session is done by the points themselves or over a link: before there is one, a write not yet
    sent differs in nothing from the point before it either.
    """
    return [point for point, kept in _sorted(points) if kept]


def left_out(points: Iterable[Point]) -> list[tuple[Point, Point]]:
    """What ``worth_dying_at`` leaves out, each with the point that is said to leave the same: the kept one
    before it. A test holds them to it."""
    found, last = [], None
    for point, kept in _sorted(points):
        if kept:
            last = point
        elif last is not None:
            found.append((point, last))
    return found


def _sorted(points: Iterable[Point]) -> Iterator[tuple[Point, bool]]:
    linked = False
    for point in points:
        linked = linked or point.what in STREAMS
        poll = point.is_read and point.nth > 0
        same = point.when == "before" and (point.is_read or not (linked or point.phase == UNRECORDED))
        yield point, not poll and not same and point.what != "leases.renew"


def calls_without_point(points: Iterable[Point], events: Iterable[Event]) -> list[str]:
    """Requests in the API server's log that no point stands for: each needs a `before` of its own. A watch
    is one point and many requests."""
    noted = Counter(point.what for point in points if point.when == "before" and point.is_api)
    missing = []
    for event in events:
        what = "/".join(part for part in (event.resource, event.subresource) if part) or "discovery"
        watched = noted[f"watch {what}"] > 0 and event.verb in ("list", "watch")
        name = f"{event.verb} {what}" + (" (dry run)" if event.dry_run else "")
        if noted[name] > 0:
            noted[name] -= 1
        elif not watched:
            missing.append(str(event))
    return missing


def writes_without_commit(points: Iterable[Point]) -> list[str]:
    """Writes whose answer came, and the moment between its commit and its answer did not pass."""
    passed = Counter((point.what, point.when) for point in points if point.is_write)
    return [what for (what, when), n in passed.items() if when == "after" and passed[what, "committed"] != n]


@dataclass(frozen=True)
class Outcome:
    """A command that ended, or was killed (``code`` KILLED)."""

    code: int
    out: bytes
    err: str
    points: list[Point]

    def json(self) -> Any:
        return json.loads(self.out)


class Commands:
    """Runs traced commands, several at once."""

    def __init__(self, server: asyncio.subprocess.Process) -> None:
        self._server = server
        self._ids = itertools.count()
        self._ends: dict[int, asyncio.Future[int]] = {}
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._server.stdout is not None
        while line := await self._server.stdout.readline():
            answer = json.loads(line)
            end = self._ends.pop(answer["id"])
            if not end.done():
                end.set_result(answer["code"])
        for waiting in self._ends.values():
            if not waiting.done():
                waiting.set_exception(AssertionError("the program that runs the commands has ended"))

    async def run(self, request: dict[str, Any]) -> int:
        """The exit code; minus the signal for a killed one."""
        assert self._server.stdin is not None
        number = next(self._ids)
        end: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._ends[number] = end
        self._server.stdin.write(json.dumps({"id": number, **request}).encode() + b"\n")
        async with asyncio.timeout(_PATIENCE):
            return await end

    async def close(self) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        await self._server.wait()
        await self._reader


@asynccontextmanager
async def commands() -> AsyncIterator[Commands]:
    """The program that forks traced commands, for as long as the context is open."""
    here = Path(__file__).parent
    root = here.parents[2]
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", ".".join([*here.relative_to(root).parts, "traced"])),
        cwd=root,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    running = Commands(server)
    try:
        yield running
    finally:
        await running.close()


class Person:
    """Somebody with a data folder of their own, who types commands."""

    def __init__(self, running: Commands, home: Path) -> None:
        self._commands = running
        self.home = home
        self._typed = itertools.count()
        home.mkdir(parents=True)

    async def __call__(
        self, *args: str, kill_at: str = "", drop_at: str = "", code: int | None = 0
    ) -> Outcome:
        """Run a command to its end. ``code``: the exit code it must have; None: any."""
        stem = self.home / f"{next(self._typed)}-{args[0]}"
        out, err, log = (stem.with_suffix(f".{end}") for end in ("out", "err", "log"))
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "MOORAGE_DATA_DIR": str(self.home / "data"),
            "MOORAGE_CONFIG_DIR": str(self.home / "config"),
            "COLUMNS": "200",
        }
        files = {"out": str(out), "err": str(err), "log": str(log), "endless": args[0] in ENDLESS}
        how = {"args": args, "env": env, "cwd": str(self.home), "kill_at": kill_at, "drop_at": drop_at}
        ended = await self._commands.run({**how, **files})
        done = Outcome(ended, out.read_bytes(), err.read_text(), read_points(log))
        assert code is None or ended == code, f"moorage {' '.join(args)} → {ended}\n{done.err}"
        return done

    def left(self) -> list[str]:
        """What the data folder still holds of any session: rows of secrets and leases, spooled sources."""
        return left_in(self.home / "data")

    def durable(self) -> dict[str, Any]:
        """What the data folder holds: rows a table, but for output (its pieces hang on time); phase; wish."""
        with closing(sqlite3.connect(self.home / "data" / "moorage.db")) as database:
            names = [
                name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            rows = {
                name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
                for name in names
                if not name.startswith("transcript")
            }
            wanted = "SELECT phase, json_extract(intent, '$.desired') FROM sessions"
            return rows | {"sessions": database.execute(wanted).fetchall()}

    def forget(self) -> None:
        """Drop the folder, once all in it was judged."""
        shutil.rmtree(self.home)
