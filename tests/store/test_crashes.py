"""What survives SIGKILL at every write, and what several processes do to one another."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from moorage import store as store_package
from moorage.core.errors import NotFound
from moorage.core.session import Phase, Session, change
from moorage.ports.store import Store
from moorage.store import current_owner, open_store
from tests.store.processes import every_write

SESSION = "s00000000001"
ROOT = Path(__file__).parents[2]


def run(program: str, folder: Path) -> list[Any]:
    """What the program of ``tests.store.processes`` printed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.processes", program, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answer: list[Any] = json.loads(done.stdout)
    return answer


@dataclass(frozen=True)
class Deaths:
    """Folder ``root/N`` is what a process left that was killed at ``points[N]``."""

    root: Path
    points: list[str]
    exit_codes: list[int]


@pytest.fixture(scope="module")
def deaths(tmp_path_factory: pytest.TempPathFactory) -> Deaths:
    root = tmp_path_factory.mktemp("deaths")
    answer = run("crash", root)
    return Deaths(root, [point for point, _code in answer], [code for _point, code in answer])


def copy_of(deaths: Deaths, number: int, folder: Path) -> Path:
    """What was left, in a folder that may be written."""
    return Path(shutil.copytree(deaths.root / str(number), folder / str(number)))


async def picture(store: Store) -> dict[str, Any]:
    """All that a caller can see; what differs between two lives (ids, pids, clock) is left out."""
    seen: dict[str, Any] = {
        "setting": await store.get_setting("transport"),
        "ids": await store.sessions.ids(),
    }
    try:
        seen["secret"] = await store.secrets.get("env/1")
    except NotFound:
        seen["secret"] = None
    try:
        session: Session = await store.sessions.get(SESSION)
    except NotFound:
        return seen
    if session.state.phase is Phase.DELETED:
        session = change(session, state=change(session.state, since=0.0))
    return seen | {
        "session": session,
        "events": await store.sessions.events(SESSION),
        "transcript": await store.transcripts.read(SESSION, 0),
        "delivered": await store.transcripts.delivered(SESSION),
        "held": bool(await store.leases.holder(SESSION)),
    }


def test_the_life_that_is_cut_short_makes_every_write_there_is(deaths: Deaths) -> None:
    sources = "".join(path.read_text() for path in Path(store_package.__file__).parent.glob("*.py"))
    names = set(re.findall(r'write(?:_named)?\(\s*"([a-z_.]+)"', sources))
    restored = {"backup.put_back"}  # into an empty database: all of it or nothing, see test_backup.py
    assert {point.partition(" ")[2] for point in deaths.points} == names - restored


async def test_after_sigkill_at_any_write_all_that_returned_is_there_and_nothing_by_halves(
    deaths: Deaths, tmp_path: Path
) -> None:
    reference = await open_store(tmp_path / "reference")
    states = [await picture(reference)]  # states[n]: after n writes
    async for _step in every_write(reference, tmp_path / "reference"):
        states.append(await picture(reference))
    await reference.close()

    points = deaths.points
    assert deaths.exit_codes == [-9] * len(points)
    assert points[::2] == [point.replace("after", "before", 1) for point in points[1::2]]
    assert len(points) == 2 * len(states)  # the migration is a write too, with nothing to see after it

    for number, point in enumerate(points):
        store = await open_store(copy_of(deaths, number, tmp_path))
        committed = (number + 1) // 2  # migration included
        assert await picture(store) == states[max(0, committed - 1)], point
        await store.close()


async def test_the_dead_holders_lease_is_free_at_once_and_its_fence_is_not_given_again(
    deaths: Deaths, tmp_path: Path
) -> None:
    store = await open_store(copy_of(deaths, deaths.points.index("after sessions.save"), tmp_path))
    assert str(current_owner()) != await store.leases.holder(SESSION) != ""
    lease = await store.leases.acquire(SESSION, current_owner())
    assert lease is not None
    assert lease.fence == 2
    await store.close()


def test_of_two_processes_that_go_for_a_lease_exactly_one_gets_it(tmp_path: Path) -> None:
    first, second = run("race", tmp_path)
    assert [mine != theirs for mine, theirs in zip(first, second, strict=True)] == [True] * 20


async def test_processes_that_open_an_empty_folder_at_once_share_one_store_and_one_key(
    tmp_path: Path,
) -> None:
    ids = run("opened", tmp_path)
    store = await open_store(tmp_path)
    assert ids == [await store.install_id()] * 4
    assert len(await store.sessions.list_all()) == 4
    values = [await store.secrets.get(f"env/{number}") for number in range(4)]
    assert values == [f"value {number}".encode() for number in range(4)]
    await store.close()
