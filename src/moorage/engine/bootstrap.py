"""Brings agentctl into a main container over ``pods/exec`` and connects to it: for ``engine.connection``.

``pods/exec`` is the root of trust: the API server leads it to the container it names, and the first thing
said there is the Pod's UID. The nonce goes over stdin only. Nothing here opens a link or starts an agent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from moorage.core import owned
from moorage.core.bootstrap import (
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
from moorage.core.errors import ApiError, LinkError, UsageError
from moorage.engine.link.streams import ExecTunnel, PrefixedStream
from moorage.ports.cluster import Cluster
from moorage.ports.streams import ByteStream, ExecStream

PIECE = 64 << 10


async def install_helper(
    cluster: Cluster, pod: str, container: str, binary: bytes, platform: str = ""
) -> None:
    """Upload agentctl, checked by length and SHA-256, put in place whole or not at all.

    ``platform``, where given, is compared with the binary before anything is sent. Raises ApiError,
    LinkError, IntegrityError, or MoorageError with ``details['category']``.
    """
    if platform:
        check_platform(binary, platform)
    command = install_command(len(binary), hashlib.sha256(binary).hexdigest())
    stream = await cluster.exec(pod, container, command)
    try:
        output = Lines(stream)
        try:
            await _write(stream, binary)
        except LinkError:
            # A script that gives up ends the stream under our hands; why, it says in its answer.
            await output.rest()
            if not output.text():
                raise
        await output.rest()
        said = output.errors() or (await stream.result()).message
    finally:
        await stream.close()
    read_install_answer(output.text(), said)


async def deliver(
    cluster: Cluster,
    pod: str,
    container: str,
    config: Mapping[str, Any],
    nonce: bytes,
    expect_pod_uid: str,
) -> None:
    """Hand configuration and nonce to agentctl in exactly the Pod with ``expect_pod_uid``.

    Raises IntegrityError (another Pod, nothing secret was sent; damaged bytes), LinkError, ApiError.
    """
    stream = await cluster.exec(pod, container, RECEIVE)
    try:
        lines = Lines(stream)
        check_pod(read_introduction(await lines.line()), expect_pod_uid)
        frame = bootstrap_frame(config, nonce)
        await stream.write(frame)
        read_receipt(await lines.line(), frame)
    finally:
        await stream.close()


async def connect(
    cluster: Cluster, pod: str, container: str, transport: str = "auto"
) -> tuple[ByteStream, str]:
    """A byte stream to agentctl's listener on which its first bytes have been seen; and which transport
    it took: ``portforward`` or ``exec``.

    ``auto`` takes port-forward, and exec where that is denied or does not lead to agentctl. Raises LinkError
    when nothing answers, ApiError when the API refuses.
    """
    if transport not in ("auto", "portforward", "exec"):
        raise UsageError(
            f"transport {transport!r} is unknown", field="transport", hint="use auto, portforward or exec"
        )
    if transport == "exec":
        return await _tunnel(cluster, pod, container), "exec"
    try:
        return await _forward(cluster, pod), "portforward"
    except (ApiError, LinkError) as error:
        if transport == "portforward":
            raise
        denied = isinstance(error, ApiError)
    stream = await _tunnel(cluster, pod, container)
    if denied:
        return stream, "exec"
    # agentctl answers now. Perhaps it only began to listen in between: look once more, since what is
    # found here is remembered.
    try:
        better = await _forward(cluster, pod)
    except (ApiError, LinkError):
        return stream, "exec"
    await stream.close()
    return better, "portforward"


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
        await stream.write(data[start : start + PIECE])


class Lines:
    """The output of an exec: lines of stdout as they come, stderr kept for messages."""

    def __init__(self, stream: ExecStream):
        self._stream = stream
        self._kept: dict[int, bytearray] = {1: bytearray(), 2: bytearray()}
        self._taken = 0

    async def line(self) -> bytes:
        """The next line of stdout. LinkError when the command ends first."""
        while (end := self._kept[1].find(b"\n", self._taken)) < 0:
            if not await self._more():
                raise LinkError(await self._ended(), hint="is agentctl installed in the container?")
        line = bytes(self._kept[1][self._taken : end])
        self._taken = end + 1
        return line

    async def rest(self) -> None:
        """Read to the end."""
        while await self._more():
            pass

    async def _more(self) -> bool:
        chunk = await self._stream.read()
        if chunk is None:
            return False
        kept = self._kept.setdefault(chunk.channel, bytearray())
        kept += chunk.data
        if len(kept) > PIECE:
            raise LinkError("the command in the container prints without end")
        return True

    async def _ended(self) -> str:
        result = await self._stream.result()
        said = self.errors().strip()[-200:] or result.message or result.reason
        return f"the command in the container ended (code {result.exit_code}): {said}"

    def text(self) -> str:
        return self._kept[1].decode(errors="replace")

    def errors(self) -> str:
        return self._kept[2].decode(errors="replace")
