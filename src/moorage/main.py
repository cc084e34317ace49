"""The composition root: reads settings, opens adapters, hands them to the verbs. The only module that knows
every layer. Imports adapters late, so that ``moorage --help`` loads none of them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from moorage.cli.wiring import (
    ContextShown,
    GlobalOptions,
    Served,
    ServeRequest,
    SettingInForce,
    Versions,
)

if TYPE_CHECKING:
    import asyncio

    from moorage.core.errors import MoorageError
    from moorage.own_cluster import OwnCluster
    from moorage.own_server import OwnServer
    from moorage.ports.cluster import Cluster
    from moorage.ports.serving import ContextFound
    from moorage.ports.sessions import SessionVerbs
    from moorage.presets import Presets
    from moorage.sessions.executors import ExecutorConfig
    from moorage.settings import Setting, Settings
    from moorage.store import SqlStore

NAMING = ("context", "kubeconfig")
"""Settings that name a cluster, also for a session that was made on another. KUBECONFIG only completes them,
and a namespace; it never chooses. Where nothing is named, new sessions go to the embedded cluster."""


class Composition:
    """Implements ``cli.wiring.Wiring``."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    @property
    def environ(self) -> Mapping[str, str]:
        return self._environ

    @cached_property
    def _defaults(self) -> Settings:
        from moorage import settings

        return settings.load({}, self._environ, Path.cwd())

    def setting(self, key: str) -> str:
        return self._defaults.text(key)

    def presets(self) -> Presets:
        from moorage.presets import Presets

        return Presets(Path(self.user_file()).parent / "presets")

    def versions(self) -> Versions:
        import importlib.metadata

        from moorage.core.errors import NotFound
        from moorage.engine.helper import helper_binary

        client = importlib.metadata.version("moorage")
        try:
            helper_binary("linux/amd64")
        except NotFound:
            return Versions(client, "")
        return Versions(client, client)

    def session_names(self, data_dir: str, *, archived: bool) -> Sequence[str]:
        from moorage import settings
        from moorage.core.errors import MoorageError
        from moorage.store.glance import session_names

        try:
            found = settings.load({"data_dir": data_dir}, self._environ, Path.cwd())
        except (MoorageError, OSError):
            return []
        return session_names(found.data_dir, archived=archived)

    def context_names(self, kubeconfig: str) -> Sequence[str]:
        from moorage.core.errors import MoorageError
        from moorage.kube import kubeconfig as kubeconfigs

        try:
            return kubeconfigs.context_names(kubeconfig or self.setting("kubeconfig") or None, self._environ)
        except (MoorageError, OSError):
            return []

    def settings(self, options: GlobalOptions) -> Sequence[SettingInForce]:
        from moorage import settings

        loaded = settings.load(_flags(options), self._environ, Path.cwd())
        return [_in_force(setting, loaded) for setting in settings.SETTINGS]

    def user_file(self) -> str:
        from moorage import settings_edit

        return str(settings_edit.user_file(self._environ, Path.cwd()))

    def change_settings(self, values: Mapping[str, str | None]) -> bool:
        from moorage import settings_edit

        checked = {
            settings_edit.known(name).name: None
            if value is None
            else settings_edit.checked(name, value, Path.cwd())
            for name, value in values.items()
        }
        return settings_edit.change(Path(self.user_file()), checked)

    def contexts(self, kubeconfig: str) -> Sequence[ContextShown]:
        from moorage.kube import kubeconfig as kubeconfigs

        named = kubeconfig or self.setting("kubeconfig") or None
        names = kubeconfigs.context_names(named, self._environ)
        if not names:
            kubeconfigs.load(named, None, None, self._environ)  # says what is wrong with it
        return [_context(named, name, self._environ) for name in names]

    async def sessions(self, options: GlobalOptions) -> SessionVerbs:
        from moorage import settings as all_settings
        from moorage.engine.sources import Sources
        from moorage.own_cluster import OwnCluster
        from moorage.sessions.executors import Executors
        from moorage.sessions.parts import Parts
        from moorage.sessions.verbs import Verbs
        from moorage.store import current_owner
        from moorage.system import SystemClock, SystemIds

        settings = all_settings.load(_flags(options), self._environ, Path.cwd())
        named = any(settings.text(name) for name in NAMING)
        given = _executor(settings, self._environ) if named else None
        store = await self.open_store(settings)

        own = OwnCluster(settings.data_dir)

        async def connect(config: ExecutorConfig) -> Cluster:
            if config.embedded:
                if options.act_as:
                    raise _one_person(options.act_as)
                await own.use()
                config = own.built_in().config
            return self.connect(config, settings, terminal=not options.no_input, act_as=options.act_as)

        executors = Executors(
            store,
            connect,
            given,
            by_namespace=partial(_executor, settings, self._environ) if settings.text("namespace") else None,
            built_in=own.built_in(),
        )
        sources = Sources(settings.data_dir / "sources")
        return Verbs(
            Parts(
                store,
                executors,
                sources,
                SystemClock(),
                SystemIds(),
                current_owner(),
                patience=settings.request_timeout,
            )
        )

    def own_cluster(self, options: GlobalOptions) -> OwnCluster:
        from moorage import settings
        from moorage.own_cluster import OwnCluster

        return OwnCluster(settings.load(_flags(options), self._environ, Path.cwd()).data_dir)

    def own_server(self, options: GlobalOptions) -> OwnServer:
        from moorage import settings
        from moorage.own_server import OwnServer

        return OwnServer(settings.load(_flags(options), self._environ, Path.cwd()).data_dir)

    async def serve(
        self,
        options: GlobalOptions,
        request: ServeRequest,
        ready: Callable[[Served], None],
        stop: asyncio.Event,
    ) -> None:
        from moorage import serving, settings

        await serving.serve(
            self, settings.load(_flags(options), self._environ, Path.cwd()), request, ready, stop
        )

    async def serve_detached(self, options: GlobalOptions, request: ServeRequest) -> Served:
        from moorage import serving, settings

        loaded = settings.load(_flags(options), self._environ, Path.cwd())
        return await serving.serve_detached(self, loaded, request)

    async def sign_in_link(self, options: GlobalOptions, database_url: str, url: str) -> str:
        from moorage import serving, settings

        loaded = settings.load(_flags(options), self._environ, Path.cwd())
        return await serving.sign_in_link(self, loaded, database_url, url)

    async def open_store(self, settings: Settings, database_url: str = "") -> SqlStore:
        """The store of the data folder. The crash tests put their own around it."""
        from moorage.store import open_store

        return await open_store(
            settings.data_dir,
            secret_key=settings.secret_key,
            database_url=database_url or settings.database_url or None,
        )

    def contexts_found(self, kubeconfig: str) -> Sequence[ContextFound]:
        """As ``contexts``, for the server."""
        from moorage.ports.serving import ContextFound

        return [
            ContextFound(shown.name, shown.namespace, shown.server, shown.problem)
            for shown in self.contexts(kubeconfig)
        ]

    def connect(
        self, config: ExecutorConfig, settings: Settings, *, terminal: bool, act_as: str = ""
    ) -> Cluster:
        """A cluster, not yet connected. The crash tests put their own around it."""
        from moorage import kube

        timeout = config.request_timeout or settings.request_timeout
        if not config.kubeconfig:
            return kube.connect_in_cluster(config.namespace, timeout, environ=self._environ)
        # A recorded list of files is read by the rules of the KUBECONFIG list; a single one must exist.
        single = config.kubeconfig if os.pathsep not in config.kubeconfig else None
        return kube.connect(
            single,
            config.context or None,
            config.namespace,
            timeout,
            terminal=terminal,
            act_as=act_as,
            environ={**self._environ, "KUBECONFIG": config.kubeconfig},
        )


