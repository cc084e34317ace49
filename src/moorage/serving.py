"""The server of a data folder, put together: store, executors, keeper and application.

The half of the composition root that ``moorage up`` needs; called by ``main`` alone. Imports late, so that no
other verb loads a web server.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from moorage.cli.wiring import Served, ServeRequest
from moorage.core.errors import StoreError

if TYPE_CHECKING:
    from moorage.ports.cluster import Cluster
    from moorage.ports.serving import ContextFound
    from moorage.presets import Presets
    from moorage.server.parts import ServerParts
    from moorage.sessions.executors import ExecutorConfig
    from moorage.settings import Settings
    from moorage.store import SqlStore


class Composed(Protocol):
    """The other half: what ``main`` opens for every verb."""

    @property
    def environ(self) -> Mapping[str, str]: ...

    async def open_store(self, settings: Settings, database_url: str = "") -> SqlStore: ...

    def connect(self, config: ExecutorConfig, settings: Settings, *, terminal: bool) -> Cluster: ...

    def contexts_found(self, kubeconfig: str) -> Sequence[ContextFound]: ...

    def presets(self) -> Presets: ...


LOG: Final = "server.log"
"""In the data folder: what a detached server says."""
START_LIMIT: Final = 60.0
"""Seconds until a detached server must answer."""


async def serve(
    composition: Composed,
    settings: Settings,
    request: ServeRequest,
    ready: Callable[[Served], None],
    stop: asyncio.Event,
) -> None:
    """Until ``stop``. Raises Conflict when the folder has a server, or the address is taken."""
    from moorage.own_server import OwnServer
    from moorage.server import run
    from moorage.server.places import why_no_built_in
    from moorage.store.folder import make_folder

    make_folder(settings.data_dir)
    own = OwnServer(settings.data_dir)
    with own.held(), contextlib.closing(run.listening(request.host, request.port)) as sock:
        url = _url(request, sock.getsockname()[1])
        parts = await _parts(composition, settings, request, url)

        async def announce() -> None:
            link = await run.first_link(parts, _name())
            own.announce(url)
            ready(Served(url, link, await why_no_built_in(parts)))

        await run.serve(parts, sock, stop, announce)


async def sign_in_link(composition: Composed, settings: Settings, database_url: str, url: str) -> str:
    """One more link into the server at ``url``, for its first administrator."""
    from moorage.server import run

    parts = await _parts(composition, settings, ServeRequest("", 0, url, database_url), url)
    try:
        return await run.first_link(parts, _name())
    finally:
        await parts.places.close()


async def serve_detached(composition: Composed, settings: Settings, request: ServeRequest) -> Served:
    """A process of its own that serves; it runs on when this one has ended. Raises StoreError with what it
    said when it does not come up."""
    from moorage.store.folder import make_folder

    make_folder(settings.data_dir)
    log = settings.data_dir / LOG
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as said:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "moorage",
            *_words(settings, request),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=said,
            env={**composition.environ, **_database(request)},
            start_new_session=True,
        )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_LIMIT):
            line = await process.stdout.readline()
    except TimeoutError:
        process.kill()
        line = b""
    if not line:
        raise await _not_up(process, log)
    return msgspec.json.decode(line, type=Served)


async def _not_up(process: asyncio.subprocess.Process, log: Path) -> StoreError:
    await process.wait()
    lines = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
    why = next((line.partition("error: ")[2] for line in lines if line.startswith("error: ")), lines[-1])
    hint = next((line.partition("hint: ")[2] for line in lines if "hint: " in line), f"its log: {log}")
    return StoreError(f"the server did not come up: {why}", hint=hint)


def _words(settings: Settings, request: ServeRequest) -> list[str]:
    host = f"[{request.host}]" if ":" in request.host else request.host
    words = ["up", "--told", "--data-dir", str(settings.data_dir), "--listen", f"{host}:{request.port}"]
    words += ["--base-url", request.base_url] if request.base_url else []
    return words if request.embedded else [*words, "--no-embedded"]


def _database(request: ServeRequest) -> dict[str, str]:
    """By its variable: every user of this machine can read a command line."""
    return {"MOORAGE_DATABASE_URL": request.database_url} if request.database_url else {}


def _url(request: ServeRequest, port: int) -> str:
    """As browsers on this machine reach it, where nothing else was said."""
    if request.base_url:
        return request.base_url.rstrip("/")
    anywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
    host = anywhere.get(request.host, request.host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _name() -> str:
    """Of the first administrator: whoever started the server."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "administrator"


async def _parts(composition: Composed, settings: Settings, request: ServeRequest, url: str) -> ServerParts:
    from moorage.engine.sources import Sources
    from moorage.own_cluster import OwnCluster
    from moorage.server.parts import Reached, server_parts
    from moorage.server.run import LOOPBACK, hosts_of
    from moorage.sessions.executors import Executors
    from moorage.sessions.keeper import Keeper
    from moorage.sessions.parts import Parts
    from moorage.sessions.serving import ServingPlaces
    from moorage.store import current_owner
    from moorage.system import SystemClock, SystemIds

    store = await composition.open_store(settings, request.database_url)
    cluster = OwnCluster(settings.data_dir)

    async def connect(config: ExecutorConfig) -> Cluster:
        if config.embedded:
            await cluster.use()
            config = cluster.built_in().config
        return composition.connect(config, settings, terminal=False)

    executors = Executors(store, connect, None, built_in=cluster.built_in() if request.embedded else None)
    parts = Parts(
        store,
        executors,
        Sources(settings.data_dir / "sources"),
        SystemClock(),
        SystemIds(),
        current_owner(),
        patience=settings.request_timeout,
    )
    return server_parts(
        store,
        store.service,
        ServingPlaces(parts, composition.contexts_found),
        composition.presets(),
        parts.clock,
        parts.ids,
        Reached(url, hosts_of(request.host), loopback=request.host in LOOPBACK),
        drivers=Keeper(parts),
    )
