"""Into a session: its output, its files, programs beside the agent. Each use has its row in the audit."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Annotated, Final, Literal, TypeVar

import msgspec
from fastapi import Query, Request
from starlette.responses import Response, StreamingResponse

from moorage.core.errors import CommandTimeout
from moorage.ports.link import Gap, Output, ProcessSpec, RemoteProcess
from moorage.server.guard import does
from moorage.server.parts import parts_of
from moorage.server.routes.router import router
from moorage.server.wire.base import Page, Wire
from moorage.server.wire.work import ExecBody, ExecShown, FileShown, fields_of

ROUTES = router("sessions")
OUTPUT_LIMIT: Final = 1 << 20
"""Bytes of each stream of an exec that are answered."""
T = TypeVar("T")
FilePath = Annotated[str, Query(min_length=1, max_length=4096, pattern=r"^/")]
LINES: Final = "application/x-ndjson"
TAR: Final = "application/x-tar"


class WrittenShown(Wire):
    bytes: int


@ROUTES.get(
    "/sessions/{session_id}/logs",
    openapi_extra=does("session.logs"),
    response_class=StreamingResponse,
)
async def session_logs(
    session_id: str,
    request: Request,
    offset: Annotated[int, Query(ge=0)] = 0,
    follow: bool = False,
    form: Annotated[Literal["raw", "lines"], Query(alias="format")] = "raw",
    container: Annotated[str, Query(max_length=63)] = "",
) -> Response:
    """The agent's output from a byte offset on: ``raw``, where a gap is told in a line of ours, or ``lines``
    of JSON, ``{offset, data}`` in base64 or ``{offset, gap}``. With ``container``: that one's own log,
    raw."""
    sessions = parts_of(request).places.sessions
    if container:
        chunks = sessions.container_logs(session_id, container, follow=follow)
        return StreamingResponse(await begun(chunks), media_type="text/plain; charset=utf-8")
    items = await begun(sessions.logs(session_id, follow=follow, offset=offset))
    if form == "lines":
        return StreamingResponse(_as_lines(items), media_type=LINES)
    return StreamingResponse(_as_bytes(items), media_type="text/plain; charset=utf-8")


@ROUTES.get("/sessions/{session_id}/files", openapi_extra=does("session.files_read"), response_model=None)
async def read_files(
    session_id: str,
    request: Request,
    path: FilePath,
    form: Annotated[Literal["list", "tar"], Query(alias="format")] = "list",
) -> Response | Page[FileShown]:
    """A listing of ``path``, or all of it as a tar."""
    sessions = parts_of(request).places.sessions
    if form == "tar":
        return StreamingResponse(await begun(sessions.get_tar(session_id, path)), media_type=TAR)
    found = await sessions.list_files(session_id, path)
    return Page(items=[FileShown(**fields_of(FileShown, entry)) for entry in found])


@ROUTES.put("/sessions/{session_id}/files", openapi_extra=does("session.files_write"))
async def write_files(
    session_id: str, request: Request, path: FilePath, replace: bool = True
) -> WrittenShown:
    """Unpacks the tar in the body below ``path``."""
    sessions = parts_of(request).places.sessions
    written = await sessions.put_tar(session_id, path, request.stream(), replace=replace)
    return WrittenShown(bytes=written)


@ROUTES.delete("/sessions/{session_id}/files", status_code=204, openapi_extra=does("session.files_write"))
async def delete_files(session_id: str, request: Request, path: FilePath) -> None:
    """A file, or a directory with all below it."""
    await parts_of(request).places.sessions.filesystem(session_id).remove(path)


@ROUTES.post("/sessions/{session_id}/exec", openapi_extra=does("session.exec"))
async def exec_in_session(session_id: str, body: ExecBody, request: Request) -> ExecShown:
    """Runs a program to its end. 504 when it takes longer than its timeout; it is killed then."""
    sessions = parts_of(request).places.sessions
    process = await sessions.exec(session_id, ProcessSpec(body.argv, dict(body.env), body.cwd))
    try:
        async with asyncio.timeout(body.timeout_seconds):
            return await _to_its_end(process, body.stdin.encode())
    except TimeoutError:
        raise CommandTimeout(
            f"the program ran longer than {body.timeout_seconds:g} s and was killed",
            hint="give it more with timeout_seconds",
        ) from None
    finally:
        await process.close()


async def _to_its_end(process: RemoteProcess, stdin: bytes) -> ExecShown:
    feeding = asyncio.create_task(_feed(process, stdin))  # both ways at once: pipes have their limits
    try:
        kept = {1: bytearray(), 2: bytearray()}
        truncated = False
        while (item := await process.read()) is not None:
            channel, data = item
            room = OUTPUT_LIMIT - len(kept[channel])
            truncated = truncated or len(data) > room
            kept[channel] += data[:room]
        status = await process.wait()
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
    return ExecShown(
        exit_code=status.shell_code,
        signal=status.signal,
        error=status.error,
        stdout=base64.b64encode(kept[1]).decode(),
        stderr=base64.b64encode(kept[2]).decode(),
        truncated=truncated,
    )


async def _feed(process: RemoteProcess, stdin: bytes) -> None:
    if stdin:
        await process.write(stdin)
    await process.close_stdin()


async def begun(items: AsyncIterator[T]) -> AsyncIterator[T]:
    """The same items, the first already read: what fails at the start fails before the answer begins."""
    try:
        first = await anext(items)
    except StopAsyncIteration:
        return _nothing()
    return _with(first, items)


async def _nothing() -> AsyncIterator[T]:
    return
    yield


async def _with(first: T, items: AsyncIterator[T]) -> AsyncIterator[T]:
    yield first
    async for item in items:
        yield item


async def _as_bytes(items: AsyncIterator[Output | Gap]) -> AsyncIterator[bytes]:
    async for item in items:
        if isinstance(item, Output):
            yield item.data
        else:
            size = "an unknown number of" if item.length is None else str(item.length)
            yield f"\n[moorage: {size} bytes are no longer held]\n".encode()


async def _as_lines(items: AsyncIterator[Output | Gap]) -> AsyncIterator[bytes]:
    async for item in items:
        if isinstance(item, Output):
            line: dict[str, object] = {"data": base64.b64encode(item.data).decode()}
        else:
            line = {"gap": item.length}
        yield msgspec.json.encode({"offset": item.offset, **line}) + b"\n"
