"""A reverse proxy on loopback before the real API servers, in which a call can go wrong as it is told to.

``Lane`` is one address: whoever talks through it gets the faults that its ``choose`` names, everybody else
none. Requests, watches, logs and upgraded streams pass; a connection can be cut after any byte, either way.
It never decides what goes wrong (``schedule``) and answers for an API server only where a fault says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from urllib.parse import parse_qsl, urlsplit

import aiohttp
from yarl import URL

from moorage.embedded.api.calls import Call, read_call
from moorage.embedded.registry.write import User

from .faults import HELLO_DOWN, HELLO_UP, LINK, Fault
from .wire import Answer, Head, chunk, read_body, read_head, stream_head

PIECE = 1 << 16


class Cut(Exception):
    """The client's connection is to be broken now."""


class Lane:
    """One address. ``choose`` is asked for each call, by its name; ``fired`` is told when a fault has been
    felt."""

    def __init__(
        self, name: str, choose: Callable[[str], Fault | None], fired: Callable[[Fault, str], None]
    ) -> None:
        self.name, self.choose, self.fired = name, choose, fired
        self._busy: set[object] = set()
        self._ended = asyncio.Event()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """A call is on its way."""
        call = object()
        self._busy.add(call)
        try:
            yield
        finally:
            self._busy.discard(call)
            self._ended.set()

    async def quiet(self) -> None:
        """Until no call is on its way any more, those included whose client has gone."""
        while self._busy:
            self._ended.clear()
            await self._ended.wait()