def _one_person(act_as: str) -> MoorageError:
    from moorage.core.errors import UsageError

    return UsageError(
        f"the embedded cluster is for one person and knows no {act_as}",
        field="--as",
        hint="name a cluster with --context, or leave out --as",
    )


def _flags(options: GlobalOptions) -> dict[str, object]:
    from moorage.settings import BY_NAME

    flags = {name: getattr(options, name, None) for name in BY_NAME}
    if "=" in options.output:  # a template: the command line has read it, and settings hold none
        flags["output"] = None
    return flags


def _in_force(setting: Setting, loaded: Settings) -> SettingInForce:
    source = loaded.origins.get(setting.name, "")
    if setting.kind == "key":
        return SettingInForce(setting.name, "set, and not shown" if source else "", source, setting.meaning)
    value = loaded.values.get(setting.name) or setting.default
    if setting.kind == "switch":
        value = value or "false"
    return SettingInForce(setting.name, value, source or ("default" if value else ""), setting.meaning)


def _context(kubeconfig: str | None, name: str, environ: Mapping[str, str]) -> ContextShown:
    from moorage.core.errors import MoorageError
    from moorage.kube import kubeconfig as kubeconfigs

    try:
        target = kubeconfigs.load(kubeconfig, name, None, environ)
    except MoorageError as error:
        return ContextShown(name, "", "", error.message)
    server = re.sub(r"//[^/@]*@", "//", target.server)  # whoever put a password there
    return ContextShown(name, target.namespace, server)


def _executor(settings: Settings, environ: Mapping[str, str]) -> ExecutorConfig:
    """The executor that flags or settings choose, completed by the kubeconfig."""
    from moorage.kube import kubeconfig as kubeconfigs
    from moorage.sessions.executors import ExecutorConfig

    named = settings.text("kubeconfig") or None
    target = kubeconfigs.load(
        named, settings.text("context") or None, settings.text("namespace") or None, environ
    )
    files, _ = kubeconfigs.paths(named, environ)
    listed = os.pathsep.join(str(path.absolute()) for path in files)
    return ExecutorConfig(kubeconfig=listed, context=target.context, namespace=target.namespace)


def wire_sdk() -> None:
    """Tell the SDK how a place is opened: the verbs of this process, with the settings of this folder."""
    from moorage.sdk.opening import Opened, Place, use_opener

    async def opened(place: Place) -> Opened:
        wiring = Composition(os.environ)
        options = GlobalOptions(
            context=place.context,
            kubeconfig=place.kubeconfig,
            namespace=place.namespace,
            data_dir=place.data_dir,
            no_input=True,
        )
        return Opened(await wiring.sessions(options), wiring.setting)

    use_opener(opened)


def main() -> None:
    """The ``moorage`` command."""
    from moorage.cli.app import run_cli

    sys.exit(run_cli(sys.argv[1:], Composition(os.environ)))
