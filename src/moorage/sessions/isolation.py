"""What keeps the programs of a session apart from this machine: on the embedded cluster, nothing. Called by
``run`` and ``doctor`` through ``sessions.verbs``; decides nothing.
"""

from __future__ import annotations

from typing import Final

from moorage.core.kinds import NODES
from moorage.ports.cluster import Cluster
from moorage.sessions.parts import Parts

MODE_LABEL: Final = "embedded.moorage.dev/isolation"
"""Of the embedded node: ``none-`` and its mode (docs/embedded.md)."""
_MEANINGS: Final = {
    "none-namespaces": "not isolated (mode namespaces): programs run on this machine and share its network "
    "and kernel; they do not see your files or processes",
    "none-plain": "not isolated (mode plain): programs run on this machine with your rights; they see all "
    "of your files and processes",
}


async def isolation(parts: Parts) -> str:
    """One line for the cluster of a new session; "" where that was named. Connects to the embedded one."""
    config = parts.executors.chosen()
    if not config.embedded:
        return ""
    return await words(await parts.executors.cluster(config))


async def words(cluster: Cluster) -> str:
    """The line of the embedded cluster: the least that any of its nodes promises."""
    modes = [
        (item["metadata"].get("labels") or {}).get(MODE_LABEL, "none-plain")
        async for item in cluster.list_all(NODES)
    ]
    return _MEANINGS["none-namespaces" if modes and set(modes) == {"none-namespaces"} else "none-plain"]
