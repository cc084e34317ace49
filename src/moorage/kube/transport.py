"""HTTP to one API server: two connection pools, credentials renewed on 401, bounded retries.

Called by ``kube.client``, ``kube.reflector`` and the streams. Knows nothing of resources.

Two sessions: API calls share a bounded pool; watches, logs, exec and port-forwards have an unbounded
one, so that a hundred open streams never starve a call. Reads are tried again on a broken connection
or a 502, 503 or 504; any call is tried again on 429, which the server sends before doing anything, and
once after a 401 that renewed credentials. Writes are otherwise sent once.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import aiohttp
import msgspec
from yarl import URL

from moorage.core.errors import ApiError
from moorage.core.kinds import Json
from moorage.kube import answers
from moorage.kube.access import Access, Endpoint
from moorage.kube.http_sessions import CONNECT_TIMEOUT, new_session

T = TypeVar("T")
Params: TypeAlias = Sequence[tuple[str, str]]

READ_ATTEMPTS = 3
FIRST_PAUSE = 0.1
"""Seconds before the second attempt of a read; doubled after that."""
BUSY_PAUSE = 1.0
"""Seconds to wait after a 429 that names no time."""
MAX_REFUSAL = 64 * 1024
MAX_ANSWER = 64 * 1024 * 1024
"""Bytes of one answer, unpacked: an object has at most 1.5 MiB (etcd), a page of a list 500 objects."""
_GATEWAY = (502, 503, 504)


class _Budget:
    """The time left for one call. A credential plugin, which may wait for a person, does not use it up."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    async def spend(self, work: Awaitable[T]) -> T:
        """Await ``work`` for at most the time that is left. Raises TimeoutError."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            async with asyncio.timeout(self.left):
                return await work
        finally:
            self.left -= clock() - began

    async def pause(self, seconds: float) -> None:
        """Wait that long; a machine that is busy may make it longer than the time that was left."""
        clock = asyncio.get_running_loop().time
        began = clock()
        await asyncio.sleep(seconds)
        self.left -= clock() - began


class Transport:
    """Requests to one API server. ``request_timeout``: seconds for one call, all its attempts included."""

    def __init__(self, access: Access, request_timeout: float) -> None:
        self.access = access
        self.request_timeout = request_timeout
        self._calls: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None
        self._closed = False
        self._stream_transports: weakref.WeakSet[asyncio.BaseTransport] = weakref.WeakSet()

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Params = (),
        body: Any = None,
        content_type: str = "application/json",
        not_after: float | None = None,
    ) -> Json:
        """One API call; returns the decoded object. ``not_after``: seconds since the epoch after which no
        attempt begins, however long credentials or a busy server kept it waiting. Raises ApiError."""
        return await self._exchange(
            _object,
            method,
            path,
            params=params,
            body=body,
            content_type=content_type,
            not_after=not_after,
        )

    async def call_raw(
        self,
        method: str,
        path: str,
        *,
        params: Params = (),
        body: Any = None,
        content_type: str = "application/json",
    ) -> tuple[int, Mapping[str, str], bytes]:
        """As ``call``, for callers that decode the body into their own types."""
        return await self._exchange(
            _as_it_came, method, path, params=params, body=body, content_type=content_type
        )

    async def _exchange(
        self,
        read: Callable[[aiohttp.ClientResponse, bytes], T],
        method: str,
        path: str,
        *,
        params: Params,
        body: Any,
        content_type: str,
        not_after: float | None = None,
    ) -> T:
        data = None if body is None else msgspec.json.encode(body)
        headers = {"Accept": "application/json"} | ({} if data is None else {"Content-Type": content_type})

        async def attempt(endpoint: Endpoint) -> T:
            # By the clock on the wall: the monotonic one stands still while a machine sleeps.
            if not_after is not None and time.time() > not_after:
                raise answers.not_sent("TooLate", "the request was held up too long to be sent still")
            async with self._answers(endpoint):
                session = self._session(streams=False)
                async with session.request(
                    method,
                    _url(endpoint, path, params),
                    data=data,
                    headers=_headers(endpoint, headers),
                    allow_redirects=False,
                    **_connection(endpoint),
                ) as response:
                    received = await _bounded(response)
            if not 200 <= response.status < 300:
                raise _refusal(response, received)
            return read(response, received)

        return await self._patiently(method == "GET", attempt)

    @contextlib.asynccontextmanager
    async def stream(
        self, path: str, *, params: Params = (), idle: float | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A GET whose body is read as it comes; ``idle``: seconds without a byte after which it fails.

        Raises ApiError for a refusal; errors while the body is read are the caller's.
        """

        async def attempt(endpoint: Endpoint) -> aiohttp.ClientResponse:
            async with self._answers(endpoint):
                response = await self._session(streams=True).get(
                    _url(endpoint, path, params),
                    headers=_headers(endpoint, {"Accept": "application/json"}),
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=idle),
                    **_connection(endpoint),
                )
            if response.status != 200:
                with contextlib.closing(response):
                    raise _refusal(response, await _some(response))
            return response

        response = await self._patiently(True, attempt)
        with contextlib.closing(response):
            yield response

    async def websocket(
        self, path: str, *, params: Params, protocols: Sequence[str], origin: bool = False
    ) -> aiohttp.ClientWebSocketResponse[Any]:
        """Open a WebSocket. The library's heartbeat is off: ``kube.websocket`` keeps its own. ``origin``: say
        that we come from the server itself, without which it refuses a watch."""

        async def attempt(endpoint: Endpoint) -> aiohttp.ClientWebSocketResponse[Any]:
            async with self._answers(endpoint):
                return await self._session(streams=True).ws_connect(
                    _url(endpoint, path, params),
                    protocols=protocols,
                    headers=_headers(endpoint, {}),
                    origin=endpoint.server if origin else None,
                    autoping=False,
                    autoclose=False,
                    max_msg_size=0,
                    compress=0,
                    ssl=endpoint.ssl,
                    proxy=endpoint.proxy,
                    server_hostname=endpoint.server_name,
                )

        return await self._patiently(False, attempt)

    async def close(self) -> None:
        """Close both sessions and everything open on them; repeatable."""
        self._closed = True
        for session in (self._calls, self._streams):
            if session is not None:
                await session.close()
        # A closed TLS connection waits for the other side's goodbye, out of the session's sight. Whoever
        # closes a cluster may end the event loop next, so nothing is waited for.
        for transport in list(self._stream_transports):
            if isinstance(transport, asyncio.WriteTransport):
                with contextlib.suppress(AttributeError):  # Python 3.11.2: it was closed twice already
                    transport.abort()
        await asyncio.sleep(0)

    async def _patiently(self, read: bool, send: Callable[[Endpoint], Awaitable[T]]) -> T:
        """Send, and try again where that is safe, within our time."""
        budget = _Budget(self.request_timeout)
        attempts, pause = 1, FIRST_PAUSE
        while True:
            try:
                return await self._authorised(budget, send)
            except ApiError as error:
                wait = _pause(error, read and attempts < READ_ATTEMPTS, pause)
                if wait is None or wait >= budget.left:
                    raise
                await budget.pause(wait)
                if budget.left <= 0:
                    raise
            attempts, pause = attempts + 1, pause * 2

    async def _authorised(self, budget: _Budget, send: Callable[[Endpoint], Awaitable[T]]) -> T:
        endpoint = await self.access.current()
        try:
            return await self._in_time(budget, send(endpoint))
        except ApiError as error:
            if error.problem.http_status != 401:
                raise
            renewed = await self.access.renewed(endpoint)
            if renewed is endpoint:
                raise
        return await self._in_time(budget, send(renewed))

    async def _in_time(self, budget: _Budget, sending: Awaitable[T]) -> T:
        try:
            return await budget.spend(sending)
        except TimeoutError as error:
            raise answers.no_answer(error, self.access.server) from None

    @contextlib.asynccontextmanager
    async def _answers(self, endpoint: Endpoint) -> AsyncIterator[None]:
        """Turn the library's failures into ApiError. Our own timeout passes through as a cancellation."""
        try:
            yield
        except aiohttp.WSServerHandshakeError as error:
            raise answers.no_upgrade(error) from None
        except (aiohttp.ClientError, OSError) as error:
            # Not chained: some of the library's errors carry the request with its headers.
            raise answers.no_answer(error, endpoint.server) from None

    def _session(self, *, streams: bool) -> aiohttp.ClientSession:
        if self._closed:
            raise answers.not_sent("Closed", "the connection to the cluster was closed")
        if self._calls is None or self._streams is None:
            self._calls = new_session(64, False)
            self._streams = new_session(0, self._stream_began)
        return self._streams if streams else self._calls

    async def _stream_began(self, response: aiohttp.ClientResponse) -> None:
        """Note the connection; read the body of a refused upgrade, which ``ws_connect`` would drop."""
        if response.connection is not None and response.connection.transport is not None:
            self._stream_transports.add(response.connection.transport)
        if response.status >= 300:
            raise _refusal(response, await _some(response))


