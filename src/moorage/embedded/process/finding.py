"""Finds the detached process of a folder, starts it when it does not run, ends it. Called by ``main``.

Loads no server. Two commands at once start one process; whoever waits may be interrupted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import signal
import sys
from pathlib import Path
from typing import Final

from moorage.core.errors import StoreError
from moorage.embedded.process import locks

IDLE_SECONDS: Final = 600.0
"""It ends so long after its last Pod."""
START_LIMIT: Final = 60.0
END_LIMIT: Final = 60.0


class DetachedCluster:
    """The process that serves the cluster in ``folder``. ``hidden``: what no container may see, beside it."""

    def __init__(self, folder: Path, *, hidden: Path | None = None, idle: float = IDLE_SECONDS) -> None:
        self.folder, self._hidden, self._idle = folder, hidden or folder, idle
        self._users = -1

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def pid(self) -> int | None:
        """The process that answers, None when there is none."""
        return locks.holder(self.folder / locks.READY)

    async def use(self) -> None:
        """See that it runs; until ``release`` it does not end by itself. Raises StoreError when it cannot."""
        if platform.system() != "Linux":
            hint = "name a cluster with --context"
            raise StoreError("the embedded cluster runs on Linux only", hint=hint)
        try:
            await self._take_part()
            async with asyncio.timeout(START_LIMIT):
                await self._started()
        except TimeoutError:
            why = f"the embedded cluster in {self.folder} did not start within {START_LIMIT:.0f} s"
            raise StoreError(why, hint=f"its log: {self.folder / 'log'}") from None
        except OSError as error:
            why = f"the embedded cluster cannot be in {self.folder}: {error.strerror}"
            raise StoreError(why, hint="give another --data-dir, one that you may write to") from error

    def release(self) -> None:
        """It may end now, when nobody else uses it."""
        if self._users >= 0:
            os.close(self._users)
            self._users = -1

    async def end(self) -> bool:
        """End it and the containers it runs; False when it did not run. Raises StoreError when it stays."""
        pid = self.pid
        if pid is None:
            return False
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            return False
        try:
            if self.pid == pid:  # still the one that we opened
                signal.pidfd_send_signal(process, signal.SIGTERM)
            async with asyncio.timeout(END_LIMIT):
                await _ended(process)
        except TimeoutError:
            why = f"the embedded cluster (process {pid}) has not ended within {END_LIMIT:.0f} s"
            raise StoreError(
                why, hint=f"its log: {self.folder / 'log'}; to force it: kill -9 {pid}"
            ) from None
        finally:
            os.close(process)
        return True

    async def _take_part(self) -> None:
        if self._users < 0:
            users = locks.open_lock(self.folder / locks.USERS)
            try:
                await locks.take_flock(users, shared=True)
            except BaseException:
                os.close(users)
                raise
            self._users = users

    async def _started(self) -> None:
        if self.pid is not None:
            return
        with contextlib.closing(os.fdopen(locks.open_lock(self.folder / locks.START), "r+b")) as start:
            await locks.take_flock(start.fileno())
            while self.pid is None:
                if locks.is_free(self.folder / locks.FOLDER):
                    await self._start()
                    return
                await asyncio.sleep(locks.POLL)  # it is about to be ready, or about to end

    async def _start(self) -> None:
        words = ["--data", str(self.folder), "--detach", "--idle", str(self._idle)]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-m",
            "moorage.embedded.process",
            *words,
            "--hide",
            str(self._hidden),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={"PATH": os.defpath},
            start_new_session=True,
        )
        told, _ = await process.communicate()
        if process.returncode:
            lines = told.decode(errors="replace").strip().splitlines() or ["it said nothing"]
            hint = next((line.partition("hint: ")[2] for line in lines if "hint: " in line), "")
            why = lines[0] if hint else lines[-1]
            raise StoreError(
                f"the embedded cluster did not start: {why}", hint=hint or f"its log: {self.folder / 'log'}"
            )


async def _ended(process: int) -> None:
    """Wait for the end of a process by its pidfd."""
    loop, gone = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(process, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(process)
