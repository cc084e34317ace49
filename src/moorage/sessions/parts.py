"""What the verbs of this package share: one data folder's store, sources, executors, clock and ids.

Made by ``main``, handed to every verb. Holds no logic.
"""

from __future__ import annotations

from dataclasses import dataclass

from moorage.engine.sources import Sources
from moorage.ports.clock import Clock, Ids
from moorage.ports.store import Owner, Store
from moorage.sessions.executors import Executors


@dataclass(frozen=True)
class Parts:
    """``owner``: this process, as leases name it. ``patience``: seconds that a verb waits for an API server
    that does not answer."""

    store: Store
    executors: Executors
    sources: Sources
    clock: Clock
    ids: Ids
    owner: Owner
    patience: float = 30.0
