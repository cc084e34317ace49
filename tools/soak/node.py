"""The cluster's own side: containers are killed on the node, its servers restarted, its history dropped.

Used by the stories and by the soak's clock. Works on the launcher's cluster only, and asks no API server.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from tools.live_cluster import LiveCluster

COMPONENTS = {
    "apiserver": ("restart", "apiserver"),
    "containerd": ("restart", "containerd-1"),
    "compact": ("compact",),
}
MAIN = "agent"


class Node:
    """Node 1 of a launcher's cluster."""

    def __init__(self, live: LiveCluster) -> None:
        if live.folder is None:
            raise LookupError("a soak kills parts of the cluster: it needs one that the launcher made")
        self._launcher, self._folder = live.launcher, live.folder
        self._ctr = str(Path(live.program).with_name("ctr"))

    async def _run(self, *argv: str) -> tuple[int, str]:
        """Its exit code, and its standard output; its standard error instead where it failed."""
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "MOORAGE_TEST_CLUSTER_DIR": str(self._folder)},
        )
        try:
            out, err = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        code = process.returncode or 0
        return code, (err if code else out).decode(errors="replace")

    async def _containerd(self, *words: str) -> tuple[int, str]:
        return await self._run(self._ctr, "-a", str(self._folder / "n1/ctd.sock"), "-n", "k8s.io", *words)

    async def kill(self, pod: str) -> bool:
        """SIGKILL the first process of the Pod's main container: nothing in it can tidy. False where none
        runs, or containerd does not answer."""
        labels = f'labels."io.kubernetes.pod.name"=={pod},labels."io.kubernetes.container.name"=={MAIN}'
        (failed, known), (failed_too, tasks) = (
            await self._containerd("containers", "ls", "-q", labels),
            await self._containerd("tasks", "ls"),
        )
        if failed or failed_too:
            return False
        rows = [line.split() for line in tasks.splitlines()]
        running = {row[0] for row in rows if len(row) == 3 and row[2] == "RUNNING"} & set(known.split())
        for container in running:
            code, _ = await self._containerd("tasks", "kill", "-s", "SIGKILL", container)
            if code == 0:
                return True
        return False

    async def containers(self, namespace: str) -> list[str]:
        """Containers of a namespace that the node still knows."""
        of_it = f'labels."io.kubernetes.pod.namespace"=={namespace}'
        _, known = await self._containerd("containers", "ls", "-q", of_it)
        return known.split()

    async def disturb(self, kind: str) -> str:
        """Carry out one disturbance; what went wrong with it, "" for nothing."""
        code, said = await self._run(*self._launcher, *COMPONENTS[kind])
        return "" if code == 0 else f"{kind}: {said.strip()[-300:]}"
