"""Runs the embedded cluster and its node until somebody ends it or nobody needs it. Called by ``__main__``.

An orderly end (Ctrl-C, SIGTERM, ``moorage down``) is like switching the machine off: containers end,
objects and volumes stay. A SIGKILL ends this process alone; shims go on, and the next one takes them over.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from moorage.core.kinds import PODS
from moorage.embedded.cluster import EmbeddedCluster
from moorage.embedded.node import LocalNode
from moorage.embedded.process import locks

NODE: str = "embedded"
_LOOKS_PER_IDLE = 20
_LOOK_SECONDS = 5.0


@dataclass(frozen=True)
class Running:
    """What is told once it answers. ``mode``: namespaces or plain; ``why``: why not namespaces."""

    cluster: EmbeddedCluster
    mode: str
    why: str


async def serve(
    folder: Path,
    ready: Callable[[Running], None],
    *,
    idle: float | None = None,
    mode: str = "auto",
    hidden: Sequence[Path] = (),
) -> None:
    """Serve the cluster in ``folder``. ``idle``: end so many seconds after the last Pod; None: never.
    ``hidden``: what no container may see, beside the folder itself.

    Raises StoreError as ``EmbeddedCluster.start`` does, NodeError when ``mode`` cannot be had.
    """
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    node = LocalNode(
        NODE,
        folder / "node",
        claims=folder / "volumes",
        mode=mode,
        hidden=[folder.resolve(), *(path.resolve() for path in hidden)],
    )
    cluster = EmbeddedCluster(folder, [node])
    async with contextlib.AsyncExitStack() as stack:
        await cluster.start()
        stack.push_async_callback(cluster.stop)
        stack.push_async_callback(node.destroy)
        stack.callback(os.close, locks.hold_record(folder / locks.READY))  # first to go: no longer ready
        users = locks.open_lock(folder / locks.USERS)
        stack.callback(os.close, users)
        ready(Running(cluster, node.mode.name, node.mode.why))
        waits: list[asyncio.Task[object]] = [asyncio.create_task(ended.wait())]
        if idle is not None:
            waits.append(asyncio.create_task(_until_unused(cluster, users, idle)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


async def _until_unused(cluster: EmbeddedCluster, users: int, idle: float) -> None:
    """Return, holding the users' lock, once there was no Pod for ``idle`` seconds and no command is here."""
    objects = cluster.objects("moorage-embedded")
    since = time.monotonic()
    while True:
        await asyncio.sleep(min(_LOOK_SECONDS, idle / _LOOKS_PER_IDLE))
        if objects.list(PODS):
            since = time.monotonic()
        elif time.monotonic() - since >= idle and locks.try_flock(users):
            return
