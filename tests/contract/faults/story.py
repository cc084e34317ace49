"""One session's story: led to a verb, the verb disturbed, the next one calm, everything judged, and removed.

Used by ``campaign``. A disturbed verb may fail with an error of ours that says what to do, or succeed and
then have done what it says; it may not hang, nor raise anything else. Afterwards nothing may tell that it was
disturbed.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from moorage.core.errors import MoorageError, NotFound
from moorage.core.session import Phase, WorkspaceMode, WorkspaceSpec
from moorage.ports.link import Gap, Output, ProcessSpec
from moorage.ports.sessions import Exited, LaunchRequest, Progress, SessionVerbs

from .faults import FORWARD, TIMEOUT
from .people import Person
from .schedule import Running, Schedule

NAME = "s"
PATIENCE = 240.0
"""Seconds after which a verb is given up as hanging; never a measure of success."""
PORT = 8080
# Each start counts itself in the workspace, so the output tells a workspace lost from one kept, an agent
# started twice from one started once, and a byte shown twice from one shown once.
COUNTING = 'sha256sum seed; echo x >> runs; echo "run $(wc -l < runs)"; '
WAITS = ("sh", "-c", COUNTING + f"exec httpd -f -p 127.0.0.1:{PORT} -h /workspace")
LINGERS = ("sh", "-c", COUNTING + "sleep 1; exit 3")
EXITS = ("sh", "-c", COUNTING + "exit 3")
TEMPLATE = b"""{"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}, "template": {"spec": {
"terminationGracePeriodSeconds": 0, "containers": [
{"name": "agent", "image": "localhost/busybox:test", "imagePullPolicy": "Never"}]}}}"""

LEADS = {"run": (), "resume": ("run -d", "stop"), "resume-paused": ("run -d", "pause")}
"""Commands before the verb; ``run -d`` where nothing else stands here."""
ENDS = {"run": "Stopped", "attach": "Stopped", "stop": "Stopped", "pause": "Paused", "archive": "Stopped"}
"""The status word afterwards; ``Running`` where nothing else stands here."""
NEXT = {"run -d": "resume", "resume-paused": "resume", "reset": "resume"}
"""The command that goes on where a verb failed, if that is not the verb itself."""
STARTS = {"run": (1,), "resume": (1,), "resume-paused": (1,), "reset": (0, 1)}
"""How many more starts of the agent the output may tell of; none where nothing stands here."""
REMOVING = ("archive", "rm")


class Story:
    """One schedule's session. ``outcome``: what the disturbed verb came to."""

    def __init__(self, schedule: Schedule, running: Running, person: Person, folder: Path) -> None:
        self._schedule, self._running, self._person = schedule, running, person
        rng = schedule.rng
        self._seed = rng.randbytes(rng.choice((100, 40_000)))
        self._given = rng.randbytes(3000)
        self._transport = rng.choice(("auto", "portforward", "exec"))
        if any(shot.call == FORWARD for shot in schedule.shots) and self._transport == "exec":
            self._transport = "auto"
        self._source = folder / "source"
        self._source.mkdir()
        (self._source / "seed").write_bytes(self._seed)
        self._shown = b""
        self._starts = {0}
        self.session_id = self.outcome = self.hint = ""

    @property
    def verb(self) -> str:
        return self._schedule.pair.verb

    async def lead(self) -> None:
        """Get to where the verb can begin."""
        for verb in LEADS.get(self.verb, ("run -d",)):
            await self._calm(verb)
            self._count(1 if verb == "run -d" else 0)

    async def disturbed(self) -> None:
        """The verb, and what goes wrong with it."""
        self._running.under_way = self.verb
        try:
            await self._do(self.verb, TIMEOUT)
            self.outcome = "done"
        except MoorageError as error:
            self.hint = error.hint
            self.outcome = f"{type(error).__name__}: {error.message}"
        finally:
            self._running.under_way = ""
        assert self.outcome == "done" or self.hint, f"says not what to do: {self.outcome}"

    async def go_on(self) -> None:
        """Calm again: what a person does next works, and ends where the verb should have."""
        if self.verb in ("run", "attach"):
            await self._followed_on()
        elif self.outcome != "done":
            await self._found()
            await self._calm(NEXT.get(self.verb, self.verb))
        self._count(*STARTS.get(self.verb, (0,)))
        if self.verb != "rm":
            word = await self._look()
            assert word == ENDS.get(self.verb, "Running"), word
            await self._output_tells()

    async def removed(self) -> None:
        """Nothing of it stays here; what stays in the cluster is for the judge."""
        if self.verb != "rm":
            await self._calm("rm")
        left = self._person.left()
        assert left == [], left

    async def _found(self) -> Phase | None:
        """The phase the verb left; None where there is no session. What passes by itself is no reason to give
        a session up: only a proxy that takes no request of that size is one."""
        try:
            async with self._person.command() as sessions:
                state = (await sessions.view(NAME)).session.state
        except NotFound:
            return None
        too_large = state.diagnosis is not None and state.diagnosis.reason == "TooLarge"
        assert state.phase not in (Phase.FAILED, Phase.LOST) or too_large, state
        return state.phase

    async def _followed_on(self) -> None:
        """A `run` that was disturbed may not have come to a session. Both together show each byte once."""
        if self.outcome != "done":
            found = await self._found()
            if found is Phase.FAILED:
                await self._calm("resume")
            await self._calm("run" if found is None else "attach")
        assert self._shown == self._text(1), self._shown

    async def _calm(self, verb: str) -> None:
        await self._do(verb, 60.0)

    async def _do(self, verb: str, timeout: float) -> None:
        async with asyncio.timeout(PATIENCE), self._person.command(timeout) as sessions:
            await _VERBS[verb](self, sessions)

    def _count(self, *more: int) -> None:
        self._starts = {old + new for old in self._starts for new in more}

    def _text(self, starts: int) -> bytes:
        digest = hashlib.sha256(self._seed).hexdigest()
        return b"".join(f"{digest}  seed\nrun {n}\n".encode() for n in range(1, starts + 1))

    async def _look(self) -> str:
        async with self._person.command() as sessions:
            seen = await sessions.view(NAME)
        self.session_id = seen.session.id
        return seen.word

    async def _output_tells(self) -> None:
        """The output is that of all starts in one workspace: each byte once, none missing."""
        whole = [self._text(starts) for starts in self._starts]
        async with asyncio.timeout(PATIENCE):
            while True:
                async with self._person.command() as sessions:
                    out = await _output(sessions)
                if out in whole:
                    return
                assert any(text.startswith(out) for text in whole), out  # an agent may not have printed yet
                await asyncio.sleep(0.2)  # sleep: between two looks at what the agent wrote

    # The verbs, as a person types them.

    def _request(self, argv: tuple[str, ...]) -> LaunchRequest:
        return LaunchRequest(
            template_text=TEMPLATE,
            argv=argv,
            workspace=WorkspaceSpec(WorkspaceMode.MANAGED_PVC, size="1Mi", storage_class="immediate"),
            name=NAME,
            source=str(self._source),
            env={"TOKEN": "planted"},
            grace_seconds=0,
            transport=self._transport,
        )

    async def _run(self, sessions: SessionVerbs) -> None:
        await sessions.launch(self._request(EXITS), _ignored)
        await self._attach(sessions)

    async def _run_detached(self, sessions: SessionVerbs) -> None:
        command = LINGERS if self.verb == "attach" else WAITS
        launched = await sessions.launch(self._request(command), _ignored)
        self.session_id = launched.id
        await sessions.resume(NAME, _ignored)

    async def _attach(self, sessions: SessionVerbs) -> None:
        """To the agent's end."""
        attachment = sessions.attach(NAME)
        ended: list[Exited] = []
        try:
            async for happening in attachment.happenings():
                if isinstance(happening, Output):
                    self._shown += happening.data
                elif isinstance(happening, Exited):
                    ended.append(happening)
                assert not isinstance(happening, Gap), happening
        finally:
            await attachment.close()
        assert [end.exit.code for end in ended] == [3], ended

    async def _resume(self, sessions: SessionVerbs) -> None:
        view = await sessions.resume(NAME, _ignored)
        assert view.session.state.phase in (Phase.RUNNING, Phase.PRESERVED), view.session.state

    async def _stop(self, sessions: SessionVerbs) -> None:
        view = await sessions.stop(NAME, _ignored)
        assert view.session.state.phase is Phase.PRESERVED, view.session.state

    async def _pause(self, sessions: SessionVerbs) -> None:
        view = await sessions.pause(NAME, _ignored)
        assert view.session.state.pod == "released", view.session.state

    async def _reset(self, sessions: SessionVerbs) -> None:
        view = await sessions.reset(NAME, _ignored)
        assert view.session.state.phase is Phase.RUNNING, view.session.state

    async def _archive(self, sessions: SessionVerbs) -> None:
        view = await sessions.archive(NAME, _ignored)
        assert view.session.state.phase is Phase.ARCHIVED, view.session.state

    async def _rm(self, sessions: SessionVerbs) -> None:
        try:
            await sessions.remove(NAME, _ignored)
        except NotFound:
            if self.outcome in ("", "done"):  # else the disturbed one may have come that far
                raise

    async def _exec(self, sessions: SessionVerbs) -> None:
        process = await sessions.exec(NAME, ProcessSpec(argv=["cat", "seed"]))
        try:
            await process.close_stdin()
            read = b""
            while (chunk := await process.read()) is not None:
                read += chunk[1]
            assert (await process.wait()).code == 0
        finally:
            await process.close()
        assert read == self._seed

    async def _cp(self, sessions: SessionVerbs) -> None:
        await sessions.put_tar(NAME, "/workspace", _tar("given", self._given))
        packed = b"".join([chunk async for chunk in sessions.get_tar(NAME, "/workspace/given")])
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            member = archive.extractfile(archive.getmembers()[0])
            assert member is not None
            assert member.read() == self._given

    async def _port_forward(self, sessions: SessionVerbs) -> None:
        stream = await _dialled(sessions)
        try:
            await stream.write(b"GET /seed HTTP/1.0\r\n\r\n")
            answer = b""
            while data := await stream.read():
                answer += data
        finally:
            await stream.close()
        assert answer.partition(b"\r\n\r\n")[2] == self._seed

    async def _logs(self, sessions: SessionVerbs) -> None:
        out = await _output(sessions)
        assert self._text(1).startswith(out), out

    async def _ls(self, sessions: SessionVerbs) -> None:
        (seen,) = await sessions.list_views()
        assert seen.word in ("Running", "Unknown"), (seen.word, seen.reason)

    async def _events(self, sessions: SessionVerbs) -> None:
        assert await sessions.events(NAME, _ignored)


