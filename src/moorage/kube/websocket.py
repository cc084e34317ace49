"""One WebSocket kept alive and drained: what exec and port-forward share.

Called by ``kube.exec`` and ``kube.portforward``. Knows no channel protocol: whole binary messages go to a
callback. While a process does not read its stdin the server answers no ping, so the library's own
heartbeat (which waits half an interval for a pong) is off; a ping goes out every 20 seconds, and the
connection is dead after 90 seconds without any message.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Any

import aiohttp

from moorage.core.errors import LinkError

PING_EVERY = 20.0
DEAD_AFTER = 90.0
CLOSE_GRACE = 2.0
ORDERLY = (0, aiohttp.WSCloseCode.OK)
"""Codes of a close frame (0: it had none) that say that the other side is done. Others are sent by whoever
goes away or fails, a load balancer for instance, with bytes still to come."""


class DrainedSocket:
    """Drains ``socket`` from the start until it ends.

    ``received`` gets each binary message; what it raises ends the stream. ``ended`` is called exactly
    once, with None after an orderly close.
    """

    def __init__(
        self,
        socket: aiohttp.ClientWebSocketResponse[Any],
        received: Callable[[bytes], None],
        ended: Callable[[Exception | None], None],
        *,
        ping_every: float = PING_EVERY,
        dead_after: float = DEAD_AFTER,
    ) -> None:
        self._socket = socket
        self._received, self._ended = received, ended
        self._ping_every, self._dead_after = ping_every, dead_after
        self._writing = asyncio.Lock()
        self._closing = False
        self._drain = asyncio.create_task(self._run(), name="drain a stream")
        self._pings = asyncio.create_task(self._ping(), name="ping a stream")

    async def send(self, messages: Iterable[bytes]) -> None:
        """Send binary messages in order. Raises LinkError when the connection is gone."""
        async with self._writing:
            for message in messages:
                if self._drain.done() or self._socket.closed:
                    raise LinkError("the stream has ended; nothing more can be sent")
                try:
                    await self._socket.send_bytes(message)
                except (aiohttp.ClientError, OSError) as error:
                    raise LinkError(f"the connection broke while sending ({type(error).__name__})") from None

    async def wait(self) -> None:
        """Wait until the stream has ended, whoever ended it."""
        await asyncio.wait([self._drain])

    async def close(self) -> None:
        """Close the connection and stop draining; repeatable."""
        self._closing = True
        self._pings.cancel()
        with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with asyncio.timeout(CLOSE_GRACE):
                await self._socket.close()
        self._drain.cancel()
        await asyncio.wait([self._drain, self._pings])

    async def _run(self) -> None:
        error: Exception | None = LinkError("the stream was closed by us")
        try:
            await self._messages()
            error = None
        except TimeoutError:
            error = LinkError(f"the connection was silent for {self._dead_after:.0f} seconds")
        except (aiohttp.ClientError, OSError) as broken:
            error = LinkError(f"the connection broke ({type(broken).__name__})")
        except Exception as refused:
            error = refused
        finally:
            self._pings.cancel()
            self._ended(error)
            if not self._closing:
                await self._hang_up()

    async def _messages(self) -> None:
        kinds = aiohttp.WSMsgType
        while True:
            message = await self._socket.receive(timeout=self._dead_after)
            if message.type is kinds.BINARY:
                self._received(message.data)
            elif message.type is kinds.PING:
                await self._socket.pong(message.data)
            elif message.type is kinds.CLOSE:
                if message.data not in ORDERLY:
                    raise LinkError(f"the other side gave the connection up (code {message.data})")
                return
            elif message.type in (kinds.CLOSED, kinds.CLOSING):
                # Without a close frame the other side never said that it was done.
                raise LinkError("the stream was closed by us" if self._closing else "the connection was cut")
            elif message.type is kinds.ERROR:
                raise LinkError(f"the connection broke ({message.data})")

    async def _ping(self) -> None:
        with contextlib.suppress(aiohttp.ClientError, OSError):
            while True:
                await asyncio.sleep(self._ping_every)
                await self._socket.ping()

    async def _hang_up(self) -> None:
        with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with asyncio.timeout(CLOSE_GRACE):
                await self._socket.close()
