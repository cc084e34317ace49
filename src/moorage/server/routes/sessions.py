"""Sessions: runs of a person's tasks. A verb answers when it is done; who wants only to wish it says
``wait=false`` where that is offered."""

from __future__ import annotations

from fastapi import Request

from moorage.core.service.records import Task
from moorage.ports.sessions import Progress
from moorage.server import launching
from moorage.server.guard import actor_of, does
from moorage.server.owners import AD_HOC
from moorage.server.parts import ServerParts, parts_of
from moorage.server.places import executor_of, profile_of
from moorage.server.routes.router import router
from moorage.server.routes.secrets import stored_secret
from moorage.server.wire.base import Page
from moorage.server.wire.work import (
    EventShown,
    LaunchBody,
    RemovalShown,
    SessionShown,
    fields_of,
    session_shown,
)

ROUTES = router("sessions")


def untold(progress: Progress) -> None:
    """Who waits for the answer is told nothing on the way."""


@ROUTES.get("/tasks/{task_id}/sessions", openapi_extra=does("session.list"))
async def list_sessions(task_id: str, request: Request, include_archived: bool = False) -> Page[SessionShown]:
    parts = parts_of(request)
    known = await parts.store.sessions.list_all(include_archived=include_archived)
    return await _looked_at(parts, [one.id for one in known if one.identity.task_id == task_id])


@ROUTES.get("/sessions", openapi_extra=does("session.list_own"))
async def list_own_sessions(request: Request, include_archived: bool = False) -> Page[SessionShown]:
    """Of all tasks of the person who asks; an administrator's include what the command line made."""
    parts, actor = parts_of(request), actor_of(request)
    tasks = {task.id for task in await parts.service.tasks.list_all(parent=actor.user.id)}
    known = await parts.store.sessions.list_all(include_archived=include_archived)
    chosen = [
        one.id
        for one in known
        if one.identity.task_id in tasks or (actor.administrator and one.identity.task_id.startswith(AD_HOC))
    ]
    return await _looked_at(parts, chosen)


@ROUTES.post("/tasks/{task_id}/sessions", status_code=201, openapi_extra=does("session.launch"))
async def launch_session(task_id: str, body: LaunchBody, request: Request) -> SessionShown:
    """Checks everything, puts the session on record, and starts it. ``warnings`` are what the checks said."""
    parts = parts_of(request)
    task = await parts.service.tasks.get(task_id)
    profile = await profile_of(parts, body.profile_id or task.profile_id)
    wished = launching.resolved(
        profile,
        _wish(body, task),
        task_id=task.id,
        preset=parts.presets.get(profile.spec.preset) if profile.spec.preset else None,
        secrets={name: await stored_secret(parts, name) for name in launching.secrets_needed(profile.spec)},
        policies=await parts.service.policies.list_all(),
    )
    executor = await executor_of(parts, profile.executor_id)
    verbs = await parts.places.at(executor)
    said: list[str] = []

    def report(progress: Progress) -> None:
        if progress.step == "warning":
            said.append(progress.message)

    session = await verbs.launch(wished, report)
    parts.drivers.follow(session.id)
    return session_shown(await parts.looks.at(session.id), said)


@ROUTES.get("/sessions/{session_id}", openapi_extra=does("session.read"))
async def get_session(session_id: str, request: Request) -> SessionShown:
    return session_shown(await parts_of(request).looks.at(session_id))


@ROUTES.post("/sessions/{session_id}/stop", openapi_extra=does("session.stop"))
async def stop_session(
    session_id: str, request: Request, force: bool = False, wait: bool = True
) -> SessionShown:
    sessions = parts_of(request).places.sessions
    return session_shown(await sessions.stop(session_id, untold, force=force, wait=wait))


@ROUTES.post("/sessions/{session_id}/pause", openapi_extra=does("session.pause"))
async def pause_session(session_id: str, request: Request, discard_workspace: bool = False) -> SessionShown:
    sessions = parts_of(request).places.sessions
    return session_shown(await sessions.pause(session_id, untold, discard_workspace=discard_workspace))


@ROUTES.post("/sessions/{session_id}/resume", openapi_extra=does("session.resume"))
async def resume_session(session_id: str, request: Request) -> SessionShown:
    parts = parts_of(request)
    view = await parts.places.sessions.resume(session_id, untold)
    parts.drivers.follow(session_id)
    return session_shown(view)


@ROUTES.post("/sessions/{session_id}/reset", openapi_extra=does("session.reset"))
async def reset_session(session_id: str, request: Request, discard_workspace: bool = False) -> SessionShown:
    """Pause, then resume: a new Pod on the same workspace."""
    parts = parts_of(request)
    view = await parts.places.sessions.reset(session_id, untold, discard_workspace=discard_workspace)
    parts.drivers.follow(session_id)
    return session_shown(view)


@ROUTES.post("/sessions/{session_id}/archive", openapi_extra=does("session.archive"))
async def archive_session(session_id: str, request: Request, force: bool = False) -> SessionShown:
    """Removes the cluster objects and keeps the history."""
    return session_shown(await parts_of(request).places.sessions.archive(session_id, untold, force=force))


@ROUTES.delete("/sessions/{session_id}", openapi_extra=does("session.delete"))
async def delete_session(
    session_id: str,
    request: Request,
    force: bool = False,
    keep_workspace: bool = False,
    dry_run: bool = False,
    wait: bool = True,
) -> RemovalShown:
    """``force`` skips drain and link, never the proof of ownership."""
    removal = await parts_of(request).places.sessions.remove(
        session_id, untold, force=force, keep_workspace=keep_workspace, dry_run=dry_run, wait=wait
    )
    return RemovalShown(session=removal.session, deletes=list(removal.deletes), keeps=list(removal.keeps))


@ROUTES.get("/sessions/{session_id}/events", openapi_extra=does("session.events"))
async def session_events(session_id: str, request: Request) -> Page[EventShown]:
    found = await parts_of(request).places.sessions.events(session_id)
    return Page(items=[EventShown(**fields_of(EventShown, event)) for event in found])


async def _looked_at(parts: ServerParts, session_ids: list[str]) -> Page[SessionShown]:
    return Page(items=[session_shown(view) for view in await parts.looks.at_all(session_ids)])


def _wish(body: LaunchBody, task: Task) -> launching.Wish:
    return launching.Wish(
        name=body.name,
        prompt=task.prompt if body.prompt is None else body.prompt,
        command=body.command,
        args=body.args,
        env=body.env,
        source=body.source,
        source_ref=body.source_ref,
        tty=body.tty,
        stdin=body.stdin,
        restart=body.restart,
        grace_seconds=body.grace_seconds,
        start_timeout=body.start_timeout_seconds,
    )
