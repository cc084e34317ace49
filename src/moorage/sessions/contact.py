"""Whether the API server answers, for how long it has not, and when that is too long for whoever waits.

Used by ``sessions.owner`` in each round, and by ``sessions.carry`` where another process drives. A refusal
(401, 403) is an answer: it ends the wait at once, with the right that is missing. Never tries again by
itself; giving up changes nothing: what was wished is on record, and the next command goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from moorage.core.diagnosis import diagnose_api
from moorage.core.errors import AccessDenied, ApiError, IdentityChanged, MoorageError, Unreachable
from moorage.core.session import Session
from moorage.ports.clock import Clock

NOTICE = 3.0
"""Seconds of silence after which it is said what is waited for."""
FOLLOWING = 600.0
"""Seconds that whoever follows an agent bears a lost server: the agent runs on meanwhile."""
_DENIED = (401, 403)


class Contact:
    """One wait for one API server. ``first``: seconds until its first answer, ``later``: seconds that it may
    be away after that. Silence counts from the question, so a call that waited for its whole time counts in
    full; no running call is cut off (a credential plugin may be waiting for a person).

    ``bears_refusal``: whoever was let in once bears a refusal like silence, because what it waits for goes on
    without it and the right may come back; ``let_in``: it was."""

    def __init__(
        self,
        clock: Clock,
        say: Callable[[str, str], None],
        address: str,
        *,
        first: float,
        later: float,
        bears_refusal: bool = False,
        let_in: bool = False,
    ) -> None:
        self._clock = clock
        self._say = say
        self._address = address
        self._patience = first
        self._later = later
        self._bears_refusal = bears_refusal
        self._let_in = let_in
        self._since: float | None = None
        self._notice: asyncio.Task[None] | None = None
        self._told = False

    def asking(self) -> None:
        """A look begins."""
        if self._since is None:
            self._since = self._clock.monotonic()
            self._notice = asyncio.create_task(self._tell())

    def heard(self) -> None:
        """It brought what was needed."""
        self._since, self._patience, self._let_in = None, self._later, True
        self.close()
        if self._told:
            self._told = False
            self._say("cluster", f"{self._address} answers again")

    def missed(self, failure: ApiError | None, why: str) -> None:
        """It did not. Raises AccessDenied when our identity is refused, Unreachable once silence has gone on
        for too long."""
        bears = self._bears_refusal and self._let_in
        if failure is not None and _refuses(failure) and not bears:
            raise unanswered(failure, self._address, why)
        since = self._clock.monotonic() if self._since is None else self._since
        if self._clock.monotonic() - since >= self._patience:
            raise unanswered(failure, self._address, why)

    async def _tell(self) -> None:
        await self._clock.sleep(NOTICE)
        self._told = True
        self._say("cluster", f"waiting for {self._address}, at most {self._patience:.0f} s")

    def close(self) -> None:
        """Repeatable."""
        if self._notice is not None:
            self._notice.cancel()
            self._notice = None


def _refuses(failure: ApiError) -> bool:
    """Said by the API server itself: the page of a proxy is none of its answers."""
    return failure.problem.kind == "status" and failure.problem.http_status in _DENIED


def unanswered(failure: ApiError | None, address: str, why: str) -> MoorageError:
    """The error for an API server that could not be asked. ``failure``: of the last call, as far as known."""
    if failure is None:
        return Unreachable(f"the API server {address} cannot be asked: {why}")
    if failure.problem.http_status in _DENIED:
        grant = diagnose_api(failure.problem, "asked").hint
        return AccessDenied(failure.message, hint=grant or failure.hint)
    if failure.problem.kind == "transport":
        return Unreachable(f"the API server does not answer: {failure.message}", hint=failure.hint)
    return Unreachable(f"the API server {address} cannot be asked: {failure.message}", hint=failure.hint)


def going_on(error: MoorageError, how: str) -> MoorageError:
    """The same error, that first says how to go on."""
    error.hint = f"{how}; {error.hint}" if error.hint else how
    return error


def identity_changed(session: Session, *, gone: bool) -> IdentityChanged:
    """Another API server or namespace answers than the recorded one."""
    if gone:
        return IdentityChanged(
            f"the namespace {session.inventory.namespace} that session {session.name} was made in is gone, "
            "and Pod and workspace with it",
            hint=f"remove the record with: moorage rm {session.name}",
        )
    return IdentityChanged(
        f"session {session.name} was made in another cluster or namespace",
        hint="name the right one with --context and -n; nothing was changed",
    )
