"""The owner's link to one Pod: opened, repaired over exec, asked, closed. Called by ``engine.act``.

``pods/exec`` is the root of trust: where nothing answers on the link, the helper and a nonce are delivered
anew by exec, to the Pod whose UID is on record. Never starts or ends an agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable

from moorage.core.bootstrap import check_node, check_platform
from moorage.core.diagnosis import diagnose_api
from moorage.core.errors import ApiError, IntegrityError, LinkError, MoorageError
from moorage.core.kinds import NODES, PODS
from moorage.core.owned import WORKSPACE_PATH
from moorage.core.plans.observation import LinkSeen
from moorage.core.session import AgentExit, Diagnosis, Session
from moorage.engine.bootstrap import deliver, install_and_deliver
from moorage.engine.failure import ActionFailed
from moorage.engine.helper import helper_binary
from moorage.engine.link import open_link
from moorage.engine.transports import Transports
from moorage.ports.cluster import Cluster
from moorage.ports.link import AgentStatus, ExitStatus, Link
from moorage.ports.store import Store
from moorage.ports.streams import ByteStream

Say = Callable[[str, str], None]
OPEN_TIMEOUT = 10.0
ANSWER_TIMEOUT = 30.0
"""Seconds for agentctl to say how things stand; one that is alive but silent is not waited for."""
BOOTSTRAP_LIMIT = 300.0
"""Seconds for one delivery of helper and nonce as a whole: a container may also answer in drops, for ever."""
TRY_AGAIN = "try again in a moment"
ANSWER_TRIES = 25
ANSWER_PAUSE = 0.04
ANSWER_LIMIT = 30.0
"""Seconds for all tries together: to each, something may listen and say nothing."""


class Connection:
    """At most one open link. ``link`` is None while there is none."""

    def __init__(self, cluster: Cluster, store: Store, say: Say) -> None:
        self._cluster = cluster
        self._transports = Transports(cluster, store)
        self._say = say
        self._transport = ""
        self._reading: asyncio.Task[None] | None = None
        self.link: Link | None = None

    def prepare(self, session: Session) -> None:
        """Have the helper read by the time a new Pod runs. That it is missing is told when it is needed."""
        if session.inventory.snapshot.helper.source == "exec":
            self._reading = asyncio.create_task(_read_helper(session.inventory.snapshot.platform))

    async def open(self, session: Session, pod_uid: str, nonce: bytes, fence: int) -> None:
        """Connect to the Pod, delivering helper and nonce first where that was never done or got lost.
        Raises ActionFailed."""
        await self.close()
        try:
            if session.ever_ran and await self._try(session, pod_uid, nonce, fence):
                return
            await self._bootstrap_in_time(session, pod_uid, nonce)
            await self._await_answer(session, pod_uid, nonce, fence)
        except ApiError as error:
            raise ActionFailed(diagnose_api(error.problem, "reach the Pod")) from error
        except MoorageError as error:
            raise ActionFailed(_diagnose(error)) from error

    async def join(self, session: Session, pod_uid: str, nonce: bytes) -> Link:
        """A link beside the owner's: one attempt, nothing delivered. LinkError when nobody answers, or what
        leads there is cut while it opens."""
        try:
            return await self._dial(session, pod_uid, nonce, 0)
        except TimeoutError:
            raise LinkError("agentctl does not answer", hint=TRY_AGAIN) from None
        except LinkError as error:
            error.hint = error.hint or TRY_AGAIN
            raise

    async def _try(self, session: Session, pod_uid: str, nonce: bytes, fence: int) -> bool:
        try:
            self.link = await self._dial(session, pod_uid, nonce, fence)
        except (LinkError, TimeoutError):
            return False
        return True

    async def _dial(self, session: Session, pod_uid: str, nonce: bytes, fence: int) -> Link:
        """One attempt to reach agentctl; LinkError when nothing (or somebody else) answers."""

        async def opening(stream: ByteStream) -> Link:
            link: Link = await open_link(stream, nonce, fence=fence, expect_pod_uid=pod_uid)
            try:
                await link.status()  # a link on which nothing (or nonsense) is answered is none
            except BaseException:
                await link.close()
                raise
            return link

        async with asyncio.timeout(OPEN_TIMEOUT):
            link, self._transport = await self._transports.reach(session, opening)
        return link

    async def _bootstrap_in_time(self, session: Session, pod_uid: str, nonce: bytes) -> None:
        try:
            async with asyncio.timeout(BOOTSTRAP_LIMIT):
                await self._bootstrap(session, pod_uid, nonce)
        except TimeoutError:
            raise LinkError(f"the helper could not be delivered within {BOOTSTRAP_LIMIT:.0f} s") from None

    async def _bootstrap(self, session: Session, pod_uid: str, nonce: bytes) -> None:
        inventory = session.inventory
        pod, main, snapshot = inventory.pod_name, inventory.snapshot.main_container, inventory.snapshot
        config = {"session_id": session.id}
        await self._check_node(session)
        if snapshot.helper.source == "exec":
            binary = await asyncio.to_thread(helper_binary, snapshot.platform)
            check_platform(binary, snapshot.platform)
            digest = hashlib.sha256(binary).hexdigest()[:12]
            self._say("upload", f"helper {len(binary) / 1e6:.1f} MB (sha256 {digest}…)")
            await install_and_deliver(self._cluster, pod, main, binary, config, nonce, expect_pod_uid=pod_uid)
        else:
            await deliver(self._cluster, pod, main, config, nonce, expect_pod_uid=pod_uid)

    async def _check_node(self, session: Session) -> None:
        """A node's label may say another architecture than its kubelet: refused before anything is sent.
        Where Nodes may not be read, agentctl's own start tells."""
        pod = await self._cluster.get(PODS, session.inventory.pod_name, session.inventory.namespace)
        try:
            node = await self._cluster.get(NODES, (pod.get("spec") or {}).get("nodeName") or "")
        except ApiError:
            return
        check_node(node, session.inventory.snapshot.platform)

    async def _await_answer(self, session: Session, pod_uid: str, nonce: bytes, fence: int) -> None:
        """The helper needs a moment from delivery to listening; each attempt is a real connection."""
        last: Exception | None = None
        loop = asyncio.get_running_loop()
        ends = loop.time() + ANSWER_LIMIT
        for _ in range(ANSWER_TRIES):
            if loop.time() > ends:
                break
            try:
                self.link = await self._dial(session, pod_uid, nonce, fence)
            except (LinkError, TimeoutError) as error:
                last = error
                await asyncio.sleep(ANSWER_PAUSE)
            else:
                hello = self.link.hello
                self._say("hello", f"agentctl {hello.helper_version} over {self._transport}")
                return
        raise LinkError(f"agentctl does not answer: {last}")

    async def seen(self, session: Session) -> LinkSeen | None:
        """What agentctl says now; None when the link is gone."""
        if self.link is None:
            return None
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT):
                status = await self.link.status()
                marker = await self._marker(self.link, session)
        except (LinkError, TimeoutError):
            await self.close()
            return None
        hello = self.link.hello
        return LinkSeen(
            pod_uid=hello.pod_uid,
            epoch=hello.epoch,
            agent_state=status.state,
            start_id=status.start_id,
            exit=agent_exit(status),
            marker=marker,
        )

    async def _marker(self, link: Link, session: Session) -> str:
        """Asked for only until the workspace is known to be filled (a new emptyDir is not)."""
        if session.source is None:
            return ""
        if session.filled == (session.inventory.claim_uid or link.hello.pod_uid):
            return session.source.marker
        return await link.marker(WORKSPACE_PATH)

    async def close(self) -> None:
        """Repeatable; the agent runs on."""
        if self._reading is not None:
            await asyncio.wait([self._reading])
        link, self.link = self.link, None
        if link is not None:
            await link.close()


async def _read_helper(platform: str) -> None:
    with contextlib.suppress(MoorageError):
        await asyncio.to_thread(helper_binary, platform)


def agent_exit(status: AgentStatus) -> AgentExit | None:
    """The exit that agentctl reports, as the record keeps it."""
    return None if status.exit is None else recorded_exit(status.exit)


def recorded_exit(ended: ExitStatus) -> AgentExit:
    """An exit in the form of the session's record."""
    return AgentExit(code=ended.code, signal=ended.signal, oom=ended.oom, error=ended.error)


def _diagnose(error: MoorageError) -> Diagnosis:
    category = error.details.get("category", "link")
    terminal = isinstance(error, IntegrityError) or category in ("noexec", "platform", "crash")
    return Diagnosis(
        category=category,
        reason="BootstrapFailed",
        message=error.message,
        hint=error.hint or "see `moorage doctor` for the rights and transports that a link needs",
        terminal=bool(terminal),
    )
