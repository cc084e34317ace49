"""Brings agentctl into a main container over ``pods/exec`` and connects to it: for ``engine.connection``
and ``engine.transports``.

``pods/exec`` is the root of trust: the API server leads it to the container it names, and the first thing
said there is the Pod's UID. The nonce goes over stdin only. How a link is opened is the caller's;
nothing here starts an agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from moorage.core import owned
from moorage.core.bootstrap import (
    INSTALLED,
    RECEIVE,
    TUNNEL,
    bootstrap_frame,
    check_platform,
    check_pod,
    install_command,
    read_install_answer,
    read_introduction,
    read_receipt,
)
from moorage.core.errors import ApiError, LinkError, MoorageError, UsageError
from moorage.core.exec_failure import exec_ended
from moorage.engine.link.streams import ExecTunnel, PrefixedStream
from moorage.ports.cluster import Cluster
from moorage.ports.streams import ByteStream, ExecStream

PIECE = 64 << 10
FORWARD_TIMEOUT = 4.0
"""Seconds after which ``auto`` gives a port-forward up: who holds the port may accept and say nothing. Short
enough that exec still has its turn within the caller's own limit."""
STALL = 60.0
"""Seconds in which the container takes or says something; a shell in it may hang."""
LISTENING_TIMEOUT = 6.0
"""Seconds to wait for agentctl's word that it listens: longer than agentctl itself waits for that."""


class Closing(Protocol):
    """What is made of a stream, and may be given up for a better one."""

    async def close(self) -> None: ...


T = TypeVar("T", bound=Closing)
S = TypeVar("S")
Opening = Callable[[ByteStream], Awaitable[T]]
"""Makes sure that agentctl is at the other end; closes the stream and raises LinkError if it is not."""


@dataclass(frozen=True)
class Reached(Generic[T]):
    """What was opened, over ``portforward`` or ``exec``. ``lasting``: other Pods are likely reached so, too;
    not where only this Pod's port is held by somebody else."""

    opened: T
    transport: str
    lasting: bool = True


async def install_helper(
    cluster: Cluster, pod: str, container: str, binary: bytes, platform: str = ""
) -> None:
    """Upload agentctl, checked by length and SHA-256, put in place whole or not at all.

    ``platform``, where given, is compared with the binary before anything is sent. Raises ApiError,
    LinkError, IntegrityError, or MoorageError with ``details['category']``.
    """
    if platform:
        check_platform(binary, platform)
    stream = await cluster.exec(pod, container, _install_command(binary))
    try:
        await _upload(stream, Lines(stream), binary)
    finally:
        await stream.close()


async def install_and_deliver(
    cluster: Cluster,
    pod: str,
    container: str,
    binary: bytes,
    config: Mapping[str, Any],
    nonce: bytes,
    expect_pod_uid: str,
) -> None:
    """``install_helper`` and ``deliver`` in one exec: what was just put in place receives.

    Raises what both raise; nothing secret is sent before the Pod's UID has been compared.
    """
    stream = await cluster.exec(pod, container, _install_command(binary, then=RECEIVE))
    try:
        lines = Lines(stream)
        await _upload(stream, lines, binary)
        await _hand_over(stream, lines, bootstrap_frame(config, nonce), expect_pod_uid)
    finally:
        await stream.close()


async def deliver(
    cluster: Cluster,
    pod: str,
    container: str,
    config: Mapping[str, Any],
    nonce: bytes,
    expect_pod_uid: str,
) -> None:
    """Hand configuration and nonce to agentctl in exactly the Pod with ``expect_pod_uid``; returns once the
    link can be dialled, as far as agentctl can tell.

    Raises IntegrityError (another Pod, nothing secret was sent; damaged bytes), LinkError, ApiError.
    """
    stream = await cluster.exec(pod, container, RECEIVE)
    try:
        await _hand_over(stream, Lines(stream), bootstrap_frame(config, nonce), expect_pod_uid)
    finally:
        await stream.close()


def _install_command(binary: bytes, then: Sequence[str] = ()) -> list[str]:
    return install_command(len(binary), hashlib.sha256(binary).hexdigest(), then)


async def _upload(stream: ExecStream, lines: Lines, binary: bytes) -> None:
    """Send the binary and wait for the word that it is in place."""
    try:
        await _write(stream, binary)
    except _Stalled:
        raise
    except LinkError:
        # A script that gives up ends the stream under our hands; why, it says in its answer.
        await lines.rest()
        if not lines.text():
            raise
    try:
        while (await lines.line()).strip() != INSTALLED.encode():
            pass
    except _Stalled:
        raise
    except LinkError:
        result = await _in_time(stream.result())
        said = lines.errors() or result.message
        read_install_answer(lines.text(), said, result.exit_code, result.reason)
        raise


async def _hand_over(stream: ExecStream, lines: Lines, frame: bytes, expect_pod_uid: str) -> None:
    check_pod(read_introduction(await lines.line()), expect_pod_uid)
    await _in_time(stream.write(frame))
    read_receipt(await lines.line(), frame)
    # The last line comes when the link can be dialled. One that never comes is found out by dialling.
    with contextlib.suppress(LinkError, TimeoutError):
        async with asyncio.timeout(LISTENING_TIMEOUT):
            await lines.line()


