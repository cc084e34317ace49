"""What the command line needs from the composition root, and what it tells it.

``main`` implements ``Wiring``; every verb reaches sessions through it. Nothing here imports an adapter,
so that ``moorage --help`` loads none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio

    from moorage.core.presets import Preset
    from moorage.ports.sessions import SessionVerbs


@dataclass(frozen=True)
class GlobalOptions:
    """The flags every verb takes, as typed. Empty (or None) means *not given*: ``main`` then goes on with
    ``MOORAGE_*``, the project file, the user file. ``request_timeout`` is in seconds."""

    context: str = ""
    kubeconfig: str = ""
    namespace: str = ""
    act_as: str = ""
    request_timeout: float | None = None
    data_dir: str = ""
    output: str = ""
    no_color: bool = False
    no_input: bool = False
    quiet: bool = False
    verbosity: int = 0


@dataclass(frozen=True)
class Versions:
    """Versions known without a cluster: of this program, and of the agentctl it ships ("" when none)."""

    client: str
    helper: str


@dataclass(frozen=True)
class SettingInForce:
    """One setting as it holds now. ``source``: the flag, variable or file it comes from, ``default``, or ""
    when it is not set. ``value`` of a secret says only that there is one."""

    name: str
    value: str
    source: str
    meaning: str


@dataclass(frozen=True)
class ContextShown:
    """A context of the kubeconfig. ``problem``: why it cannot be used; then the rest is ""."""

    name: str
    namespace: str
    server: str
    problem: str = ""


class OwnCluster(Protocol):
    """The embedded cluster of the data folder."""

    async def pods(self) -> Sequence[str] | None:
        """Its Pods as ``NAMESPACE/NAME``; None when it does not run."""

    async def end(self) -> bool:
        """End it and the containers it runs; False when it did not run. StoreError when it does not end."""


class PresetFiles(Protocol):
    """The agent presets: ours, and those of the user's own folder."""

    def names(self) -> Sequence[str]:
        """Sorted; reads no file."""

    def get(self, name: str) -> Preset:
        """Raises NotFound, and DocumentError for a file with a fault."""

    def place(self, name: str) -> str:
        """``built in``, or the path of the user's file."""


@dataclass(frozen=True)
class ServeRequest:
    """What ``up`` was told. ``port`` 0: any free one. ``base_url``: as browsers reach the server, "" for the
    address it listens on. ``database_url``: "" for the settings', else the folder's own database."""

    host: str
    port: int
    base_url: str = ""
    database_url: str = ""
    embedded: bool = True


@dataclass(frozen=True)
class Served:
    """A server that answers. ``link`` signs one browser in, once; "" when nobody may be signed in that way.
    ``why_no_embedded``: "" while sessions may go to the embedded cluster."""

    url: str
    link: str = ""
    why_no_embedded: str = ""


class ServerRuns(Protocol):
    """A server that runs; ``url`` "" while it starts."""

    @property
    def pid(self) -> int: ...

    @property
    def url(self) -> str: ...


class OwnServer(Protocol):
    """The server of the data folder."""

    def running(self) -> ServerRuns | None: ...

    async def end(self) -> bool:
        """End it; agents run on. False when none ran. StoreError when it does not end."""


class Wiring(Protocol):
    """Given by ``main``. Every member is lazy: nothing is opened before a verb asks."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment of the person who typed: for ``-e NAME``, colours, terminal width."""

    async def sessions(self, options: GlobalOptions) -> SessionVerbs:
        """Open the verbs for these options; the caller closes them. Any error of core.errors: a
        configured but broken executor fails here, it is never replaced by another."""

    def own_cluster(self, options: GlobalOptions) -> OwnCluster:
        """The embedded cluster of these options' data folder; starts nothing."""

    def presets(self) -> PresetFiles: ...

    def own_server(self, options: GlobalOptions) -> OwnServer:
        """The server of these options' data folder; starts nothing."""

    async def serve(
        self,
        options: GlobalOptions,
        request: ServeRequest,
        ready: Callable[[Served], None],
        stop: asyncio.Event,
    ) -> None:
        """Serve until ``stop``; ``ready`` is called once it answers. Conflict when the folder has a server
        already."""

    async def serve_detached(self, options: GlobalOptions, request: ServeRequest) -> Served:
        """Start a process of its own that serves, and return once it answers. Raises what it died of."""

    async def sign_in_link(self, options: GlobalOptions, database_url: str, url: str) -> str:
        """One more link into the server at ``url``; "" where the folder has no administrator."""

    def versions(self) -> Versions: ...

    def session_names(self, data_dir: str, *, archived: bool) -> Sequence[str]:
        """For completion: the sessions on record, newest first. ``data_dir`` as typed, "" when it was not.
        Asks no cluster, never raises; [] where nothing can be read."""

    def context_names(self, kubeconfig: str) -> Sequence[str]:
        """For completion: the contexts of the kubeconfig, as typed or "". Never raises."""

    def setting(self, key: str) -> str:
        """Default of a flag from ``MOORAGE_<KEY>``, project or user file; "" when unset. ``key`` is the
        flag's name with underscores, e.g. ``workspace_size``."""

    def settings(self, options: GlobalOptions) -> Sequence[SettingInForce]:
        """All settings, in the order of docs/settings.md. DocumentError for a file with a fault."""

    def user_file(self) -> str:
        """The user's settings file, whether it is there or not."""

    def change_settings(self, values: Mapping[str, str | None]) -> bool:
        """Set (or, with None, remove) in the user's file; False when nothing was to do. Raises UsageError for
        what is no setting of it, DocumentError for a file with a fault; then nothing is changed."""

    def contexts(self, kubeconfig: str) -> Sequence[ContextShown]:
        """The contexts of the kubeconfig, as typed or "". NotFound when it was named and is not there."""
