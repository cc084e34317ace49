"""Tasks: a person's own units of work. Nobody sees another's."""

from __future__ import annotations

from fastapi import Request, Response

from moorage.core.service.checks import require
from moorage.core.service.checks_of_people import check_task
from moorage.core.service.records import Task
from moorage.core.session import change
from moorage.server.guard import actor_of, does
from moorage.server.parts import ServerParts, parts_of
from moorage.server.places import profile_of
from moorage.server.routes.router import router
from moorage.server.versions import expect, replace, tagged
from moorage.server.wire.base import After, Limit, Page, page_of, shown
from moorage.server.wire.work import TaskBody, TaskPatch, TaskShown

ROUTES = router("tasks")


@ROUTES.get("/tasks", openapi_extra=does("task.list"))
async def list_tasks(request: Request, after: After = "", limit: Limit = 100) -> Page[TaskShown]:
    rows = parts_of(request).service.tasks
    return await page_of(TaskShown, rows, after, limit, parent=actor_of(request).user.id)


@ROUTES.post("/tasks", status_code=201, openapi_extra=does("task.create"))
async def create_task(body: TaskBody, request: Request, response: Response) -> TaskShown:
    parts = parts_of(request)
    await _check_profile(parts, body.profile_id)
    now = parts.clock.now()
    row = Task(
        id=parts.ids.session_id(),
        title=body.title,
        owner_id=actor_of(request).user.id,
        created_at=now,
        updated_at=now,
        prompt=body.prompt,
        column=body.column,
        profile_id=body.profile_id,
    )
    require(check_task(row), "the task")
    return shown(TaskShown, tagged(response, await parts.service.tasks.add(row)))


@ROUTES.get("/tasks/{task_id}", openapi_extra=does("task.read"))
async def get_task(task_id: str, request: Request, response: Response) -> TaskShown:
    return shown(TaskShown, tagged(response, await parts_of(request).service.tasks.get(task_id)))


@ROUTES.patch("/tasks/{task_id}", openapi_extra=does("task.update"))
async def update_task(task_id: str, body: TaskPatch, request: Request, response: Response) -> TaskShown:
    parts = parts_of(request)
    row = await parts.service.tasks.get(task_id)
    expect(request, row)
    given = {name: getattr(body, name) for name in body.model_fields_set if getattr(body, name) is not None}
    if "profile_id" in given:
        await _check_profile(parts, given["profile_id"])
    changed = change(row, **given)
    require(check_task(changed), "the task")
    return shown(TaskShown, tagged(response, await replace(parts.service.tasks, changed)))


@ROUTES.delete("/tasks/{task_id}", status_code=204, openapi_extra=does("task.delete"))
async def delete_task(task_id: str, request: Request) -> None:
    await parts_of(request).service.tasks.delete(task_id)


async def _check_profile(parts: ServerParts, profile_id: str) -> None:
    if profile_id:
        await profile_of(parts, profile_id)
