"""What concerns the clusters: the connection test, contexts, and who has sessions on an executor."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from fastapi import Query, Request

from moorage.core.errors import NotFound, UsageError
from moorage.core.service.access import Actor, owns
from moorage.core.service.checks import below, check_executor, check_profile, require
from moorage.core.service.records import ExecutorSpec, Policy, ProfileSpec
from moorage.ports.service import InventoryRow
from moorage.ports.sessions import LaunchRequest, SessionView
from moorage.server.guard import actor_of, does
from moorage.server.owners import owner_of
from moorage.server.parts import ServerParts, parts_of
from moorage.server.places import executor_of
from moorage.server.routes.router import router
from moorage.server.wire.base import Page, record
from moorage.server.wire.kubernetes import (
    ContextShown,
    ExecutorSessionShown,
    ImpactShown,
    TestBody,
    TestShown,
    test_shown,
)

ROUTES = router("kubernetes")


@ROUTES.get("/kubernetes/contexts", openapi_extra=does("kubernetes.contexts"))
async def list_contexts(
    request: Request, kubeconfig_path: Annotated[str, Query(max_length=4096)] = ""
) -> Page[ContextShown]:
    """Of a kubeconfig on the server."""
    if kubeconfig_path and not kubeconfig_path.startswith("/"):
        raise UsageError(
            "the path is not absolute", field="kubeconfig_path", hint="give the file's path on the server"
        )
    found = parts_of(request).places.contexts(kubeconfig_path)
    return Page(items=[ContextShown(**dataclasses.asdict(context)) for context in found])


@ROUTES.post("/kubernetes/test", openapi_extra=does("kubernetes.test"))
async def test_connection(body: TestBody, request: Request) -> TestShown:
    """Of an executor and a profile that need not be stored. What does not work is in the steps; a draft that
    is not valid by itself is an error. Keeps nothing in the cluster."""
    parts = parts_of(request)
    spec = record(ExecutorSpec, body.spec)
    problems = check_executor(spec)
    profile = record(ProfileSpec, body.profile) if body.profile is not None else None
    if profile is not None:
        policies = await parts.service.policies.list_all()
        problems += _profile_problems(profile, policies)
    require(problems, "the draft")
    return test_shown(await parts.places.test(spec, _of_draft(profile) if profile else None))


def _profile_problems(profile: ProfileSpec, policies: list[Policy]) -> list:  # type: ignore[type-arg]
    return [
        dataclasses.replace(found, field=found.field.replace("spec.", "profile.", 1))
        for found in below("", check_profile(profile, policies))
    ]


def _of_draft(profile: ProfileSpec) -> LaunchRequest:
    return LaunchRequest(
        template_text=profile.pod_template_yaml.encode(),
        argv=profile.command or ("true",),
        workspace=profile.workspace,
        main_container=profile.main_container,
        platform=profile.platform,
        helper=profile.helper,
    )


@ROUTES.get("/kubernetes/executors/{executor_id}/sessions", openapi_extra=does("executor.sessions"))
async def executor_sessions(
    executor_id: str,
    request: Request,
    task_id: Annotated[str, Query(max_length=63)] = "",
    session_id: Annotated[str, Query(max_length=63)] = "",
) -> Page[ExecutorSessionShown]:
    """Sessions neither deleted nor archived, each looked at by its exact Pod. Filters narrow before any
    look."""
    parts, actor = parts_of(request), actor_of(request)
    if session_id and not task_id:
        raise UsageError(
            "session_id needs task_id", field="session_id", hint="name the session's task with task_id"
        )
    executor = await executor_of(parts, executor_id)
    if task_id and not owns(actor, await owner_of(parts, {"task_id": task_id})):
        raise NotFound(f"there is no task/{task_id}")
    rows = await parts.service.inventory.rows(executor.id, task_id=task_id, session_id=session_id)
    readable = [row for row in rows if row.readable]
    views = await parts.looks.at_all([row.session_id for row in readable])
    seen = dict(zip([row.session_id for row in readable], views, strict=True))
    return Page(items=[_row(row, seen.get(row.session_id), actor) for row in rows])


@ROUTES.get("/kubernetes/executors/{executor_id}/session-impact", openapi_extra=does("executor.impact"))
async def session_impact(executor_id: str, request: Request) -> ImpactShown:
    """How many sessions a change of this executor concerns, everybody's; and nothing else about them."""
    parts: ServerParts = parts_of(request)
    executor = await executor_of(parts, executor_id)
    return ImpactShown(active_session_count=await parts.service.inventory.active_count(executor.id))


def _row(row: InventoryRow, view: SessionView | None, actor: Actor) -> ExecutorSessionShown:
    own = owns(actor, row.owner_id)
    return ExecutorSessionShown(
        task_id=row.task_id if own else None,
        session_id=row.session_id if own else None,
        pod_name=view.session.inventory.pod_name if own and view else None,
        pod_phase=view.pod_phase if view else "",
        container_state=view.container_state if view else "",
        restarts=view.restarts if view else 0,
        workspace_kind=view.session.inventory.snapshot.workspace.mode.value if view else "",
        created_at=row.created_at,
        checked_at=view.observed_at if view else 0.0,
        failure_reason=_failure(view, own=own),
    )


def _failure(view: SessionView | None, *, own: bool) -> str:
    """Of somebody else's session a word of our own only: messages name Pods and images."""
    if view is None:
        return "record_unreadable"
    if view.diagnosis is not None:
        found = view.diagnosis
        return f"{found.category}: {found.message}" if own else found.category
    if view.unknown:
        return view.unknown if own else "not_observed"
    return ""
