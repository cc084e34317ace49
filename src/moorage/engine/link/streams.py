"""Byte streams made of others: the exec tunnel, and a stream whose first bytes were already read.

Used by ``engine.bootstrap``. They add no protocol of their own.
"""

from __future__ import annotations

from moorage.core.errors import LinkError
from moorage.ports.streams import ByteStream, ExecStream


class ExecTunnel:
    """``agentctl tunnel`` in the container as a ``ByteStream``: stdin and stdout joined with the listener."""

    def __init__(self, stream: ExecStream):
        self._stream = stream
        self._errors = bytearray()

    async def read(self) -> bytes:
        while (chunk := await self._stream.read()) is not None:
            if chunk.channel == 1:
                return chunk.data
            self._errors += chunk.data[: 4096 - len(self._errors)]
        result = await self._stream.result()
        if result.exit_code == 0:
            return b""
        said = self._errors.decode(errors="replace").strip() or result.message or result.reason
        raise LinkError(f"the tunnel in the container ended (code {result.exit_code}): {said[-200:]}")

    async def write(self, data: bytes) -> None:
        await self._stream.write(data)

    async def close(self) -> None:
        await self._stream.close()


class PrefixedStream:
    """A stream with bytes put back in front of it."""

    def __init__(self, first: bytes, rest: ByteStream):
        self._first = first
        self._rest = rest

    async def read(self) -> bytes:
        if self._first:
            first, self._first = self._first, b""
            return first
        return await self._rest.read()

    async def write(self, data: bytes) -> None:
        await self._rest.write(data)

    async def close(self) -> None:
        await self._rest.close()
