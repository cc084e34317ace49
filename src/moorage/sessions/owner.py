"""The owner of a session: holds its lease and drives it, observe → plan → store → act → settle.

Made by ``sessions.attachment`` and ``sessions.carry``. Whatever it needs to know it reads anew in each round,
so it may die at any point and another may go on. Decides nothing itself: ``core.plans.session`` does.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import NoReturn

from moorage.core.diagnosis import start_steps
from moorage.core.errors import ApiError, Conflict, LinkError
from moorage.core.observed import Absent, Observed, Present, Unknown
from moorage.core.plans.actions import (
    Action,
    Connect,
    DeleteClaim,
    DeletePod,
    Drain,
    Forget,
    Materialize,
    Plan,
    Retry,
    StartAgent,
    Terminal,
)
from moorage.core.plans.changes import keeps_workspace
from moorage.core.plans.leaving import BETWEEN_STARTS, RETURN_LIMIT, UNREAD
from moorage.core.plans.observation import ClaimSeen, Seen, Trouble, Verdict
from moorage.core.plans.session import IDENTITY_CHANGED, plan_session
from moorage.core.session import Desired, Phase, Session, State, change
from moorage.engine.act import Actor
from moorage.engine.connection import Connection
from moorage.engine.failure import ActionFailed
from moorage.engine.fencing import fence
from moorage.engine.observe import Observer
from moorage.ports.cluster import Cluster
from moorage.ports.link import Gap, Link, Output
from moorage.ports.sessions import Happening, Progress
from moorage.ports.store import Lease, SessionEvent
from moorage.sessions.contact import Contact, identity_changed
from moorage.sessions.forget import forget
from moorage.sessions.output import OutputPump
from moorage.sessions.parts import Parts
from moorage.sessions.wake import Wake

Emit = Callable[[Happening], None]
Until = Callable[[Session], bool]
LEASE_TTL = 15.0
FORBIDDEN = 403
FINISH_TRIES = 4
"""Links over which the last output of an ended agent is asked for."""
OF_THE_CONTAINER = (Connect, Materialize, StartAgent, Drain)
"""Actions that speak to a container, and may take as long as it likes."""


class Owner:
    """Drives one session under one lease. ``emit`` receives progress and output as they happen.

    ``away``: seconds that an API server which has answered may stay away; before its first answer, and where
    this is None, the patience of ``parts`` counts."""

    def __init__(
        self,
        parts: Parts,
        cluster: Cluster,
        session: Session,
        lease: Lease,
        emit: Emit,
        *,
        away: float | None = None,
    ) -> None:
        self._parts = parts
        self._cluster = cluster
        self._lease = lease
        self._emit = emit
        self._said: set[tuple[str, str]] = set()
        self._trouble: Trouble | None = None
        self._same: Observed[bool] = Unknown("not checked yet")
        self._followed: tuple[Link, str] | None = None
        self._last: Action | None = None
        self._cut = 0
        # A removal may be cut short between a request and its answer, also by who lets go of its lease.
        self._fenced = not (lease.took_over or session.state.phase is Phase.CLEANING)
        self.session = session
        self.connection = Connection(cluster, parts.store, self._say)
        self._pump = OutputPump(parts.store, lease, self._deliver)
        self._observer = Observer(cluster, parts.clock)
        self._contact = Contact(
            parts.clock,
            lambda step, message: emit(Progress(step, message)),
            session.inventory.server_address,
            first=parts.patience,
            later=parts.patience if away is None else away,
            bears_refusal=away is not None,
        )
        self._wake = Wake(cluster, session.inventory, self._intent_number)
        self._actor = Actor(
            cluster,
            parts.store,
            lease,
            self.connection,
            clock=parts.clock,
            ids=parts.ids,
            say=self._say,
            source=parts.sources.stream,
            drained=self._finish_output,
        )

    def _say(self, step: str, message: str) -> None:
        if (step, message) not in self._said:
            self._said.add((step, message))
            self._emit(Progress(step, message))

    def _deliver(self, item: Output | Gap) -> None:
        self._emit(item)

    async def _intent_number(self) -> int:
        return (await self._parts.store.sessions.get(self.session.id)).intent.number

    async def drive(self, until: Until | None = None) -> Session:
        """Go on until nothing more will happen for the latest intent, or ``until`` holds.

        Raises IdentityChanged when the cluster is not the recorded one, Conflict when the lease is lost,
        Unreachable or AccessDenied when the API server cannot be asked for too long, StoreError when nothing
        more can be stored.
        """
        renewing, watching = asyncio.create_task(self._renew()), asyncio.create_task(self._wake.run())
        rounds, storing = asyncio.create_task(self._rounds(until)), asyncio.create_task(self._pump.fault())
        tasks = (rounds, renewing, storing, watching)
        try:
            done, _ = await asyncio.wait(tasks[:3], return_when=asyncio.FIRST_COMPLETED)
            return rounds.result() if rounds in done else await done.pop()
        finally:
            for task in tasks:
                task.cancel()
            self._contact.close()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _renew(self) -> NoReturn:
        while True:
            await self._parts.clock.sleep(LEASE_TTL / 3)
            if not await self._parts.store.leases.renew(self._lease, ttl=LEASE_TTL):
                raise Conflict(f"another process has taken over session {self.session.name}")

    async def _rounds(self, until: Until | None) -> Session:
        while True:
            self._wake.clear()
            self.session = await self._parts.store.sessions.get(self.session.id)
            plan = await self._plan()
            if plan.settle == Terminal(IDENTITY_CHANGED):
                raise identity_changed(self.session, gone=isinstance(self._same, Absent))
            await self._carry_out(plan)
            seen = not isinstance(plan.settle, Retry)  # else the state is the recorded one, not a look's
            if until is not None and seen and until(self.session):
                return self.session
            if isinstance(plan.settle, Terminal) and self.session.intent == plan.session.intent:
                return self.session
            # The same action again: the one before had no effect, whatever was answered (a lying agentctl).
            repeated = plan.action is not None and _same_act(plan.action, self._last)
            self._last = plan.action or self._last
            if plan.action is None or self._trouble is not None or repeated:
                await self._wait(plan)

    async def _plan(self) -> Plan:
        self._contact.asking()
        seen = await self._observe()
        plan = plan_session(self.session, seen, self._parts.clock.now())
        unknown = _waited_for(self.session, seen)
        if unknown is not None and plan.action is None and isinstance(plan.settle, Retry):
            self._contact.missed(self._observer.failure, unknown.why)
        else:
            self._contact.heard()
        return plan

    async def _observe(self) -> Seen:
        if self._same != Present(True):
            self._same = await self._observer.same_cluster(self.session.inventory)
        if self._same == Present(True) and not self._fenced:
            self._same = await self._fence()
        if isinstance(self._same, Unknown):  # who did not answer that is not asked more
            self._say("cluster", self._same.why)
            return Seen(self._same, Unknown(self._same.why), Unknown(self._same.why), None, self._trouble)
        pod = await self._observer.pod(self.session)
        claim: Observed[ClaimSeen] = Unknown("not asked for")
        if not isinstance(pod, Unknown):
            claim = await self._observer.claim(self.session)
        else:
            self._same = Unknown("not checked since the API server was lost")
            self._say("cluster", pod.why)
        if isinstance(pod, Present) and pod.value.verdict in (Verdict.OWNED, Verdict.ADOPTABLE):
            self._report_steps()
        link = await self.connection.seen(self.session)
        if link is not None and link.agent_state != "none":
            await self._follow_output(link.start_id)
            if link.agent_state == "exited" and not await self._all_output():
                link = None  # it broke before the end was read: over a new one
        return Seen(self._same, pod, claim, link, self._trouble)

    async def _fence(self) -> Observed[bool]:
        """Nothing is done after a takeover before the owner of before is shut out."""
        try:
            await fence(self._cluster, self.session, self._lease.fence)
        except ApiError as error:
            if error.problem.http_status != FORBIDDEN:
                self._observer.failure = error
                return Unknown(error.message)
            self._say("warning", f"the owner before us cannot be shut out: {error.message}")
        self._fenced = True
        return Present(True)

    async def _follow_output(self, start_id: str) -> None:
        """One pump for each run of the agent on each link."""
        link = self.connection.link
        if link is None or self._followed == (link, start_id):
            return
        self._followed = (link, start_id)
        self._wake.watch_link(link)
        await self._pump.start(link)

    async def _finish_output(self) -> None:
        """After a drain. Raises LinkError where the link broke before the end of the output was read."""
        if not await self._all_output():
            raise LinkError("the link broke before the last output was read")

    async def _all_output(self) -> bool:
        """Of an agent that has ended. False when the link broke meanwhile and should be tried anew; one that
        breaks each time is not waited for, no more than one that does not send the end."""
        complete = await self._pump.finish()
        if self._pump.failure is not None:
            await self.connection.close()
            self._cut += 1
            if self._cut < FINISH_TRIES:
                return False
            complete = False
        if not complete:
            self._say("warning", "output may be incomplete: agentctl did not send its end")
        return True

    def _report_steps(self) -> None:
        pod = self._observer.raw_pod
        starting = self.session.intent.desired is Desired.RUNNING
        if pod is None or not starting or self.session.state.phase is Phase.RUNNING:
            return
        main = self.session.inventory.snapshot.main_container
        for step, message in start_steps(pod, main, self._observer.raw_events):
            self._say(step, message)

    async def _carry_out(self, plan: Plan) -> None:
        """Store the plan's session, then act, then store what came of it."""
        if isinstance(plan.action, Forget):
            await self.connection.close()
            forgotten = await forget(self._parts, plan.session, self._lease)
            self.session = change(forgotten, run=plan.session.run)  # whoever follows is still told its end
            return
        await self._save(plan.session)
        if plan.action is None:
            self._trouble = None if isinstance(plan.settle, Terminal) else self._trouble
            return
        try:
            acted = await self._act(plan.action)
        except ActionFailed as failed:
            await self._note_failure(plan.action, failed)
            return
        if acted is None:
            return
        self._trouble = None
        await self._save(acted)
        if isinstance(plan.action, Materialize) and keeps_workspace(self.session):
            # An emptyDir can be discarded and filled again; what lies on a claim never is.
            await self._parts.sources.discard(self.session.id)
        if isinstance(plan.action, StartAgent):
            self._say("agent", f"running: {self.session.agent.argv[0]}")

    async def _act(self, action: Action) -> Session | None:
        """The session to store; None when a newer intent has cut the action short: a container that
        hangs must not keep waiting whoever wants to end it. Every handler may be begun anew. A request to the
        API server has its own limit and is never cut off."""
        if not isinstance(action, OF_THE_CONTAINER):
            return await self._actor.act(action, self.session)
        acting = asyncio.create_task(self._actor.act(action, self.session))
        overtaken = asyncio.create_task(self._overtaken(action))
        try:
            await asyncio.wait((acting, overtaken), return_when=asyncio.FIRST_COMPLETED)
            if acting.done():
                return acting.result()
            overtaken.result()
        finally:
            for task in (acting, overtaken):
                task.cancel()
            await asyncio.gather(acting, overtaken, return_exceptions=True)
        await self.connection.close()  # nothing goes on there that we no longer wait for
        return None

    async def _overtaken(self, action: Action) -> None:
        """Until somebody wants something else. Who is being ended is given its grace, unless by force."""
        intent = self.session.intent
        while True:
            await self._wake.newer_intent(intent.number)
            intent = (await self._parts.store.sessions.get(self.session.id)).intent
            if intent.force or not isinstance(action, Drain):
                return

    async def _note_failure(self, action: Action, failed: ActionFailed) -> None:
        name = type(action).__name__
        same = self._trouble is not None and self._trouble.action == name
        count = self._trouble.count + 1 if same and self._trouble else 1
        self._trouble = Trouble(name, failed.diagnosis, count)
        self._say("warning", failed.diagnosis.message)
        # The failed handler may have stored more than it could return (an issued nonce).
        self.session = await self._parts.store.sessions.get(self.session.id)

    async def _save(self, session: Session) -> None:
        before = await self._parts.store.sessions.get(session.id)
        if session != before:
            self.session = await self._parts.store.sessions.save(session, self._lease)
        else:
            self.session = before
        old, new = before.state, self.session.state
        if (old.phase, old.reason) != (new.phase, new.reason):
            why = _why(new)
            kind = "".join(part.title() for part in new.phase.value.split("_"))
            await self._parts.store.sessions.add_event(session.id, SessionEvent(new.since, kind, why))
            if new.phase is Phase.INTERRUPTED:
                self._say("warning", f"interrupted: {why}")
            if new.phase is Phase.CLEANING and why and why != UNREAD:
                self._say("delete", f"waiting: {why}")
            if new.phase is Phase.DRAINING and why == BETWEEN_STARTS:
                self._say("drain", f"waiting: {why}; for {RETURN_LIMIT:.0f} s at most")

    async def _wait(self, plan: Plan) -> None:
        seconds = plan.settle.after if isinstance(plan.settle, Retry) else None
        await self._wake.wait(seconds, plan.session.intent.number)

    async def close(self) -> None:
        """Let go: output first, then the link, then the lease, each also when one before it failed. The
        agent runs on."""
        async with contextlib.AsyncExitStack() as last_first:
            last_first.push_async_callback(self._parts.store.leases.release, self._lease)
            last_first.push_async_callback(self._wake.close)
            last_first.push_async_callback(self.connection.close)
            last_first.push_async_callback(self._pump.stop)


def _why(state: State) -> str:
    """For people. An interruption has a word of its own, beside what the cluster said."""
    said = state.diagnosis.message if state.diagnosis else ""
    if state.phase is Phase.INTERRUPTED and said and state.reason:
        return f"{state.reason}: {said}"
    return said or state.reason


def _same_act(action: Action, last: Action | None) -> bool:
    """A deletion of an object that changes all the time is one act, however often it changed meanwhile."""
    if isinstance(action, DeletePod | DeleteClaim) and isinstance(last, DeletePod | DeleteClaim):
        return type(action) is type(last) and action.uid == last.uid
    return action == last


def _waited_for(session: Session, seen: Seen) -> Unknown | None:
    """What must be known before anything can be planned. Ending an agent needs no claim."""
    parts: list[object] = [seen.same_cluster, seen.pod]
    if session.intent.desired is Desired.RUNNING or isinstance(seen.pod, Absent):
        parts.append(seen.claim)
    return next((part for part in parts if isinstance(part, Unknown)), None)
