"""An ad-hoc process and a dialled port on a stream of the link. Made by ``engine.link.client``."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from moorage.core.errors import LinkError
from moorage.core.wire.mux import BYTES, MESSAGE
from moorage.engine.link import records
from moorage.engine.link.connection import LinkConnection, LinkStream
from moorage.ports.link import ExitStatus, ProcessSpec


class LinkProcess:
    """See ``ports.link.RemoteProcess``. ``wait`` drops output that nobody reads.

    Signals and sizes go on streams of their own: they overtake input that the process does not read, and
    come also after the end of its stdin.
    """

    def __init__(self, connection: LinkConnection, stream: LinkStream, pid: int = 0):
        self._connection = connection
        self._stream = stream
        self._sending = asyncio.Lock()
        self.pid = pid

    @classmethod
    async def start(cls, connection: LinkConnection, spec: ProcessSpec) -> LinkProcess:
        """Returns once agentctl has said that the process runs, or why it does not (see ``wait``)."""
        stream = await connection.open({"op": "run", "spec": records.spec(spec)}, bulk=True)
        try:
            first = await stream.receive()
            if first is not None and first[0] != MESSAGE:
                raise LinkError("agentctl sent output of a process that it has not said to run")
            pid = 0 if first is None else records.pid(first[1])
        except BaseException:
            stream.reset()
            raise
        return cls(connection, stream, pid)

    async def read(self) -> tuple[int, bytes] | None:
        while (part := await self._stream.receive()) is not None:
            if part[0] != MESSAGE:
                return part
        return None

    async def write(self, data: bytes) -> None:
        async with self._sending:
            await self._stream.send(BYTES, data)

    async def close_stdin(self) -> None:
        async with self._sending:
            self._stream.end()

    async def resize(self, cols: int, rows: int) -> None:
        await self._tell({"op": "run_resize", "cols": cols, "rows": rows})

    async def signal(self, number: int) -> None:
        await self._tell({"op": "run_signal", "signal": number})

    async def _tell(self, request: dict[str, Any]) -> None:
        stream = await self._connection.open({**request, "stream": self._stream.number})
        try:
            await stream.result()
        finally:
            stream.reset()

    async def wait(self) -> ExitStatus:
        return records.exit_status(await self._stream.result())

    async def close(self) -> None:
        self._stream.reset()


class DialledPort:
    """A ``ByteStream`` to a port in the Pod."""

    def __init__(self, stream: LinkStream):
        self._stream = stream

    async def read(self) -> bytes:
        part = await self._stream.receive()
        if part is None:
            await self._stream.result()
            return b""
        return part[1]

    async def write(self, data: bytes) -> None:
        if self._stream.answered:
            raise LinkError("the port in the Pod has closed the connection")
        await self._stream.send(BYTES, data)

    async def close_write(self) -> None:
        """Half-close: the other end reads an end of file and may still answer."""
        self._stream.end()

    async def close(self) -> None:
        with contextlib.suppress(LinkError):
            self._stream.reset()