Verb = Callable[[Story, SessionVerbs], Awaitable[None]]
_VERBS: dict[str, Verb] = {
    "run": Story._run,
    "run -d": Story._run_detached,
    "attach": Story._attach,
    "resume": Story._resume,
    "resume-paused": Story._resume,
    "stop": Story._stop,
    "pause": Story._pause,
    "reset": Story._reset,
    "archive": Story._archive,
    "rm": Story._rm,
    "exec": Story._exec,
    "cp": Story._cp,
    "port-forward": Story._port_forward,
    "logs": Story._logs,
    "ls": Story._ls,
    "events": Story._events,
}


def _ignored(progress: Progress) -> None:
    """Nobody reads what is said on the way."""


async def _output(sessions: SessionVerbs) -> bytes:
    out = b""
    async for item in sessions.logs(NAME):
        assert isinstance(item, Output), item
        out += item.data
    return out


async def _dialled(sessions: SessionVerbs) -> Any:
    """The agent's server needs a moment from its start to its port."""
    while True:
        try:
            return await sessions.dial(NAME, PORT)
        except NotFound as error:
            if error.details.get("code") != "unreachable":
                raise
            await asyncio.sleep(0.1)  # sleep: between two attempts to reach its server


async def _tar(name: str, content: bytes) -> AsyncIterator[bytes]:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    yield packed.getvalue()
