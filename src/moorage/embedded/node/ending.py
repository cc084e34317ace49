"""Ends containers as a kubelet does: preStop hook, TERM, grace, KILL. Called by ``node.worker``."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import Protocol

from moorage.core.kinds import Json
from moorage.embedded.node.decide import is_sidecar
from moorage.embedded.node.probes import http_get
from moorage.embedded.node.pulse import Pulse
from moorage.embedded.node.records import Attempt
from moorage.embedded.node.shims import Shim, ShimGone
from moorage.embedded.node.streams import run_command
from moorage.embedded.seam import NodeError

DEFAULT_GRACE = 30.0


class Running(Protocol):
    """What ends containers needs of a worker."""

    shim: Shim
    changed: Pulse
    pod: Json

    def last(self, name: str) -> Attempt | None: ...
    def words(self, name: str, command: list[str]) -> list[str]: ...
    def say(self, type_: str, reason: str, message: str) -> None: ...


async def run_hook(worker: Running, container: Json, kind: str) -> str:
    """Run ``postStart`` or ``preStop``; what went wrong, or ``""``."""
    hook = (container.get("lifecycle") or {}).get(kind) or {}
    attempt = worker.last(container["name"])
    try:
        if "exec" in hook and attempt is not None:
            code, said = await run_command(
                worker.shim, attempt.id, worker.words(container["name"], hook["exec"]["command"])
            )
            return f"command exited with {code}: {said}" if code else ""
        if "httpGet" in hook:
            good, said = await http_get(hook["httpGet"], container)
            return "" if good else said
        if "sleep" in hook:
            await asyncio.sleep(hook["sleep"].get("seconds") or 0)
    except (OSError, NodeError) as error:
        return str(error)
    return ""


async def end_container(worker: Running, container: Json, deadline: Callable[[], float]) -> None:
    """End it and wait until it has. ``deadline``: the time of the event loop when KILL follows; asked anew,
    for a person may shorten it."""
    attempt = worker.last(container["name"])
    if attempt is None or not attempt.running:
        return
    worker.say("Normal", "Killing", f"Stopping container {container['name']}")
    await _pre_stop(worker, container, deadline)
    number = _stop_signal(container)
    while (attempt := worker.last(container["name"])) is not None and attempt.running:
        count = worker.changed.count
        left = deadline() - asyncio.get_running_loop().time()
        if left <= 0:
            number = signal.SIGKILL
        with contextlib.suppress(ShimGone):
            if number:
                await worker.shim.ask("signal", id=attempt.id, number=int(number))
        number = 0
        await worker.changed.after(count, max(left, 0.0) if left > 0 else 1.0)


def _stop_signal(container: Json) -> int:
    name = str((container.get("lifecycle") or {}).get("stopSignal") or "SIGTERM")
    return int(signal.Signals.__members__.get(name, signal.SIGTERM))


async def _pre_stop(worker: Running, container: Json, deadline: Callable[[], float]) -> None:
    if not (container.get("lifecycle") or {}).get("preStop"):
        return
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(run_hook(worker, container, "preStop"))
    while not task.done() and loop.time() < deadline():
        await asyncio.wait([task], timeout=min(1.0, max(0.0, deadline() - loop.time())))
    if not task.done():
        task.cancel()
        worker.say("Warning", "FailedPreStopHook", "PreStopHook failed: the grace period is over")
    elif failed := task.result():
        worker.say("Warning", "FailedPreStopHook", f"PreStopHook failed: {failed}")


async def end_all(worker: Running, deadline: Callable[[], float]) -> None:
    """Main and init containers at once, then the sidecars, last started first."""
    spec = worker.pod["spec"]
    init = spec.get("initContainers") or []
    first = [*spec["containers"], *(each for each in init if not is_sidecar(each))]
    await asyncio.gather(*(end_container(worker, each, deadline) for each in first))
    for sidecar in reversed([each for each in init if is_sidecar(each)]):
        await end_container(worker, sidecar, deadline)


def grace(pod: Json) -> float:
    """Seconds between TERM and KILL for this Pod as it is now."""
    asked = pod["metadata"].get("deletionGracePeriodSeconds")
    if asked is None:
        asked = pod["spec"].get("terminationGracePeriodSeconds")
    return DEFAULT_GRACE if asked is None else float(asked)
