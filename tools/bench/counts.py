"""How many calls one session start makes, by the API server's audit log.

Only for the launcher's own cluster, whose audit log can be read. Nothing here depends on the machine's load.
"""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.bench.figures import Row, Table
from tools.bench.place import Place
from tools.bench.starts import follow_start

METHOD = """\
Requests of our client in the API server's audit log, from the moment a session is asked for until the first
output of its agent. *Writes* could change something; a dry run could not. *Streams* are `pods/exec` and
`pods/portforward`. How often a starting Pod is read depends on how often its status changes meanwhile."""
KINDS = ("writes", "dry runs", "streams", "reads", "watches")


async def measure(place: Place, root: Path, rounds: int) -> Table:
    """A few starts of each kind; empty where there is no audit log."""
    table = Table("session-calls", "Calls for one session start", METHOD)
    if place.live.folder is None:
        return table
    judge = _judge(root, place.live.folder)
    async with place.verbs(place.cluster) as verbs:
        for source in ["exec", *(["image"] if place.helper_image else [])]:
            counted = []
            for _ in range(rounds):
                judge.forget()
                session = await verbs.launch(place.request(source), lambda progress: None)
                await follow_start(verbs, session.id)
                counted.append(_count(judge.events(agent=place.agent_name), datetime.now(UTC)))
                await verbs.remove(session.id, lambda progress: None, force=True)
            for kind in KINDS:
                values = tuple(float(one[kind]) for one in counted)
                table.rows.append(Row(f"{source}: {kind}", "calls", values))
    return table


def _judge(root: Path, folder: Path) -> Any:
    """The test cluster's own reader of its audit log; its package is beside the launcher."""
    sys.path.insert(0, str(root / "tests/cluster"))
    from testcluster.audit import AuditLog, Judge
    from testcluster.cluster import Cluster

    return Judge(AuditLog(Cluster(folder)))


def _count(events: list[Any], until: datetime) -> Counter[str]:
    return Counter(_kind(event) for event in events if event.received <= until)


def _kind(event: Any) -> str:
    if event.dry_run:
        return "dry runs"
    if event.subresource in ("exec", "portforward"):
        return "streams"
    if event.is_write:
        return "writes"
    return "watches" if event.verb == "watch" else "reads"
