"""Leader election: run work only while we hold a Lease.

Called by processes of which one may act at a time. Decisions are in ``kube.lease_state``.

Guarantee: when a renewal has not succeeded for ``renew_deadline`` seconds (monotonic, shorter than the
lease's duration), the work is cancelled before anyone else may lead. After ``LeadershipLost`` the
process should exit: whatever it still holds may be old.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from moorage.core.errors import ApiError, MoorageError
from moorage.core.kinds import LEASES, Json
from moorage.kube.lease_state import Seen, may_take, observe, released, taken
from moorage.ports.cluster import Cluster


class LeadershipLost(MoorageError):
    """The lease could not be renewed, or another holds it."""

    code = "leadership_lost"


class Leader:
    """One candidate, ``identity``, for the Lease ``name``."""

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        identity: str,
        *,
        duration: int = 15,
        renew_deadline: float = 10.0,
        retry_every: float = 2.0,
    ) -> None:
        assert retry_every < renew_deadline < duration
        self._cluster, self._name, self._identity = cluster, name, identity
        self._duration, self._renew_deadline, self._retry_every = duration, renew_deadline, retry_every
        self._lease: Json | None = None
        self._seen: Seen | None = None
        self._renewed = 0.0

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, run ``work``, give the lease back when it ends.

        Raises LeadershipLost (``work`` was cancelled and has ended), or what ``work`` raised.
        """
        while True:
            if await self._attempt():
                break
            await asyncio.sleep(self._retry_every)
        working = asyncio.ensure_future(work())
        renewing = asyncio.create_task(self._keep(), name=f"renew lease {self._name}")
        try:
            await asyncio.wait([working, renewing], return_when=asyncio.FIRST_COMPLETED)
        finally:
            renewing.cancel()
            if not working.done():
                working.cancel()
            await asyncio.wait([working, renewing])
            lost = not renewing.cancelled() and renewing.exception() is not None
            if not lost:
                await self._release()
        if lost:
            with contextlib.suppress(asyncio.CancelledError):
                working.exception()  # looked at: the loss is what is reported
            raise LeadershipLost(
                f"the lease {self._name} was not renewed in time", hint="restart this process"
            )
        working.result()

    async def _keep(self) -> None:
        """Renew until that fails for ``renew_deadline`` seconds; then raise."""
        while True:
            await asyncio.sleep(self._retry_every)
            left = self._renewed + self._renew_deadline - time.monotonic()
            if left <= 0:
                raise LeadershipLost(f"the lease {self._name} was not renewed in time")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._attempt()
            if self._seen is not None and self._seen.record[0] not in ("", self._identity):
                raise LeadershipLost(f"the lease {self._name} is held by another")

    async def _attempt(self) -> bool:
        """One try to take or renew. False: not ours now."""
        began = time.monotonic()  # others may count from the write, which is after this
        try:
            self._lease = await self._read()
            now = time.monotonic()
            if self._lease is not None:
                self._seen = observe(self._lease, self._seen, now)
                if not may_take(self._lease, self._seen, self._identity, now):
                    return False
            mine = taken(self._lease, self._name, self._identity, self._duration, time.time())
            write = self._cluster.create if self._lease is None else self._cluster.replace
            self._lease = await write(LEASES, mine)
            self._seen = observe(self._lease, None, now)
        except ApiError:
            return False  # a conflict, a denial or no answer: the deadline decides what that means
        self._renewed = began
        return True

    async def _read(self) -> Json | None:
        try:
            return await self._cluster.get(LEASES, self._name)
        except ApiError as error:
            if error.problem.kind == "status" and error.problem.reason == "NotFound":
                return None
            raise

    async def _release(self) -> None:
        if self._lease is None:
            return
        with contextlib.suppress(ApiError, TimeoutError):
            async with asyncio.timeout(self._retry_every):
                await self._cluster.replace(LEASES, released(self._lease, time.time()))