class Proxy:
    """``servers``: the API servers' URLs, the first unless a fault says another. ``authority``: whom they
    are trusted by."""

    def __init__(self, servers: Sequence[str], authority: ssl.SSLContext) -> None:
        self._servers = servers
        self._tls = authority
        self._lanes: dict[str, Lane] = {}
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=authority, limit=0), auto_decompress=True
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    def open(self, lane: Lane) -> str:
        """The URL of a lane; valid until ``shut``."""
        self._lanes[lane.name] = lane
        return f"http://127.0.0.1:{self.port}/{lane.name}"

    def shut(self, lane: Lane) -> None:
        del self._lanes[lane.name]

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a client."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while (head := await read_head(reader)) is not None:
                await _Exchange(self, head, await read_body(reader, head), reader, writer).run()
        except Cut:
            _reset(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            self._tasks.discard(task)
            writer.close()

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._http.close()

    def lane(self, name: str) -> Lane:
        return self._lanes[name]

    def server(self, number: int) -> str:
        return self._servers[number - 1]

    @property
    def http(self) -> aiohttp.ClientSession:
        return self._http

    @property
    def tls(self) -> ssl.SSLContext:
        return self._tls


@asynccontextmanager
async def proxy(servers: Sequence[str], authority: ssl.SSLContext) -> AsyncIterator[Proxy]:
    """A proxy that listens for as long as the context is open."""
    made = Proxy(servers, authority)
    listening = await asyncio.start_server(made.connected, "127.0.0.1", 0, limit=1 << 20)
    made.port = listening.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        listening.close()
        await made.close()
        await listening.wait_closed()


class _Exchange:
    """One request and what comes back."""

    def __init__(
        self,
        proxy: Proxy,
        head: Head,
        body: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._proxy, self._head, self._body = proxy, head, body
        self._reader, self._writer = reader, writer
        name, _, rest = head.target[1:].partition("/")
        self._lane = proxy.lane(name)
        self._path = f"/{rest}"
        self._call = _call(head.method, self._path)
        self._fault = self._lane.choose(str(self._call)) or Fault("")

    async def run(self) -> None:
        """Raises Cut where the connection is to be broken."""
        with self._lane.busy():
            if self._fault.before:
                self._felt()
                await asyncio.sleep(self._fault.before)  # sleep: the delay is the fault
            if self._fault.reset:
                self._felt()
                raise Cut
            if self._fault.instead is not None:
                self._felt()
                await self._send(self._fault.instead.raw())
            elif self._head.upgrades:
                await self._upgraded()
            else:
                await self._asked()

    def _felt(self, fault: Fault | None = None, name: str = "") -> None:
        self._lane.fired(fault or self._fault, name or str(self._call))

    @property
    def _url(self) -> URL:
        path = self._path
        if self._fault.oldest and "sendInitialEvents" in path:
            path += "&resourceVersion=0"  # any version this server still has: what its cache holds
        if self._fault.server != 1:
            self._felt()
        return URL(self._proxy.server(self._fault.server) + path, encoded=True)

    async def _asked(self) -> None:
        fault = self._fault
        async with self._proxy.http.request(
            self._head.method,
            self._url,
            data=self._body or None,
            headers=self._head.forwarded,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=30),
        ) as response:
            if response.status == 200 and (self._call.verb == "watch" or "follow=true" in self._path):
                await self._streamed(response)
                return
            told = Answer(response.status, await response.read(), dict(response.headers))
        if fault.drop:
            self._felt()
            raise Cut
        if fault.after:
            self._felt()
            await asyncio.sleep(fault.after)  # sleep: the delay is the fault
        raw = told.raw()
        if fault.cut_at is None:
            await self._send(raw)
        else:
            self._felt()
            await self._send(raw[: fault.cut_at % len(raw)])
            raise Cut

    async def _streamed(self, response: aiohttp.ClientResponse) -> None:
        """A body that comes for as long as somebody listens."""
        gone = asyncio.create_task(self._reader.read(1))
        passing = asyncio.create_task(self._passed_on(response))
        try:
            await asyncio.wait((passing, gone), return_when=asyncio.FIRST_COMPLETED)
            if not passing.done():
                raise Cut  # nobody listens any more
            passing.result()
        except (aiohttp.ClientError, ConnectionError):
            raise Cut from None
        finally:
            for task in (passing, gone):
                task.cancel()
            await asyncio.gather(passing, gone, return_exceptions=True)

    async def _passed_on(self, response: aiohttp.ClientResponse) -> None:
        meter = _Meter(self, self._fault, self._writer)
        await meter.pass_on(stream_head(response.status, response.headers))
        while data := await response.content.readany():
            await asyncio.sleep(self._fault.lag)  # sleep: the delay is the fault
            await meter.pass_on(chunk(data))
        await meter.pass_on(chunk(b""))

    async def _upgraded(self) -> None:
        """Bytes both ways, whatever they mean."""
        url = self._url
        there, back = await asyncio.open_connection(url.host, url.port, ssl=self._proxy.tls, limit=PIECE)
        lines = [f"{self._head.method} {url.raw_path_qs} HTTP/1.1", f"Host: {url.authority}"]
        lines += [f"{key}: {value}" for key, value in self._head.headers if key.lower() != "host"]
        back.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        try:
            up, down = self._meters(back)
            passing = (
                asyncio.create_task(_pump(self._reader, up)),
                asyncio.create_task(_pump(there, down)),
            )
            try:
                await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in passing:
                    task.cancel()
                await asyncio.gather(*passing, return_exceptions=True)
        finally:
            back.close()
        raise Cut if up.over or down.over else ConnectionResetError("the stream has ended")

    def _meters(self, back: asyncio.StreamWriter) -> tuple[_Meter, _Meter]:
        """One for each way. A fault of the link counts its bytes after the hello."""
        fault, name, first = self._fault, "", (0, 0)
        is_link = self._call.subresource == "portforward" or "command=tunnel" in self._path
        of_link = self._lane.choose(LINK) if is_link else None
        if of_link is not None and fault.cut_at is None and fault.silent_at is None:
            fault, name, first = of_link, LINK, (HELLO_UP, HELLO_DOWN)
        none = Fault("")
        up = _Meter(self, fault if fault.up else none, back, first=first[0], name=name)
        down = _Meter(self, none if fault.up else fault, self._writer, first=first[1], name=name)
        return up, down

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def felt(self, fault: Fault, name: str) -> None:
        """A meter's fault came about."""
        self._felt(fault, name)


class _Meter:
    """Passes bytes on, up to where its fault ends or silences the stream. ``first``: bytes before that do
    not count."""

    def __init__(
        self,
        exchange: _Exchange,
        fault: Fault,
        sink: asyncio.StreamWriter,
        *,
        first: int = 0,
        name: str = "",
    ) -> None:
        self._exchange, self._fault, self._sink, self._name = exchange, fault, sink, name
        ends = [at for at in (fault.cut_at, fault.silent_at) if at is not None]
        self._left = first + ends[0] if ends else None
        self.over = False

    async def pass_on(self, data: bytes) -> None:
        """Raises Cut at the byte where the stream is to end; waits for ever where it falls silent."""
        if self._left is None or len(data) <= self._left:
            self._left = None if self._left is None else self._left - len(data)
            self._sink.write(data)
            await self._sink.drain()
            return
        self._sink.write(data[: self._left])
        await self._sink.drain()
        self._exchange.felt(self._fault, self._name)
        if self._fault.silent_at is not None:
            await asyncio.Event().wait()
        self.over = True
        raise Cut


async def _pump(source: asyncio.StreamReader, meter: _Meter) -> None:
    with contextlib.suppress(Cut, ConnectionError, ssl.SSLError):
        while data := await source.read(PIECE):
            await meter.pass_on(data)


def _call(method: str, path: str) -> Call:
    parts = urlsplit(path)
    return read_call(method, parts.path, dict(parse_qsl(parts.query)), User(""), "")


def _reset(writer: asyncio.StreamWriter) -> None:
    """Break the connection so that the other side is told, and what it has not read is lost."""
    sock = writer.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
