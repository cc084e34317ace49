"""Sessions behind a proxy in which calls go wrong by a seeded schedule: every promise holds all the same.

Each schedule has a session of its own, led to a verb; while the verb is under way, calls of it are dropped,
delayed, refused, cut or answered by something else. Then all is calm: the next command must finish, and the
real API server's log, workspace, output and cluster must not tell that anything happened.

``MOORAGE_FAULT_RUNS``: how many schedules, 200 without it; ``MOORAGE_FAULT_SEED``: where their seeds begin;
``MOORAGE_FAULT_SCHEDULE``: just the one of that name, as a failure prints it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .campaign import Campaign, Place
from .faults import allowed
from .proxy import Proxy
from .schedule import Steering, make

pytestmark = [pytest.mark.node, pytest.mark.timeout(0)]

RUNS = int(os.environ.get("MOORAGE_FAULT_RUNS") or 200)
SEED = int(os.environ.get("MOORAGE_FAULT_SEED") or 1)
ONE = os.environ.get("MOORAGE_FAULT_SCHEDULE", "")


async def test_whatever_goes_wrong_on_the_way_every_promise_holds(
    front: Proxy,
    places: list[Place],
    token: str,
    tmp_path: Path,
    record_property: Callable[[str, str], None],
) -> None:
    campaign = Campaign(front, token, tmp_path, Steering(SEED), RUNS)
    if ONE:
        await campaign.try_one(make(ONE), places[0])
    else:
        await campaign.run(places)
    record_property("table", campaign.told())
    assert not campaign.failures, "\n\n".join(campaign.failures)
    assert ONE or campaign.counted >= RUNS
    assert ONE or len(allowed()) > RUNS or campaign.unseen() == []
