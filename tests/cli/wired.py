"""A Wiring that hands out a script instead of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from moorage.cli.wiring import (
    ContextShown,
    GlobalOptions,
    Served,
    ServeRequest,
    SettingInForce,
    Versions,
)
from moorage.core.errors import MoorageError
from moorage.core.session import Phase
from moorage.presets import Presets
from tests.cli.scripted import Scripted


@dataclass
class ScriptedOwn:
    """The embedded cluster: ``found`` are its Pods, None when it does not run."""

    found: tuple[str, ...] | None = None
    ended: bool = False

    async def pods(self) -> tuple[str, ...] | None:
        return self.found

    async def end(self) -> bool:
        self.ended, was = True, self.found is not None
        return was


@dataclass
class ScriptedServer:
    """The server: ``at`` is where it runs, "" when there is none. ``served``: what ``up`` asked for."""

    at: str = ""
    ended: bool = False
    served: list[ServeRequest] = field(default_factory=list)
    detached: list[ServeRequest] = field(default_factory=list)
    links: int = 0

    def running(self) -> Runs | None:
        return Runs(4242, self.at) if self.at else None

    async def end(self) -> bool:
        self.ended = True
        return True


@dataclass(frozen=True)
class Runs:
    """A server that runs."""

    pid: int
    url: str


@dataclass
class ScriptedWiring:
    """Hands out one Scripted; ``broken`` is raised instead where an executor could not be opened."""

    verbs: Scripted
    environ: Mapping[str, str] = field(default_factory=lambda: {"COLUMNS": "80"})
    settings_set: dict[str, str] = field(default_factory=dict)
    broken: MoorageError | None = None
    options: GlobalOptions | None = None
    own: ScriptedOwn = field(default_factory=lambda: ScriptedOwn())
    server: ScriptedServer = field(default_factory=lambda: ScriptedServer())
    contexts_known: tuple[str, ...] = ("kind-dev", "prod")
    own_presets: Path | None = None

    async def sessions(self, options: GlobalOptions) -> Scripted:
        self.options = options
        if self.broken is not None:
            raise self.broken
        return self.verbs

    def own_cluster(self, options: GlobalOptions) -> ScriptedOwn:
        self.options = options
        return self.own

    def presets(self) -> Presets:
        return Presets(self.own_presets)

    def own_server(self, options: GlobalOptions) -> ScriptedServer:
        self.options = options
        return self.server

    async def serve(
        self,
        options: GlobalOptions,
        request: ServeRequest,
        ready: Callable[[Served], None],
        stop: asyncio.Event,
    ) -> None:
        self.server.served.append(request)
        ready(Served(f"http://{request.host}:{request.port}", "http://link/once", "it was asked to"))

    async def serve_detached(self, options: GlobalOptions, request: ServeRequest) -> Served:
        self.server.detached.append(request)
        return Served(f"http://{request.host}:{request.port}", "http://link/once")

    async def sign_in_link(self, options: GlobalOptions, database_url: str, url: str) -> str:
        self.server.links += 1
        return f"{url}/again"

    def versions(self) -> Versions:
        return Versions(client="0.1.0", helper="0.1.0")

    def session_names(self, data_dir: str, *, archived: bool) -> list[str]:
        shown = (Phase.ARCHIVED,) if not archived else ()
        return [v.session.name for v in self.verbs.views if v.session.state.phase not in shown]

    def context_names(self, kubeconfig: str) -> list[str]:
        return [f"{kubeconfig}{name}" for name in self.contexts_known]

    def setting(self, key: str) -> str:
        return self.settings_set.get(key, "")

    def settings(self, options: GlobalOptions) -> list[SettingInForce]:
        return [
            SettingInForce(name, value, "a file", f"What {name} means.")
            for name, value in self.settings_set.items()
        ]

    def user_file(self) -> str:
        return "/folder/.config/moorage/config.toml"

    def change_settings(self, values: Mapping[str, str | None]) -> bool:
        raise AssertionError("the scripted wiring has no file")

    def contexts(self, kubeconfig: str) -> list[ContextShown]:
        return [ContextShown(name, "default", f"https://{name}.example") for name in self.contexts_known]
