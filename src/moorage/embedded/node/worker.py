"""Looks after one Pod from its binding to its removal. Made by ``node.local``, one task per Pod.

It acts on what is: the Pod as stored, the starts its folder tells of, what its shim says. So it may begin
anywhere in a Pod's life, and a node that was killed goes on where it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from moorage.core.kinds import PODS, Json
from moorage.embedded.node import admit, ending, records
from moorage.embedded.node.decide import Waiting, decide, deleted_phase, startup_order
from moorage.embedded.node.environment import ConfigMissing
from moorage.embedded.node.logs import last_words
from moorage.embedded.node.parts import Parts
from moorage.embedded.node.probes import Probes, Verdict
from moorage.embedded.node.pulse import Pulse
from moorage.embedded.node.records import Attempt
from moorage.embedded.node.runtime.plain import program, rewrite
from moorage.embedded.node.shims import Shim, ShimGone
from moorage.embedded.node.starting import CannotStart, Starter, remove_tree
from moorage.embedded.node.status import Facts, failed_status, pod_status
from moorage.embedded.node.streams import run_command
from moorage.embedded.node.volumes import Volumes
from moorage.embedded.seam import NodeError

log = logging.getLogger(__name__)
OVER = ("Succeeded", "Failed")
MESSAGE_BYTES = 4096
RETRY = 1.0
OVERDUE = "Pod was active on the node longer than the specified deadline"


class Worker:
    """``pod``: as last told; ``output``, ``changed``: beat on more to read, on a changed container or Pod."""

    def __init__(self, parts: Parts, pod: Json) -> None:
        self.pod, self._parts, self.uid = pod, parts, pod["metadata"]["uid"]
        self.folder = parts.pod_folder(self.uid)
        self.shim = Shim(self.folder, parts.mode)
        self._volumes = Volumes(parts.objects, self.folder, parts.memory_folder(self.uid), parts.claims)
        self._starter = Starter(parts, self.folder, self.shim, self._volumes)
        self.sources: dict[str, Path] = {}
        self.attempts: dict[str, list[Attempt]] = {}
        self.output, self.changed = Pulse(), Pulse()
        self.removed = False
        self._blocked: dict[str, tuple[Waiting, float]] = {}
        self._probes: dict[str, Probes] = {}
        self._listener: asyncio.Task[None] | None = None
        self._side: set[asyncio.Task[None]] = set()

    # What others tell it.

    def told(self, pod: Json) -> None:
        """The Pod as it is now."""
        self.pod = pod
        self.changed.beat()

    def gone(self) -> None:
        """The Pod is no longer stored: end what runs at once."""
        self.removed = True
        self.changed.beat()

    def last(self, name: str) -> Attempt | None:
        """The newest start of a container."""
        attempts = self.attempts.get(name)
        return attempts[-1] if attempts else None

    def words(self, name: str, command: list[str]) -> list[str]:
        """A command as it must be given to the shim: in mode plain with paths that are really there."""
        if self._parts.mode != "plain":
            return command
        given = startup_order(self.pod)[name]
        real = {
            mount["mountPath"].rstrip("/"): str(self.sources[mount["name"]].resolve())
            for mount in given.get("volumeMounts") or []
            if mount["name"] in self.sources and not mount.get("subPath")
        }
        image = self._parts.images.find(given["image"])
        root = str(image.root) if image is not None and image.root is not None else ""
        return program([rewrite(word, real) for word in command], root)

    def say(self, type_: str, reason: str, message: str) -> None:
        """An Event on this Pod."""
        self._parts.event(self.pod, type_, reason, message)

    # Its life.

    async def run(self) -> None:
        """Until the Pod is removed."""
        try:
            await self._adopt()
            while not self.removed:
                count = self.changed.count
                try:
                    wait = await self._sync()
                except ShimGone:
                    self._lost()
                    wait = RETRY
                except Exception as error:
                    log.exception("pod %s", self.pod["metadata"]["name"])
                    self.say("Warning", "FailedSync", f"error determining status: {error}")
                    wait = RETRY
                if not self.removed:
                    await self.changed.after(count, wait)
            await self._clean()
        finally:
            self._let_go()

    async def _adopt(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._parts.memory_folder(self.uid).mkdir(parents=True, exist_ok=True, mode=0o755)
        for name, attempts in records.load(self.folder).items():
            self.attempts[name] = [self._with_message(each) for each in attempts]
        if await self.shim.answers():
            self._listen()
        else:
            self._lost()

    def _lost(self) -> None:
        for name, attempts in self.attempts.items():
            now = self._parts.clock()
            self.attempts[name] = [
                records.mark_lost(self.folder, each, now) if each.running else each for each in attempts
            ]
        self._listener = None

    def _listen(self) -> None:
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._hear())

    async def _hear(self) -> None:
        try:
            async with contextlib.aclosing(self.shim.changes()) as changes:
                async for change in changes:
                    for record in change.get("records", [change["record"]] if "record" in change else []):
                        self._noted(record)
                    self.output.beat()
                    if "log" not in change:
                        self.changed.beat()
        except ShimGone:
            pass
        self._lost()
        self.output.beat()
        self.changed.beat()

    def _noted(self, record: dict[str, Any]) -> None:
        attempt = records.attempt_from(record)
        attempts = self.attempts.setdefault(attempt.name, [])
        known = [at for at, each in enumerate(attempts) if each.number == attempt.number]
        if not known:
            attempts.append(self._with_message(attempt))
            attempts.sort(key=lambda each: each.number)
        elif attempts[known[0]].running or attempt.running:
            if not attempts[known[0]].running and attempt.running:
                return  # an older word than what we know
            attempts[known[0]] = self._with_message(attempt)
        if not attempt.running and attempt.name in self._probes:
            self._probes.pop(attempt.name).cancel()
        elif attempt.running:
            self._probe(attempt.name)

    def _with_message(self, attempt: Attempt) -> Attempt:
        """The record with the container's own last words, where it left some."""
        if attempt.running or attempt.message:
            return attempt
        folder = records.attempt_folder(self.folder, attempt.name, attempt.number)
        container = startup_order(self.pod).get(attempt.name) or {}
        message = ""
        with contextlib.suppress(OSError):
            message = (folder / "termination").read_bytes()[:MESSAGE_BYTES].decode(errors="replace")
        falls_back = container.get("terminationMessagePolicy") == "FallbackToLogsOnError"
        if not message and falls_back and attempt.code:
            message = last_words(folder / "log")
        return dataclasses.replace(attempt, message=message)

    # One look.

    async def _sync(self) -> float | None:
        """Bring what runs to what is asked; seconds until the next look, None: when something changes."""
        if self.pod["metadata"].get("deletionTimestamp"):
            await self._delete()
            return None
        if (self.pod.get("status") or {}).get("phase") in OVER:
            await self._settle((self.pod["status"])["phase"])
            return None
        refused = admit.refusal(self.pod, self._parts)
        if refused is not None:
            self.say("Warning", refused[0], refused[1])
            self._write(failed_status(self.pod, *refused, self._parts.clock()))
            return None
        over = admit.deadline(self.pod, self._parts.clock())
        if over <= 0:
            await self._fail("DeadlineExceeded", OVERDUE)
            return None
        try:
            self.sources = self._volumes.prepare(self.pod)
        except ConfigMissing as error:
            self.say("Warning", "FailedMount", str(error))
            self._report(sandbox=bool(self.attempts))
            return self._parts.timing.volumes
        if unknown := admit.unknown_handler(self.pod, self._parts):
            self.say("Warning", "FailedCreatePodSandBox", unknown)
            self._report(sandbox=False)
            return self._parts.timing.volumes
        await self.shim.start()
        self._listen()
        return min(await self._step(), over)

    async def _step(self) -> float:
        now = self._parts.clock()
        decision = decide(self.pod, self.attempts, self._is_started, now, self._parts.timing.backoff)
        soon = self._parts.timing.refresh
        # With what holds a container up still there: two words in turn would be a change each time.
        self._report({**decision.waiting, **self._holding(decision.start)})
        for name in decision.start:
            waiting, due = self._blocked.get(name, (None, 0.0))
            if waiting is None or now >= due:
                await self._start(name)
            if name in self._blocked:
                soon = min(soon, max(0.05, self._blocked[name][1] - now))
        for name, waiting in decision.waiting.items():
            if waiting.reason == "CrashLoopBackOff" and self._blocked.get(name, (None,))[0] != waiting:
                self._blocked[name] = (waiting, decision.look_at)
                self._say_back_off(name)
        if decision.phase:
            await self._settle(decision.phase)
            return soon
        self._report({**decision.waiting, **self._holding(decision.start)})
        return min(soon, max(0.0, decision.look_at - now)) if decision.look_at else soon

    def _holding(self, names: Iterable[str]) -> dict[str, Waiting]:
        """Why those of ``names`` that cannot start do not."""
        return {name: self._blocked[name][0] for name in names if name in self._blocked}

    def _say_back_off(self, name: str) -> None:
        metadata = self.pod["metadata"]
        who = f"{metadata['name']}_{metadata.get('namespace')}({self.uid})"
        self.say("Warning", "BackOff", f"Back-off restarting failed container {name} in pod {who}")

    async def _start(self, name: str) -> None:
        container = startup_order(self.pod)[name]
        last = self.last(name)
        number = 0 if last is None else last.number + 1
        try:
            record = await self._starter.start(self.pod, container, number, self.sources)
        except CannotStart as error:
            self._blocked[name] = (error.waiting, self._parts.clock() + error.again)
            return
        self._blocked.pop(name, None)
        self._noted(record)
        self.changed.beat()
        if (container.get("lifecycle") or {}).get("postStart"):
            self._beside(self._post_start(container))

    async def _post_start(self, container: Json) -> None:
        if failed := await ending.run_hook(self, container, "postStart"):
            self.say("Warning", "FailedPostStartHook", f"PostStartHook failed: {failed}")
            await self._restart(container, "failed postStart hook")

    def _report(
        self, waiting: dict[str, Waiting] | None = None, phase: str = "", *, sandbox: bool = True
    ) -> None:
        facts = Facts(
            attempts=self.attempts,
            waiting=waiting or {},
            ready=lambda name: name not in self._probes or self._probes[name].ready,
            started=self._is_started,
            image_id=self._parts.images.image_id,
            phase=phase,
            sandbox=sandbox,
        )
        newest = self._parts.newest(self.pod)
        if newest is not None:
            self._write(pod_status(newest, facts, self._parts.clock()))

    def _write(self, status: Json) -> None:
        newest = self._parts.newest(self.pod)
        if newest is not None and newest.get("status") != status:
            self.pod = self._parts.objects.update_status(PODS, {**newest, "status": status})

    def _is_started(self, name: str) -> bool:
        return name not in self._probes or self._probes[name].started

    # Probes.

    def _probe(self, name: str) -> None:
        container = startup_order(self.pod).get(name)
        if container is not None and name not in self._probes:
            self._probes[name] = Probes(container, self._run, self._unhealthy, self._judged)

    async def _run(self, name: str, command: list[str]) -> tuple[int, str]:
        attempt = self.last(name)
        if attempt is None or not attempt.running:
            raise OSError("the container does not run")
        try:
            return await run_command(self.shim, attempt.id, self.words(name, command))
        except NodeError as error:
            return 1, error.message

    def _unhealthy(self, kind: str, name: str, message: str) -> None:
        self.say("Warning", "Unhealthy", f"{kind.capitalize()} probe failed: {message}")

    def _judged(self, verdict: Verdict) -> None:
        self.changed.beat()
        if not verdict.success and verdict.kind != "readiness":
            container = startup_order(self.pod)[verdict.container]
            self._beside(self._restart(container, f"failed {verdict.kind} probe"))

    async def _restart(self, container: Json, why: str) -> None:
        """End a container; whether it starts again is decided as after any end."""
        self.say("Normal", "Killing", f"Container {container['name']} {why}, will be restarted")
        until = asyncio.get_running_loop().time() + ending.grace(self.pod)
        await ending.end_container(self, container, lambda: until)

    # Ends.

    async def _delete(self) -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await ending.end_all(self, lambda: 0.0 if self.removed else begun + ending.grace(self.pod))
        if (self.pod.get("status") or {}).get("phase") not in OVER:
            self._report(phase=deleted_phase(self.pod, self.attempts), sandbox=False)
        await self._clean()
        metadata = self.pod["metadata"]
        self._parts.objects.remove(PODS, metadata.get("namespace", ""), metadata["name"], self.uid)

    async def _settle(self, phase: str) -> None:
        """Every main container has ended for good: so do the sidecars, and the phase is written."""
        loop = asyncio.get_running_loop()
        until = loop.time() + ending.grace(self.pod)
        await ending.end_all(self, lambda: until)
        if (self.pod.get("status") or {}).get("phase") not in OVER:
            self._report(phase=phase, sandbox=False)
        await self.shim.end()

    async def _fail(self, reason: str, message: str) -> None:
        self.say("Normal", reason, message)
        await self._settle("Failed")
        self._write({**(self.pod.get("status") or {}), "reason": reason, "message": message})

    async def _clean(self) -> None:
        await self.shim.end()
        await asyncio.to_thread(self._remove_folders)

    def _remove_folders(self) -> None:
        remove_tree(self.folder)
        remove_tree(self._parts.memory_folder(self.uid))

    def _beside(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._side.add(task)
        task.add_done_callback(self._side.discard)

    def _let_go(self) -> None:
        for probes in self._probes.values():
            probes.cancel()
        for task in [*self._side, *([self._listener] if self._listener else [])]:
            task.cancel()
