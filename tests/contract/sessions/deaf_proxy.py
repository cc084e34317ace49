"""A reverse proxy as some load balancers are: every request passes, but no upgrade to a WebSocket."""

from __future__ import annotations

import asyncio
import base64
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
from aiohttp import web

DROPPED = {"connection", "upgrade", "host", "transfer-encoding", "content-length"}


@contextmanager
def deaf_proxy(server: str, authority: str) -> Iterator[str]:
    """Before ``server``, whose CA is ``authority`` in base64; yields its own address, in plain HTTP."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="deaf proxy")
    thread.start()
    runner = _Runner(server, base64.b64decode(authority).decode())
    try:
        yield asyncio.run_coroutine_threadsafe(runner.start(), loop).result(30)
    finally:
        asyncio.run_coroutine_threadsafe(runner.stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class _Runner:
    def __init__(self, server: str, authority: str) -> None:
        self._server, self._tls = server, ssl.create_default_context(cadata=authority)

    async def start(self) -> str:
        self._onward = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=self._tls))
        self._runner = web.ServerRunner(web.Server(self._pass), shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        await self._runner.cleanup()
        await self._onward.close()

    async def _pass(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in DROPPED}
        timeout = aiohttp.ClientTimeout(total=20)
        async with self._onward.request(
            request.method,
            self._server + request.rel_url.raw_path_qs,
            headers=headers,
            data=await request.read() or None,
            timeout=timeout,
        ) as answer:
            kept = {"Content-Type": answer.headers.get("Content-Type", "text/plain")}
            return web.Response(status=answer.status, body=await answer.read(), headers=kept)
