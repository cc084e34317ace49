"""The life of one session, as its script says: from ``run`` to ``rm`` or ``archive``.

Run by ``tools.soak.conductor``, several at a time. Whatever a verb gives back is compared with what must
be so.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable

from moorage.core.errors import NotFound
from moorage.core.names import pod_name
from moorage.core.session import Phase, WorkspaceMode, WorkspaceSpec
from moorage.ports.link import Gap, Output
from moorage.ports.sessions import LaunchRequest, SessionVerbs
from tools.soak.files import digest
from tools.soak.following import Following
from tools.soak.inside import Inside
from tools.soak.node import Node
from tools.soak.schedule import EMPTY, Script, Step
from tools.soak.spoken import AGENT, check_lines, joined
from tools.soak.tally import Record, Tally
from tools.soak.trying import NEVER, Stuck, insist

KILL_PATIENCE = 15.0
"""Seconds for which a kill waits for a container that runs."""
SIZE = "64Mi"


class Story:
    """One session. ``live`` is called once, and raises nothing but a cancellation."""

    def __init__(
        self, verbs: SessionVerbs, node: Node, template: bytes, script: Script, tally: Tally
    ) -> None:
        self._verbs, self._node, self._template = verbs, node, template
        self._script, self._tally = script, tally
        name = f"soak-{script.number:04d}"
        self.record = Record(script.number, name, script.mode, script.followed, script.archived)
        self._inside = Inside(verbs, name, self.record.lost)
        self._following = Following(verbs, name, tally.retried)
        self._killers: list[asyncio.Task[None]] = []
        self._pod = ""

    @property
    def _name(self) -> str:
        return self.record.name

    async def live(self) -> None:
        began = asyncio.get_running_loop().time()
        try:
            for step in self._script.steps:
                await self._take(step)
            await self._leave()
            self.record.over = True
        except Stuck as stuck:
            self.record.stuck.append(str(stuck))
        except NEVER as error:
            self.record.faults.append(f"{error.code}: {error} {error.details or ''}")
        except Exception:
            self.record.faults.append(traceback.format_exc(limit=-4))
        finally:
            for task in self._killers:
                task.cancel()
            await asyncio.gather(*self._killers, return_exceptions=True)
            await self._following.drop()
            self.record.files, self.record.bytes_moved = len(self._inside.books), self._inside.moved
            self.record.seconds = round(asyncio.get_running_loop().time() - began, 1)

    async def _take(self, step: Step) -> None:
        if step.kill_after is not None:
            self._killers.append(asyncio.create_task(self._kill(step.kill_after)))
        if step.verb == "check":
            await asyncio.gather(*self._killers)
        await _STEPS[step.verb](self, step)
        self._tally.steps[step.verb] += 1

    async def _kill(self, after: float) -> None:
        await asyncio.sleep(after)
        for _ in range(int(KILL_PATIENCE)):
            if self._pod and await self._node.kill(self._pod):
                self.record.kills += 1
                return
            await asyncio.sleep(1.0)
        self.record.missed_kills += 1

    async def _insist(self, verb: str, act: Callable[[], Awaitable[object]]) -> None:
        await insist(verb, self._tally.retried, act)

    async def _run(self, step: Step) -> None:
        size = "" if self._script.mode == EMPTY else SIZE
        request = LaunchRequest(
            template_text=self._template,
            argv=AGENT,
            workspace=WorkspaceSpec(mode=WorkspaceMode(self._script.mode), size=size),
            name=self._name,
            transport=self._script.transport,
            start_timeout=240.0,
        )
        await self._insist("run", lambda: self._launch(request))
        self._following.begin(until_started=not self._script.followed)
        await self._following.started()
        if not self._script.followed:
            await self._following.end()

    async def _launch(self, request: LaunchRequest) -> None:
        session = await self._verbs.launch(request, lambda progress: None)
        self._pod = pod_name(session.id)

    async def _stop(self, step: Step) -> None:
        self._following.ends()
        await self._insist("stop", lambda: self._verbs.stop(self._name, lambda progress: None))
        await self._following.end()

    async def _pause(self, step: Step) -> None:
        self._following.ends()
        await self._insist("pause", lambda: self._verbs.pause(self._name, lambda progress: None))
        await self._following.end()

    async def _resume(self, step: Step) -> None:
        await self._insist("resume", lambda: self._verbs.resume(self._name, lambda progress: None))
        if self._script.followed:
            self._following.begin()

    async def _reset(self, step: Step) -> None:
        await self._insist("reset", lambda: self._verbs.reset(self._name, lambda progress: None))

    async def _echo(self, step: Step) -> None:
        await self._insist("exec", lambda: self._inside.echo(step))

    async def _write(self, step: Step) -> None:
        await self._insist("exec", lambda: self._inside.write(step))

    async def _copy_in(self, step: Step) -> None:
        await self._insist("cp", lambda: self._inside.copy_in(step))

    async def _copy_out(self, step: Step) -> None:
        await self._insist("cp", lambda: self._inside.copy_out(step))

    async def _check(self, step: Step) -> None:
        await self._insist("exec", self._inside.check)

    async def _view(self, step: Step) -> None:
        seen = await self._verbs.view(self._name)
        if seen.session.state.phase in (Phase.FAILED, Phase.LOST):
            self.record.faults.append(f"view: {seen.word}, {seen.reason}")

    async def _list(self, step: Step) -> None:
        names = [seen.session.name for seen in await self._verbs.list_views()]
        if self._name not in names:
            self.record.lost.append("ls does not show it")

    async def _logs(self, step: Step) -> None:
        pieces: list[Output | Gap] = []

        async def read() -> None:
            pieces[:] = [piece async for piece in self._verbs.logs(self._name)]

        await self._insist("logs", read)
        self.record.lost += joined(pieces).lost

    async def _leave(self) -> None:
        """The transcript is complete: compare it, then end the session."""
        pieces = [piece async for piece in self._verbs.logs(self._name)]
        transcript = joined(pieces)
        self.record.lost += transcript.lost
        self.record.lost += check_lines(transcript.data, self.record.kills)
        heard = self._following.heard
        self.record.lost += heard.lost + heard.against(transcript.data)
        if self._script.followed and len(heard.data) != len(transcript.data):
            self.record.lost.append(f"the follower got {len(heard.data)} of {len(transcript.data)} bytes")
        self.record.output, self.record.sha256 = len(transcript.data), digest(transcript.data)
        if self._script.archived:
            await self._insist("archive", lambda: self._verbs.archive(self._name, lambda progress: None))
            self._tally.steps["archive"] += 1
        else:
            await _remove(self._verbs, self._name, self._tally)


async def _remove(verbs: SessionVerbs, name: str, tally: Tally) -> None:
    async def removed() -> None:
        try:
            await verbs.known(name)
        except NotFound:  # a try before this one did it, and its answer was lost
            return
        await verbs.remove(name, lambda progress: None)

    await insist("rm", tally.retried, removed)
    tally.steps["rm"] += 1


async def forget(verbs: SessionVerbs, record: Record, tally: Tally) -> None:
    """At the end of the soak, of an archived session: its transcript is still the same; then it goes."""
    pieces = [piece async for piece in verbs.logs(record.name)]
    if digest(joined(pieces).data) != record.sha256:
        record.lost.append("the transcript of the archived session is another one now")
    try:
        await _remove(verbs, record.name, tally)
    except Stuck as stuck:
        record.stuck.append(str(stuck))


_STEPS: dict[str, Callable[[Story, Step], Awaitable[None]]] = {
    "run": Story._run,
    "stop": Story._stop,
    "pause": Story._pause,
    "resume": Story._resume,
    "reset": Story._reset,
    "echo": Story._echo,
    "write": Story._write,
    "copy_in": Story._copy_in,
    "copy_out": Story._copy_out,
    "check": Story._check,
    "view": Story._view,
    "list": Story._list,
    "logs": Story._logs,
}
