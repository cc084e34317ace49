"""Sessions on the executors of the service: what ``server`` needs of ``sessions`` beside the verbs
themselves.

Implemented by ``sessions.serving``, made by ``main``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from moorage.core.presets import Preset
from moorage.core.service.records import Executor, ExecutorSpec
from moorage.ports.sessions import Attachment, ConnectionTest, LaunchRequest, SessionVerbs


@dataclass(frozen=True)
class ContextFound:
    """A context of a kubeconfig. ``fault``: why it cannot be used, "" when it can."""

    name: str
    namespace: str
    server: str
    fault: str = ""


@dataclass(frozen=True)
class BuiltInPlace:
    """The embedded cluster, as an executor that is never stored. ``template``: what its profile is made
    of."""

    executor: Executor
    template: str
    platform: str


class Places(Protocol):
    """Where sessions run."""

    @property
    def sessions(self) -> SessionVerbs:
        """Of the sessions there are, each on the executor it was made on, with its current credentials."""

    @property
    def built_in(self) -> BuiltInPlace | None:
        """None where this server has no embedded cluster."""

    async def at(self, executor: Executor) -> SessionVerbs:
        """For new sessions there. Asks nothing yet."""

    async def changed(self, executor: Executor) -> None:
        """From now on its sessions are looked at by what this executor says."""

    async def test(self, spec: ExecutorSpec, profile: LaunchRequest | None) -> ConnectionTest:
        """Of an executor and a profile that need not be stored. Changes nothing, raises nothing."""

    def contexts(self, kubeconfig_path: str) -> Sequence[ContextFound]:
        """What a file holds, "" for the usual one. UsageError for a file that cannot be read."""

    async def close(self) -> None: ...


class Driving(Protocol):
    """Sees to it that somebody drives each session that runs. One of each server."""

    async def start(self) -> None:
        """Also of what ran when the last server ended."""

    def follow(self, session_id: str) -> None:
        """Repeatable. To be told after a launch, a resume and a reset; it may find out by itself, later."""

    def attachment(self, session_id: str) -> Attachment | None:
        """The one through which it drives, whose input reaches the agent without another link; None where
        another server or command does, or it drives without one."""

    async def close(self) -> None:
        """Let go of all sessions; agents run on."""


class PresetShelf(Protocol):
    """Agent presets by name. Implemented by ``presets``."""

    def names(self) -> list[str]: ...

    def get(self, name: str) -> Preset:
        """NotFound for one that is not there."""
