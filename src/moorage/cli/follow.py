"""Following an agent from this terminal: its output out, our keys in, signals, and leaving it running.

``run`` and ``attach`` build a ``Follower`` over an ``Attachment``. The Follower never stops or removes a
session: it reports how the following ended and the verb decides.

Ctrl-C without a local raw terminal: the first sends SIGINT to the agent (once it runs), the second leaves
it running. In raw mode Ctrl-C is a byte like any other, and ctrl-p ctrl-q leaves.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

from moorage.cli.rawmode import DetachScanner, raw_mode, window_size
from moorage.cli.signals import on_signals
from moorage.cli.streams import stdin_reader, stdout_writer
from moorage.cli.terminal import OutputClosed, Terminal
from moorage.core.errors import MoorageError
from moorage.core.session import AgentExit
from moorage.ports.link import Gap, Output
from moorage.ports.sessions import Attachment, Exited, Progress, Report


@dataclass(frozen=True)
class Manner:
    """How to follow. ``stdin``: ``forward`` ours, ``close`` the agent's at once, or ``leave`` it alone.
    ``raw``: the local terminal goes raw once the agent runs. ``may_signal``: Ctrl-C is passed on.
    ``until_started``: leave as soon as the agent runs. ``running``: it is known to run already. ``mute``:
    show none of its output. ``limit``: seconds after which to leave."""

    stdin: str = "leave"
    raw: bool = False
    may_signal: bool = True
    until_started: bool = False
    running: bool = False
    mute: bool = False
    limit: float | None = None


@dataclass(frozen=True)
class Ending:
    """Why the following ended. ``how``: exited, started, detached, interrupted (Ctrl-C), signalled
    (SIGTERM, SIGHUP; ``number``), overtime (the limit was reached), closed (nobody reads our stdout), ended
    (no more happenings). ``kept``: nobody has removed the session meanwhile."""

    how: str
    exit: AgentExit | None = None
    number: int = 0
    agent_started: bool = True
    kept: bool = True


class Follower:
    """One following. ``follow`` may be called once."""

    def __init__(self, attachment: Attachment, terminal: Terminal, report: Report, manner: Manner) -> None:
        self._attachment = attachment
        self._terminal = terminal
        self._report = report
        self._manner = manner
        self._started = asyncio.Event()
        self._leave: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._interrupts = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._local = ExitStack()

    async def follow(self) -> Ending:
        """Until the agent exits or somebody leaves. Raises what the attachment raises."""
        if self._manner.running:
            self._on_started()
        handlers = {
            signal.SIGINT: self._interrupted,
            signal.SIGTERM: lambda: self._signalled(signal.SIGTERM),
            signal.SIGHUP: lambda: self._signalled(signal.SIGHUP),
            signal.SIGWINCH: self._resized,
        }
        with self._local, on_signals(handlers):
            self._spawn(self._pump_output())
            if self._manner.limit is not None:
                self._spawn(self._leave_after(self._manner.limit))
            try:
                return await self._leave
            finally:
                await self._cancel_all()

    def _go(self, ending: Ending) -> None:
        if not self._leave.done():
            self._leave.set_result(ending)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run beside the others; its failure ends the following."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None or self._leave.done():
            return
        if isinstance(error, OutputClosed):
            self._go(Ending("closed", agent_started=self._started.is_set()))
        else:
            self._leave.set_exception(error)

    async def _cancel_all(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _pump_output(self) -> None:
        stdout = stdout_writer()
        async for happening in self._attachment.happenings():
            if isinstance(happening, Progress):
                self._report(happening)
                if happening.step == "agent":
                    self._on_started()
            else:
                self._on_started()
            if self._manner.until_started and self._started.is_set():
                return  # what is not read here is delivered to whoever attaches next
            if isinstance(happening, Output | Gap) and self._manner.mute:
                continue
            if isinstance(happening, Output):
                await stdout.write(happening.data)
            elif isinstance(happening, Gap):
                self._terminal.say(gap_notice(happening))
            elif isinstance(happening, Exited):
                self._go(Ending("exited", happening.exit, kept=happening.kept))
                return
        self._go(Ending("ended", agent_started=self._started.is_set()))

    def _on_started(self) -> None:
        if self._started.is_set():
            return
        self._started.set()
        if self._manner.raw:
            self._local.enter_context(raw_mode(self._terminal))
            self._resized()
        self._spawn(self._after_start())

    async def _leave_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._go(Ending("overtime", agent_started=self._started.is_set()))

    async def _after_start(self) -> None:
        if self._manner.until_started:
            self._go(Ending("started"))
        elif self._manner.stdin == "forward":
            await self._pump_input()

    async def _pump_input(self) -> None:
        stdin, keys = stdin_reader(), DetachScanner()
        while data := await stdin.read():
            detach = False
            if self._manner.raw:
                data, detach = keys.feed(data)
            if data:
                await self._send(data)
            if detach:
                self._go(Ending("detached"))
                return
        await self._close_input()

    async def _send(self, data: bytes) -> None:
        """Keys that cannot be delivered are lost with a notice; of piped input nothing may be lost."""
        try:
            await self._attachment.send_input(data)
        except MoorageError as error:
            if not self._terminal.stdin_tty:
                raise
            self._terminal.note(f"input was not delivered: {error.message}")

    async def _close_input(self) -> None:
        with suppress(MoorageError):  # an agent that has just ended has no input to close
            await self._attachment.close_input()

    async def _signal(self, number: int) -> None:
        try:
            await self._attachment.signal(number)
        except MoorageError as error:
            self._terminal.say(f"the signal was not delivered: {error.message}")

    async def _resize(self) -> None:
        with suppress(MoorageError):  # the next change of size says it again
            await self._attachment.resize(*window_size())

    def _interrupted(self) -> None:
        self._interrupts += 1
        started = self._started.is_set()
        if self._interrupts > 1 or not started or not self._manner.may_signal:
            self._go(Ending("interrupted", number=signal.SIGINT, agent_started=started))
            return
        self._terminal.note("sent SIGINT to the agent; Ctrl-C again leaves it running")
        self._spawn(self._signal(signal.SIGINT))

    def _signalled(self, number: signal.Signals) -> None:
        self._go(Ending("signalled", number=number, agent_started=self._started.is_set()))

    def _resized(self) -> None:
        if self._manner.raw and self._started.is_set():
            self._spawn(self._resize())


def gap_notice(gap: Gap) -> str:
    """A gap in the output, said in words."""
    amount = "an unknown number of" if gap.length is None else str(gap.length)
    return f"[{amount} bytes of output from byte {gap.offset} on are no longer kept]"
