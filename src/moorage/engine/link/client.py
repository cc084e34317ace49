"""agentctl's operations over one connection: implements ``ports.link.Link``. Made by ``open_link``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from moorage.core.errors import LinkError
from moorage.core.wire.mux import BYTES, MESSAGE
from moorage.engine.link import records, transfer
from moorage.engine.link.connection import LinkConnection, LinkStream
from moorage.engine.link.process import DialledPort, LinkProcess
from moorage.ports.link import (
    Activity,
    AgentStatus,
    ContainerUsage,
    ExitStatus,
    FileChange,
    FileEntry,
    Gap,
    HelloInfo,
    LeftOut,
    Output,
    ProcessSpec,
)


class AgentLink:
    """See ``ports.link.Link``. All calls may be made at once; each uses a stream of its own."""

    def __init__(self, connection: LinkConnection, hello: HelloInfo):
        self._connection = connection
        self.hello = hello

    @property
    def broken(self) -> bool:
        return self._connection.broken

    async def _call(self, op: str, **arguments: Any) -> dict[str, Any]:
        stream = await self._connection.open({"op": op, **arguments})
        try:
            return await stream.result()
        finally:
            stream.reset()

    async def status(self) -> AgentStatus:
        return records.agent_status(await self._call("status"))

    async def start_agent(self, spec: ProcessSpec, *, base_offset: int, start_id: str) -> AgentStatus:
        answer = await self._call(
            "start", spec=records.spec(spec), base_offset=base_offset, start_id=start_id
        )
        return records.agent_status(answer)

    async def output(self, offset: int) -> AsyncIterator[Output | Gap]:
        stream = await self._connection.open({"op": "output", "offset": offset}, bulk=True)
        try:
            async with aclosing(self._transcript(stream, offset)) as transcript:
                async for part in transcript:
                    yield part
        finally:
            stream.reset()

    async def _transcript(self, stream: LinkStream, at: int) -> AsyncGenerator[Output | Gap, None]:
        """Messages place the bytes that follow them; bytes in a row follow one another. A place further on
        than ``at``, the last one known, is believed only if the agent's status has reached it."""
        while (part := await stream.receive()) is not None:
            channel, data = part
            if channel != MESSAGE:
                yield Output(at, data)
                at += len(data)
                continue
            place, missing = records.mark(data)
            if place + missing > at:
                records.check_known(place + missing, await self.status())
            if missing:
                yield Gap(place, missing)
            at = place + missing
        await stream.result()

    async def ack(self, offset: int) -> None:
        await self._call("ack", offset=offset)

    async def send_input(self, data: bytes) -> None:
        stream = await self._connection.open({"op": "input"})
        try:
            await stream.send(BYTES, data)
            stream.end()
            await stream.result()
        finally:
            stream.reset()

    async def close_input(self) -> None:
        await self._call("close_input")

    async def resize(self, cols: int, rows: int) -> None:
        await self._call("resize", cols=cols, rows=rows)

    async def signal(self, number: int) -> None:
        await self._call("signal", signal=number)

    async def wait_exit(self) -> ExitStatus:
        return records.exit_status(await self._call("wait_exit"))

    async def drain(self, grace: float) -> ExitStatus:
        return records.exit_status(await self._call("drain", grace=grace))

    async def run(self, spec: ProcessSpec) -> LinkProcess:
        return await LinkProcess.start(self._connection, spec)

    async def put_tar(
        self, path: str, chunks: AsyncIterator[bytes], *, limit: int, replace: bool = False
    ) -> int:
        request = {"op": "put_tar", "path": path, "limit": limit, "replace": replace}
        answer = await transfer.upload(self._connection, request, chunks)
        return records.count(answer, "bytes")

    def get_tar(self, path: str, left_out: LeftOut | None = None) -> AsyncIterator[bytes]:
        return transfer.download(self._connection, {"op": "get_tar", "path": path}, left_out)

    async def list_files(self, path: str, *, limit: int = 10_000) -> list[FileEntry]:
        stream = await self._connection.open({"op": "list", "path": path, "limit": limit})
        entries: list[FileEntry] = []
        try:
            while (part := await stream.receive()) is not None:
                entries += records.file_entries(*part, limit - len(entries))
            await stream.result()
        finally:
            stream.reset()
        return entries

    async def file_info(self, path: str, *, follow: bool = False) -> FileEntry:
        return records.file_entry(await self._call("stat", path=path, follow=follow))

    async def make_dir(self, path: str) -> bool:
        return records.flag(await self._call("mkdir", path=path), "made")

    async def remove_path(self, path: str) -> None:
        await self._call("remove", path=path)

    async def rename_path(self, path: str, to: str) -> None:
        await self._call("rename", path=path, to=to)

    async def watch_dir(
        self, path: str, *, recursive: bool = False
    ) -> AsyncGenerator[FileChange | None, None]:
        stream = await self._connection.open({"op": "watch", "path": path, "recursive": recursive})
        try:
            while (part := await stream.receive()) is not None:
                yield records.file_change(*part)
            await stream.result()
        finally:
            stream.reset()

    async def hash_tree(self, path: str) -> str:
        return records.text(await self._call("hash_tree", path=path), "sha256")

    async def materialize(self, path: str, chunks: AsyncIterator[bytes], *, marker: str, limit: int) -> bool:
        request = {"op": "materialize", "path": path, "marker": marker, "limit": limit}
        answer = await transfer.upload(self._connection, request, chunks)
        return records.flag(answer, "filled")

    async def marker(self, path: str) -> str:
        return records.text(await self._call("marker", path=path), "marker")

    async def dial(self, port: int) -> DialledPort:
        stream = await self._connection.open({"op": "dial", "port": port}, bulk=True)
        try:
            if await stream.receive() is None:
                await stream.result()
                raise LinkError("the dialled port ended before it began")
        except BaseException:
            stream.reset()
            raise
        return DialledPort(stream)

    async def activity(self) -> Activity:
        """What the agent does now."""
        return records.activity(await self._call("activity"))

    async def usage(self) -> ContainerUsage:
        """What the container uses now."""
        return records.usage(await self._call("usage"))

    async def close(self) -> None:
        await self._connection.close()
