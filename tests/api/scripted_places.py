"""Places where every verb succeeds: for tests of what comes before a verb."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moorage.core.service.records import Executor, ExecutorSpec
from moorage.core.session import Identity, Session
from moorage.ports.serving import BuiltInPlace, ContextFound, Places
from moorage.ports.sessions import ConnectionTest, LaunchRequest, SessionVerbs
from moorage.server.parts import ServerParts
from tests.cli.scripted import Scripted
from tests.cli.scripted_views import make_session, make_view


class NoFiles:
    """A filesystem of which anything may be removed."""

    async def remove(self, path: str) -> None: ...


class Obliging(Scripted):
    """Does what it is told, and says so in ``calls``."""

    def filesystem(self, name: str) -> Any:
        self.note("filesystem", name)
        return NoFiles()


class ScriptedPlaces:
    """Implements ``ports.serving.Places``."""

    built_in: BuiltInPlace | None = None

    def __init__(self, verbs: Obliging) -> None:
        self.verbs = verbs
        self.tested: list[ExecutorSpec] = []

    @property
    def sessions(self) -> SessionVerbs:
        return self.verbs

    async def at(self, executor: Executor) -> SessionVerbs:
        return self.verbs

    async def changed(self, executor: Executor) -> None: ...

    async def test(self, spec: ExecutorSpec, profile: LaunchRequest | None) -> ConnectionTest:
        self.tested.append(spec)
        return ConnectionTest("v1.34.0", spec.namespace, ())

    def contexts(self, kubeconfig_path: str) -> Sequence[ContextFound]:
        return [ContextFound("kind-dev", "agents", "https://cluster.example")]

    async def close(self) -> None: ...


class Switch:
    """The places of a server, which a test may change under it."""

    def __init__(self, to: Places) -> None:
        self.to = to

    def __getattr__(self, name: str) -> Any:
        return getattr(self.to, name)


async def on_record(
    parts: ServerParts, task_id: str, executor_id: str = "exec", profile_id: str = "prof", name: str = "calm"
) -> Session:
    """A running session of a task, in the store alone."""
    session_id = f"s{parts.ids.session_id()[:11]}"
    identity = Identity("inst", executor_id, profile_id, task_id, session_id)
    session = make_session(name, identity=identity)
    await parts.store.sessions.add(session)
    return session


def obliging(*sessions: Session) -> Obliging:
    views = [make_view(session.name, identity=session.identity) for session in sessions]
    return Obliging(views=views, files={"/workspace/a": []})
