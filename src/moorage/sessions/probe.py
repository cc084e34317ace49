"""A probe: a short session of a profile, made to see that its Pod starts and agentctl answers, then removed.

Made by the connection test where a launch is asked for, swept by ``sessions.verbs`` and ``sessions.doctor``.
It is a session like any other (record, lease, proved create, delete by UID), told apart by its task id. So
what a killed command leaves of it is on record: ``ls`` shows it, ``rm`` removes it, and so does the next
``run``, ``rm`` or launching test. Starts nothing of a person's: its agent is agentctl itself.
"""

from __future__ import annotations

import asyncio
import contextlib

from moorage.core.bootstrap import AGENTCTL
from moorage.core.errors import MoorageError
from moorage.core.session import AgentSpec, Desired, Intent, Phase, Session, change
from moorage.ports.link import Output
from moorage.ports.sessions import Happening, Report
from moorage.ports.store import Allow
from moorage.sessions.carry import carry_out, drive_or_wait
from moorage.sessions.executors import ExecutorConfig
from moorage.sessions.owner import LEASE_TTL, Owner
from moorage.sessions.parts import Parts

PREFIX = "doctor-"
"""How the task id of a probe begins, and its name."""
PROGRAM = (AGENTCTL, "version")
"""What its agent runs: it is in every Pod that a helper was delivered to, and prints the UID of that Pod."""
ANSWER_LIMIT = 60.0
"""Seconds beyond the limit of its start in which that program must have ended."""
REMOVAL_LIMIT = 120.0
"""Seconds until a probe that does not go is left to the next command."""
SWEEP_LIMIT = 10.0
"""Seconds for what an earlier command left: the command is about something else."""
_ENDED = (Phase.PRESERVED, Phase.FAILED, Phase.LOST, Phase.ARCHIVED, Phase.DELETED)


def is_probe(session: Session) -> bool:
    """By its record."""
    return session.identity.task_id.startswith(PREFIX)


async def record(parts: Parts, config: ExecutorConfig, drafted: Session, allow: Allow | None) -> Session:
    """Put a probe of the drafted session on record; nothing of it is in the cluster before. Variables and
    command are left out. Conflict when its claim is another session's by now."""
    named = f"{PREFIX}{drafted.id}"
    probe: Session = change(
        drafted,
        identity=change(drafted.identity, task_id=named),
        name=named,
        agent=AgentSpec(argv=PROGRAM, cwd="/", grace_seconds=1.0),
        restart_allowed=False,
    )
    await parts.executors.remember(config)
    await parts.store.sessions.add(probe, {probe.inventory.bootstrap_ref: parts.ids.nonce().encode()}, allow)
    return probe


async def run(parts: Parts, probe: Session, report: Report) -> Session:
    """Drive it until its program has ended, or it has failed; as it is then. Raises what ``carry`` raises,
    and TimeoutError for a program that does not end."""
    async with asyncio.timeout(probe.start_timeout + ANSWER_LIMIT):
        return await drive_or_wait(parts, probe, report, _over, _over)


def _over(probe: Session) -> bool:
    return probe.state.phase in _ENDED


async def printed(parts: Parts, probe: Session) -> bytes:
    """What its program printed."""
    stored = await parts.store.transcripts.read(probe.id, 0)
    return b"".join(item.data for item in stored if isinstance(item, Output))


async def remove(parts: Parts, probe: Session, report: Report) -> str:
    """Pod, claim and record, each by its proof. Why something may be left, "" when nothing is: then it is on
    record that it shall go."""
    try:
        if _is_deleted(await parts.store.sessions.get(probe.id)):
            return ""
        async with asyncio.timeout(REMOVAL_LIMIT):
            await carry_out(parts, probe, _gone(parts), report)
    except TimeoutError:
        return f"it is not gone after {REMOVAL_LIMIT:.0f} s"
    except MoorageError as error:
        return error.message
    return ""


async def sweep(parts: Parts) -> None:
    """Probes that a killed command left, and that nobody drives. Best effort: what cannot be removed now is
    tried again by a later command."""
    for session in await parts.store.sessions.list_all():
        if is_probe(session):
            with contextlib.suppress(MoorageError, TimeoutError):
                await _sweep(parts, session)


async def _sweep(parts: Parts, probe: Session) -> None:
    """Under the lease that the one before us did not let go of: what it had sent may still arrive."""
    lease = await parts.store.leases.acquire(probe.id, parts.owner, ttl=LEASE_TTL)
    if lease is None:
        return
    try:
        cluster = await parts.executors.of(probe)
        await parts.store.sessions.set_intent(probe.id, _gone(parts))
    except BaseException:
        await parts.store.leases.release(lease)
        raise
    owner = Owner(parts, cluster, probe, lease, _unheard)
    try:
        async with asyncio.timeout(SWEEP_LIMIT):
            await owner.drive(_is_deleted)
    finally:
        await owner.close()


def _is_deleted(probe: Session) -> bool:
    return probe.state.phase is Phase.DELETED


def _gone(parts: Parts) -> Intent:
    """By force: nobody waits for the last words of a probe."""
    return Intent(desired=Desired.DELETED, at=parts.clock.now(), force=True)


def _unheard(happening: Happening) -> None:
    """Of a probe that another command made, nobody wants to hear."""
