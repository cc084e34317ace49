"""``pods/exec`` over one drained WebSocket: implements ``ports.streams.ExecStream``.

Called by ``kube.client``. Adds nothing to the messages of ``core.wire.exec`` but the spool between the
connection and a reader that may be slow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from moorage.core.errors import ApiError, LinkError
from moorage.core.kinds import PODS
from moorage.core.wire.exec import (
    BROKEN,
    NO_STATUS,
    SUBPROTOCOLS,
    ExecProtocol,
    ExecProtocolError,
    Output,
)
from moorage.kube.answers import refused_stream
from moorage.kube.spool import Spool
from moorage.kube.transport import Transport
from moorage.kube.websocket import DEAD_AFTER, PING_EVERY, DrainedSocket
from moorage.ports.streams import ExecChunk, ExecResult


class PodExec:
    """One running command. Reading and writing may go on at the same time."""

    def __init__(self, protocol: ExecProtocol, spool: Spool) -> None:
        self._protocol, self._spool = protocol, spool
        self._finished = asyncio.Event()
        self._error: Exception | None = None
        self._socket: DrainedSocket | None = None
        self._stdin_open = True

    @property
    def half_close(self) -> bool:
        """Whether ``close_stdin`` reaches the process (v5). If not, length-frame the input."""
        return self._protocol.half_close

    def attach(self, socket: DrainedSocket) -> None:
        self._socket = socket

    def received(self, message: bytes) -> None:
        event = self._protocol.receive(message)
        if isinstance(event, Output):
            self._spool.put(event.channel, event.data)

    def ended(self, error: Exception | None) -> None:
        # Once the status is here nothing is missing any more, however the connection then ended.
        complete = self._protocol.ended is not NO_STATUS
        self._error = None if complete else error
        self._spool.end(None if self._error is None else _as_link_error(self._error))
        self._finished.set()

    async def read(self) -> ExecChunk | None:
        """The next output in order, None at the end. LinkError when the connection broke before that."""
        chunk = await self._spool.get()
        return None if chunk is None else ExecChunk(*chunk)

    async def write(self, data: bytes) -> None:
        if not self._stdin_open:
            raise LinkError("stdin was closed")
        await self._connection.send(self._protocol.stdin(data))

    async def close_stdin(self) -> None:
        message = self._protocol.close_stdin()
        if self._stdin_open and message is not None and not self._finished.is_set():
            await self._connection.send([message])
        self._stdin_open = False

    async def result(self) -> ExecResult:
        """How it ended. ``exit_code`` None: unknown, and ``message`` says why."""
        await self._finished.wait()
        ended = self._protocol.ended
        if self._error is not None:
            return ExecResult(None, BROKEN, str(_as_link_error(self._error)))
        return ExecResult(ended.exit_code, ended.reason, ended.message)

    async def close(self) -> None:
        await self._connection.close()
        self._spool.discard()

    @property
    def _connection(self) -> DrainedSocket:
        assert self._socket is not None
        return self._socket


async def open_exec(
    transport: Transport,
    namespace: str,
    pod: str,
    container: str,
    command: Sequence[str],
    *,
    tty: bool,
    stdin: bool,
    protocols: Sequence[str] = SUBPROTOCOLS,
    ping_every: float = PING_EVERY,
    dead_after: float = DEAD_AFTER,
) -> PodExec:
    """Start ``command``. Raises ApiError when the upgrade is refused.

    stdin is always asked for: some runtimes (Kata) end an exec without it after its first output. Where
    the caller wants none, v5 closes it at once; v4 cannot, so there a command must not wait for it.
    """
    params = [("command", part) for part in command]
    params += [("container", container), ("stdin", "true"), ("stdout", "true")]
    params += [("tty", "true")] if tty else [("stderr", "true")]
    path = PODS.path(namespace, pod, "exec")
    try:
        socket = await transport.websocket(path, params=params, protocols=protocols)
    except ApiError as error:
        raise refused_stream(error, "pods/exec") from None
    try:
        stream = PodExec(ExecProtocol(socket.protocol or ""), Spool())
    except ExecProtocolError as error:
        await socket.close()
        raise LinkError(str(error)) from error
    stream.attach(
        DrainedSocket(socket, stream.received, stream.ended, ping_every=ping_every, dead_after=dead_after)
    )
    if not stdin:
        await stream.close_stdin()
    return stream


def _as_link_error(error: Exception) -> LinkError:
    return error if isinstance(error, LinkError) else LinkError(f"the exec stream failed: {error}")
