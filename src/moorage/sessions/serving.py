"""The executors of a server, in process. Implements ``ports.serving.Places``; made by ``main``.

One set of connections for all of them. An executor that is changed is written down under the same id, so its
sessions are looked at with what it says now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from moorage.core.service.records import AuthMode, Executor, ExecutorSpec
from moorage.ports.serving import BuiltInPlace, ContextFound
from moorage.ports.sessions import ConnectionTest, LaunchRequest
from moorage.sessions.doctor import connection_test
from moorage.sessions.executors import BuiltIn, ExecutorConfig
from moorage.sessions.parts import Parts
from moorage.sessions.verbs import Verbs

BUILT_IN = "embedded"
"""Id and name of the embedded cluster as an executor."""
Contexts = Callable[[str], Sequence[ContextFound]]


class ServingPlaces:
    """See the port. ``parts.executors`` has no place that flags named. ``close`` closes the store, too."""

    def __init__(self, parts: Parts, contexts: Contexts) -> None:
        self._parts = parts
        self._contexts = contexts
        self._verbs = Verbs(parts)

    @property
    def sessions(self) -> Verbs:
        return self._verbs

    @property
    def built_in(self) -> BuiltInPlace | None:
        own = self._parts.executors.built_in
        if own is None:
            return None
        spec = ExecutorSpec(AuthMode.KUBECONFIG, own.config.namespace, own.config.kubeconfig)
        executor = Executor(BUILT_IN, BUILT_IN, spec, created_at=0.0, updated_at=0.0, built_in=True)
        return BuiltInPlace(executor, own.template.decode(), own.platform)

    async def at(self, executor: Executor) -> Verbs:
        config = _config(executor, self._parts.executors.built_in)
        return Verbs(replace(self._parts, executors=self._parts.executors.choosing(config)))

    async def changed(self, executor: Executor) -> None:
        if not executor.built_in:
            await self._parts.executors.remember(_of_spec(executor.spec, executor.id))

    async def test(self, spec: ExecutorSpec, profile: LaunchRequest | None) -> ConnectionTest:
        config = _of_spec(spec, "")
        trial = self._parts.executors.trying(config)
        try:
            return await connection_test(replace(self._parts, executors=trial), config, profile)
        finally:
            await trial.close()

    def contexts(self, kubeconfig_path: str) -> Sequence[ContextFound]:
        return self._contexts(kubeconfig_path)

    async def close(self) -> None:
        await self._verbs.close()


def _config(executor: Executor, own: BuiltIn | None) -> ExecutorConfig:
    if executor.built_in and own is not None:
        return own.config
    return _of_spec(executor.spec, executor.id)


def _of_spec(spec: ExecutorSpec, executor_id: str) -> ExecutorConfig:
    return ExecutorConfig(
        spec.kubeconfig_path if spec.auth_mode is AuthMode.KUBECONFIG else "",
        spec.kube_context,
        spec.namespace,
        given_id=executor_id,
        request_timeout=float(spec.request_timeout_seconds),
    )
