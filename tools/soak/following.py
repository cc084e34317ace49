"""Somebody who reads along with a session, and so drives it: through interruptions, and from one run of the
agent to the next. Used by the stories.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from moorage.core.errors import MoorageError
from moorage.ports.link import Gap, Output
from moorage.ports.sessions import Exited, Happening, SessionVerbs
from tools.soak.spoken import Heard
from tools.soak.trying import LIMIT, NEVER, PAUSE, Stuck


class Following:
    """``begin`` and ``end`` in turns. What was given is in ``heard``, across all of them."""

    def __init__(self, verbs: SessionVerbs, name: str, retried: Counter[str]) -> None:
        self.heard = Heard()
        self._verbs, self._name, self._retried = verbs, name, retried
        self._task: asyncio.Task[None] | None = None
        self._started = asyncio.Event()
        self._last = False

    def begin(self, *, until_started: bool = False) -> None:
        """``until_started``: let go as soon as the agent runs, as ``run -d`` does."""
        self._started.clear()
        self._last = until_started
        self._task = asyncio.create_task(self._follow(until_started))

    async def started(self) -> None:
        """Wait for the agent. Raises what ended the following instead; Stuck."""
        waiting = asyncio.create_task(self._started.wait())
        tasks = {task for task in (waiting, self._task) if task is not None}
        await asyncio.wait(tasks, timeout=LIMIT, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._task is not None and self._task.done():
            self._task.result()
        if not self._started.is_set():
            raise Stuck(f"run for {LIMIT:.0f} s: the agent did not start")

    def ends(self) -> None:
        """The next end of the agent is the end of this following."""
        self._last = True

    async def end(self) -> None:
        """Wait for that. Raises Stuck."""
        if self._task is None:
            return
        try:
            await asyncio.wait_for(self._task, LIMIT)
        except TimeoutError:
            raise Stuck(f"attach goes on for {LIMIT:.0f} s after the agent was ended") from None
        self._task = None

    async def drop(self) -> None:
        """Give it up."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _follow(self, until_started: bool) -> None:
        while True:
            attachment = self._verbs.attach(self._name)
            try:
                async for happening in attachment.happenings():
                    self._take(happening)
                    if until_started and self._started.is_set():
                        return
            except NEVER:
                raise
            except MoorageError as error:
                self._retried[f"attach {error.code}"] += 1
            else:
                if self._last:
                    return
            finally:
                await attachment.close()
            await asyncio.sleep(PAUSE)

    def _take(self, happening: Happening) -> None:
        if isinstance(happening, Output | Gap):
            self.heard.take(happening)
            self._started.set()
        elif isinstance(happening, Exited) or happening.step == "agent":
            self._started.set()
