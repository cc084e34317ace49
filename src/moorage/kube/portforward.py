"""One port-forwarded connection over one drained WebSocket: implements ``ports.streams.ByteStream``.

Called by ``kube.client``. One WebSocket carries one TCP connection; it ends when the Pod's side ends,
and cannot be half-closed.
"""

from __future__ import annotations

import asyncio

from moorage.core.errors import ApiError, LinkError
from moorage.core.kinds import PODS
from moorage.core.wire.portforward import SUBPROTOCOLS, ForwardProtocol, Opened, Received, Refused
from moorage.kube.answers import refused_stream
from moorage.kube.spool import Spool
from moorage.kube.transport import Transport
from moorage.kube.websocket import DEAD_AFTER, PING_EVERY, DrainedSocket


class ForwardedPort:
    """A duplex byte stream to a port on a Pod's loopback."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._protocol = ForwardProtocol(port)
        self._spool = Spool()
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._refused = ""
        self._socket: DrainedSocket | None = None

    def attach(self, socket: DrainedSocket) -> None:
        self._socket = socket

    def received(self, message: bytes) -> None:
        event = self._protocol.receive(message)
        if isinstance(event, Received):
            self._spool.put(0, event.data)
        elif isinstance(event, Refused):
            self._refused = event.message
        elif isinstance(event, Opened) and not self._opened.done():
            self._opened.set_result(None)

    def ended(self, error: Exception | None) -> None:
        failure = error
        if self._refused:
            failure = LinkError(f"port {self._port} in the Pod: {self._refused}")
        elif error is not None and not isinstance(error, LinkError):
            failure = LinkError(f"the port-forward failed: {error}")
        self._spool.end(failure)
        if not self._opened.done():
            self._opened.set_exception(failure or LinkError("the port-forward ended before it began"))

    async def opened(self) -> None:
        """Wait until the node has announced the port. LinkError when it does not come to that."""
        await asyncio.shield(self._opened)

    async def read(self) -> bytes:
        """The next bytes; ``b""`` once the Pod's side has closed. LinkError when refused or broken."""
        chunk = await self._spool.get()
        return b"" if chunk is None else chunk[1]

    async def write(self, data: bytes) -> None:
        await self._connection.send(self._protocol.send(data))

    async def close(self) -> None:
        await self._connection.close()
        self._spool.discard()
        if self._opened.done():
            self._opened.exception()  # looked at, so that nobody complains it was not

    @property
    def _connection(self) -> DrainedSocket:
        assert self._socket is not None
        return self._socket


async def open_forward(
    transport: Transport,
    namespace: str,
    pod: str,
    port: int,
    *,
    ping_every: float = PING_EVERY,
    dead_after: float = DEAD_AFTER,
) -> ForwardedPort:
    """Open one connection. Raises ApiError when the upgrade is refused, LinkError when it fails later.

    A port nobody listens on shows only at the first read: the node announces first and dials then.
    """
    path, params = PODS.path(namespace, pod, "portforward"), [("ports", str(port))]
    try:
        socket = await transport.websocket(path, params=params, protocols=SUBPROTOCOLS)
    except ApiError as error:
        raise refused_stream(error, "pods/portforward") from None
    stream = ForwardedPort(port)
    stream.attach(
        DrainedSocket(socket, stream.received, stream.ended, ping_every=ping_every, dead_after=dead_after)
    )
    try:
        async with asyncio.timeout(transport.request_timeout):
            await stream.opened()
    except TimeoutError:
        await stream.close()
        raise LinkError("the node did not announce the forwarded port in time") from None
    except BaseException:
        await stream.close()
        raise
    return stream