def _refusal(response: aiohttp.ClientResponse, body: bytes) -> ApiError:
    return answers.refusal(response.status, response.headers, _without_login(response, body))


def _object(response: aiohttp.ClientResponse, body: bytes) -> Json:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (ValueError, RecursionError):
        shown = _without_login(response, body)
        raise answers.unreadable(response.status, response.headers, shown) from None


def _as_it_came(response: aiohttp.ClientResponse, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
    return response.status, response.headers, body


def _without_login(response: aiohttp.ClientResponse, body: bytes) -> bytes:
    return answers.without_login(body, response.request_info.headers.get("Authorization", ""))


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    """The body, read as it is unpacked. A compressed answer may be a thousand times what was sent."""
    received = bytearray()
    async for chunk in response.content.iter_any():
        received += chunk
        if len(received) > MAX_ANSWER:
            response.close()
            raise answers.too_large(response.status, MAX_ANSWER)
    return bytes(received)


async def _some(response: aiohttp.ClientResponse) -> bytes:
    try:
        return await response.content.read(MAX_REFUSAL)
    except aiohttp.ClientError:
        return b""


def _pause(error: ApiError, again: bool, pause: float) -> float | None:
    """Seconds until the next attempt; None: give up."""
    problem = error.problem
    if problem.http_status == 429:
        return BUSY_PAUSE if problem.retry_after is None else max(FIRST_PAUSE, problem.retry_after)
    if not again:
        return None
    if problem.http_status in _GATEWAY:
        return pause if problem.retry_after is None else problem.retry_after
    return pause if problem.reason in ("Unreachable", "NoAnswer") else None


def _url(endpoint: Endpoint, path: str, params: Params) -> URL:
    url = URL(endpoint.server + path)
    return url.with_query(list(params)) if params else url


def _headers(endpoint: Endpoint, more: Mapping[str, str]) -> Mapping[str, str]:
    headers = endpoint.headers.copy()
    headers.update(more)
    return headers


def _connection(endpoint: Endpoint) -> dict[str, Any]:
    return {"ssl": endpoint.ssl, "proxy": endpoint.proxy, "server_hostname": endpoint.server_name}