async def connect(
    cluster: Cluster, pod: str, container: str, opening: Opening[T], transport: str = "auto"
) -> Reached[T]:
    """What ``opening`` makes of a byte stream to agentctl's listener on which first bytes have been seen.

    ``auto`` takes port-forward, and exec where that is denied or does not lead to agentctl: another container
    of the Pod may hold the port, so only what ``opening`` accepts counts. Raises LinkError when nothing
    answers, ApiError when the API refuses, and what ``opening`` raises.
    """
    if transport == "auto":
        return await _find(cluster, pod, container, opening)
    if transport == "portforward":
        return Reached(await opening(await _forward(cluster, pod)), "portforward")
    if transport == "exec":
        return Reached(await opening(await _tunnel(cluster, pod, container)), "exec")
    raise UsageError(
        f"transport {transport!r} is unknown", field="transport", hint="use auto, portforward or exec"
    )


async def _find(cluster: Cluster, pod: str, container: str, opening: Opening[T]) -> Reached[T]:
    spoke = False
    try:
        async with asyncio.timeout(FORWARD_TIMEOUT):
            stream = await _forward(cluster, pod)
            spoke = True
            return Reached(await opening(stream), "portforward")
    except (ApiError, LinkError, TimeoutError) as failure:
        first = failure
    try:
        opened = await opening(await _tunnel(cluster, pod, container))
    except (ApiError, LinkError):
        if spoke:  # somebody is there: what is wrong with them says more than that exec is denied, too
            raise first from None
        raise
    if spoke:
        return Reached(opened, "exec", lasting=False)
    if not isinstance(first, LinkError):
        return Reached(opened, "exec")
    # agentctl answers now. Perhaps it only began to listen in between: look once more, since what is
    # found here is remembered.
    try:
        async with asyncio.timeout(FORWARD_TIMEOUT):
            better = await opening(await _forward(cluster, pod))
    except (ApiError, LinkError, TimeoutError):
        return Reached(opened, "exec")
    except BaseException:
        await opened.close()
        raise
    await opened.close()
    return Reached(better, "portforward")


async def _forward(cluster: Cluster, pod: str) -> ByteStream:
    return await _first_bytes(await cluster.port_forward(pod, owned.AGENTCTL_PORT))


async def _tunnel(cluster: Cluster, pod: str, container: str) -> ByteStream:
    return await _first_bytes(ExecTunnel(await cluster.exec(pod, container, TUNNEL)))


async def _first_bytes(stream: ByteStream) -> ByteStream:
    """agentctl speaks first, so its bytes prove the way; a node accepts a forward before it dials."""
    try:
        first = await stream.read()
        if not first:
            raise LinkError("agentctl does not listen in the Pod")
    except BaseException:
        await stream.close()
        raise
    return PrefixedStream(first, stream)


async def _write(stream: ExecStream, data: bytes) -> None:
    for start in range(0, len(data), PIECE):
        await _in_time(stream.write(data[start : start + PIECE]))


class _Stalled(LinkError):
    """Nothing more is to be learned from this exec."""


async def _in_time(step: Awaitable[S]) -> S:
    """One step of an exec, which a hanging shell would never make. Raises LinkError after ``STALL``."""
    try:
        async with asyncio.timeout(STALL):
            return await step
    except TimeoutError:
        raise _Stalled(
            f"the command in the container neither reads nor answers for {STALL:.0f} s",
            hint="its image must have a /bin/sh that works; or take the helper from an image: helper.source",
        ) from None


class Lines:
    """The output of an exec: lines of stdout as they come, stderr kept for messages."""

    def __init__(self, stream: ExecStream):
        self._stream = stream
        self._kept: dict[int, bytearray] = {1: bytearray(), 2: bytearray()}
        self._taken = 0

    async def line(self) -> bytes:
        """The next line of stdout. LinkError, or what will not mend, when the command ends first."""
        while (end := self._kept[1].find(b"\n", self._taken)) < 0:
            if not await self._more():
                raise await self._ended()
        line = bytes(self._kept[1][self._taken : end])
        self._taken = end + 1
        return line

    async def rest(self) -> None:
        """Read to the end."""
        while await self._more():
            pass

    async def _more(self) -> bool:
        chunk = await _in_time(self._stream.read())
        if chunk is None:
            return False
        kept = self._kept.setdefault(chunk.channel, bytearray())
        kept += chunk.data
        if len(kept) > PIECE:
            raise LinkError("the command in the container prints without end")
        return True

    async def _ended(self) -> MoorageError:
        result = await _in_time(self._stream.result())
        said = self.errors().strip()[-200:] or result.message or result.reason
        return exec_ended(said, result.exit_code)

    def text(self) -> str:
        return self._kept[1].decode(errors="replace")

    def errors(self) -> str:
        return self._kept[2].decode(errors="replace")
