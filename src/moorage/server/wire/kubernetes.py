"""The connection test, contexts, and sessions as everybody on an executor may see them."""

from __future__ import annotations

from typing import Literal

from moorage.ports.sessions import ConnectionTest
from moorage.server.wire.base import Wire
from moorage.server.wire.configuration import ExecutorSpecWire, ProfileSpecWire


class TestBody(Wire):
    """Neither has to be stored."""

    __test__ = False
    spec: ExecutorSpecWire
    profile: ProfileSpecWire | None = None


class StepShown(Wire):
    key: str
    status: Literal["ok", "warning", "failed", "not_run"]
    success: bool
    duration_ms: int
    detail: str
    fix: str


class TestShown(Wire):
    __test__ = False
    success: bool
    server_version: str
    namespace: str
    steps: list[StepShown]
    warnings: list[str]
    error: str | None


class ContextShown(Wire):
    name: str
    namespace: str
    server: str
    fault: str


class ExecutorSessionShown(Wire):
    """A session of an executor. Of another person's, ``task_id``, ``session_id`` and ``pod_name`` are None,
    and the failure's kind stands without its words. ``checked_at`` 0: nothing could be observed."""

    task_id: str | None
    session_id: str | None
    pod_name: str | None
    pod_phase: str
    container_state: str
    restarts: int
    workspace_kind: str
    created_at: float
    checked_at: float
    failure_reason: str


class ImpactShown(Wire):
    active_session_count: int


def test_shown(found: ConnectionTest) -> TestShown:
    return TestShown.model_validate(
        {
            "success": found.success,
            "server_version": found.server_version,
            "namespace": found.namespace,
            "steps": [{name: getattr(step, name) for name in StepShown.model_fields} for step in found.steps],
            "warnings": list(found.warnings),
            "error": found.error,
        }
    )
