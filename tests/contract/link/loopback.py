"""The real agentctl as a subprocess of the tests beside this file, and byte streams to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import Any

from moorage.core.bootstrap import bootstrap_frame
from moorage.core.errors import LinkError
from moorage.engine.link import AgentLink, open_link

NONCE = bytes(range(32))
POD_UID = "7d6a0b3e-0000-4000-8000-000000000001"
FOREIGN = {
    "AGENTCTL_HOME": "/nowhere/home",
    "AGENTCTL_RUN": "/nowhere/run",
    "AGENTCTL_LISTEN": "tcp:0.0.0.0:0",
}
"""What an author's envFrom or an image may set; agentctl heeds none of it."""


def flags(root: Path) -> list[str]:
    """Where agentctl keeps its things and listens, as its arguments."""
    return ["--home", f"{root}/home", "--run", f"{root}/run", "--listen", "tcp:127.0.0.1:0"]


class SocketStream:
    """A ``ByteStream`` over a TCP connection of this machine; remembers what it read and wrote."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self._reader = reader
        self._writer = writer
        self.received = bytearray()
        self.sent = bytearray()
        self.record = False

    async def read(self) -> bytes:
        try:
            data = await self._reader.read(65536)
        except OSError as error:
            raise LinkError(str(error)) from error
        if self.record:
            self.received += data
        return data

    async def write(self, data: bytes) -> None:
        if self.record:
            self.sent += data
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise LinkError(str(error)) from error

    async def close(self) -> None:
        self._writer.transport.abort()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


class Agentctl:
    """One container's worth of agentctl: its two directories and the running process."""

    def __init__(self, binary: list[str], root: Path):
        self.binary = binary
        self.root = root
        self.workspace = root / "workspace"
        for name in ("home", "run", "workspace"):
            (root / name).mkdir(parents=True, exist_ok=True)
        self.process: asyncio.subprocess.Process | None = None
        self._drained: asyncio.Task[None] | None = None
        self.address = ("", 0)
        self.log: list[str] = []
        self._links: list[AgentLink] = []

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "MOORAGE_POD_UID": POD_UID,
            **FOREIGN,
        }

    @property
    def places(self) -> list[str]:
        """The flags that keep this container apart from others of the machine."""
        return flags(self.root)

    async def receive(self, config: dict[str, Any] | None = None, nonce: bytes = NONCE) -> list[bytes]:
        """Run ``agentctl receive``; the lines it printed."""
        process = await asyncio.create_subprocess_exec(
            *self.binary,
            "receive",
            *self.places,
            env=self.environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate(bootstrap_frame(config or {}, nonce))
        assert process.returncode == 0
        return out.splitlines()

    async def start(self, word: str = "wait") -> None:
        """Start the main command; returns once it listens."""
        self.process = await asyncio.create_subprocess_exec(
            *self.binary,
            *([word, *self.places] if word else []),
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.root,
        )
        errors = self.process.stderr
        assert errors is not None
        while b"listening on tcp:" not in (line := await errors.readline()):
            assert line, f"agentctl ended before it listened: {self.log}"
            self.log.append(line.decode())
        host, _, port = line.decode().strip().rpartition("tcp:")[2].rpartition(":")
        self.address = (host, int(port))
        self._drained = asyncio.create_task(self._read_log(errors))

    async def _read_log(self, errors: asyncio.StreamReader) -> None:
        while line := await errors.readline():
            self.log.append(line.decode())

    async def stream(self) -> SocketStream:
        return SocketStream(*await asyncio.open_connection(*self.address))

    async def link(self, *, fence: int = 0, nonce: bytes = NONCE) -> AgentLink:
        link = await open_link(await self.stream(), nonce, fence=fence, expect_pod_uid=POD_UID)
        self._links.append(link)
        return link

    async def close(self) -> None:
        """End everything that was opened."""
        for link in self._links:
            await link.close()
        await self.end()

    async def end(self, number: int = signal.SIGKILL) -> int:
        """End the main process; its exit code as asyncio reports it."""
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(number)
        code = await self.process.wait()
        if self._drained is not None:
            await self._drained
        return code
