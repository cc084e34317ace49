"""A server on loopback over a real store and the real verbs; only Kubernetes is a fake. One for each test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from moorage.presets import Presets
from moorage.server.parts import OidcSettings, Reached, server_parts
from moorage.server.run import LOOPBACK, listening, make_server
from moorage.sessions.executors import ExecutorConfig, Executors
from moorage.sessions.keeper import Keeper
from moorage.sessions.serving import ServingPlaces
from moorage.store import SqlStore, open_store
from tests.api.scripted_places import Switch
from tests.api.service import Service
from tests.sessions.stage import build


@pytest.fixture
def oidc_settings() -> OidcSettings | None:
    """The sign-in provider; tests of one have their own."""
    return None


@pytest.fixture
async def service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oidc_settings: OidcSettings | None
) -> AsyncIterator[Service]:
    store = await open_store(tmp_path / "data")
    assert isinstance(store, SqlStore)
    stage = build(store, tmp_path, monkeypatch)

    async def connect(config: ExecutorConfig) -> object:
        return stage.cluster

    executors = Executors(store, connect, None)  # type: ignore[arg-type]
    stage.parts = replace(stage.parts, executors=executors)
    places = ServingPlaces(stage.parts, lambda path: [])
    switch = Switch(places)
    sock = listening("127.0.0.1", 0)
    port = sock.getsockname()[1]
    reached = Reached(f"http://127.0.0.1:{port}", hosts=LOOPBACK)
    parts = server_parts(
        store,
        store.service,
        switch,
        Presets(),
        stage.clock,
        stage.parts.ids,
        reached,
        drivers=Keeper(stage.parts),
        oidc=oidc_settings,
    )
    server = make_server(parts)
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    await server.up.wait()
    made = Service(parts, stage, port, switch)
    try:
        yield made
    finally:
        server.should_exit = True
        await serving
        await parts.drivers.close()
        await places.close()
