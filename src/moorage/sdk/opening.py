"""Where sandboxes run, and the open verbs of such a place. Used by ``sdk.sandbox`` and ``sdk.listing``.

The sandboxes of one place and one event loop share what was opened: it is closed with the last of them. Who
gives verbs of their own closes them. How a place is opened is told by ``main`` (``use_opener``); nothing here
knows an adapter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias
from weakref import WeakKeyDictionary

from moorage.core.errors import UsageError
from moorage.ports.sessions import SessionVerbs


@dataclass(frozen=True)
class Place:
    """As ``--context``, ``--kubeconfig``, ``-n`` and ``--data-dir`` say it; "" goes on with ``MOORAGE_*``,
    then the project's and the user's file. Where nothing names a cluster, it is the embedded one."""

    context: str = ""
    kubeconfig: str = ""
    namespace: str = ""
    data_dir: str = ""


@dataclass(frozen=True)
class Opened:
    """The verbs of a place; ``setting`` is the default of a flag of ``run``, "" where it is not set."""

    sessions: SessionVerbs
    setting: Callable[[str], str]


At: TypeAlias = Place | SessionVerbs | None
"""None: the place that settings name."""
Opener: TypeAlias = Callable[[Place], Awaitable[Opened]]


class _Shared:
    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.users = 0
        self.opened: Opened | None = None


_openers: list[Opener] = []
_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Place, _Shared]] = WeakKeyDictionary()


def use_opener(opener: Opener) -> None:
    """Said once, by the composition root."""
    _openers[:] = [opener]


class Connection:
    """One user's hold on a place. ``close`` is repeatable; then ``sessions`` is refused."""

    def __init__(self, opened: Opened, shared: _Shared | None) -> None:
        self._opened = opened
        self._shared = shared
        self.closed = False

    @classmethod
    async def to(cls, at: At = None) -> Connection:
        """Raises what opening raises; UsageError where nobody said how to open a place."""
        if at is not None and not isinstance(at, Place):
            return cls(Opened(at, lambda key: ""), None)
        place = at or Place()
        shared = _shared.setdefault(asyncio.get_running_loop(), {}).setdefault(place, _Shared())
        async with shared.turn:
            if shared.opened is None:
                shared.opened = await _opener()(place)
            shared.users += 1
        return cls(shared.opened, shared)

    @property
    def sessions(self) -> SessionVerbs:
        if self.closed:
            raise UsageError(
                "this sandbox object is closed", hint="Sandbox.connect(sandbox_id) gives another one"
            )
        return self._opened.sessions

    def setting(self, key: str) -> str:
        return self._opened.setting(key)

    async def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        if self._shared is None:
            return
        async with self._shared.turn:
            self._shared.users -= 1
            if self._shared.users == 0 and self._shared.opened is not None:
                opened, self._shared.opened = self._shared.opened, None
                await opened.sessions.close()


async def close_all() -> None:
    """Close what this event loop has open, whoever holds it. At the end of a program only."""
    for shared in _shared.pop(asyncio.get_running_loop(), {}).values():
        if shared.opened is not None:
            opened, shared.opened = shared.opened, None
            await opened.sessions.close()


def _opener() -> Opener:
    if not _openers:
        raise UsageError(
            "nobody said how to open a cluster",
            hint="take the names from moorage (from moorage import AsyncSandbox), or give at=",
        )
    return _openers[0]
