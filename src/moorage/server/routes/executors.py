"""Executors: where sessions run. Members see them, administrators change them."""

from __future__ import annotations

from fastapi import Request, Response

from moorage.core.errors import UsageError
from moorage.core.service.checks import check_executor, require
from moorage.core.service.records import Executor, ExecutorSpec
from moorage.core.session import change
from moorage.server.guard import does
from moorage.server.parts import ServerParts, parts_of
from moorage.server.places import executor_of, executors
from moorage.server.routes.router import router
from moorage.server.versions import expect, replace, tagged
from moorage.server.wire.base import Page, record, shown
from moorage.server.wire.configuration import ExecutorBody, ExecutorPatch, ExecutorShown, ExecutorSpecWire

ROUTES = router("executors")


@ROUTES.get("/executors", openapi_extra=does("executor.read"))
async def list_executors(request: Request) -> Page[ExecutorShown]:
    found = await executors(parts_of(request))
    return Page(items=[shown(ExecutorShown, executor) for executor in found])


@ROUTES.post("/executors", status_code=201, openapi_extra=does("executor.create"))
async def create_executor(body: ExecutorBody, request: Request, response: Response) -> ExecutorShown:
    parts = parts_of(request)
    spec = _checked(body.spec)
    _refuse_built_in_name(parts, body.name)
    now = parts.clock.now()
    row = Executor(parts.ids.session_id(), body.name, spec, created_at=now, updated_at=now)
    made = await parts.service.executors.add(row)
    await parts.places.changed(made)
    return shown(ExecutorShown, tagged(response, made))


@ROUTES.get("/executors/{executor_id}", openapi_extra=does("executor.read"))
async def get_executor(executor_id: str, request: Request, response: Response) -> ExecutorShown:
    return shown(ExecutorShown, tagged(response, await executor_of(parts_of(request), executor_id)))


@ROUTES.patch("/executors/{executor_id}", openapi_extra=does("executor.update"))
async def update_executor(
    executor_id: str, body: ExecutorPatch, request: Request, response: Response
) -> ExecutorShown:
    parts = parts_of(request)
    row = await _stored(parts, executor_id)
    expect(request, row)
    if body.name is not None:
        _refuse_built_in_name(parts, body.name)
        row = change(row, name=body.name)
    if body.spec is not None:
        row = change(row, spec=_checked(body.spec))
    changed = await replace(parts.service.executors, row)
    await parts.places.changed(changed)
    return shown(ExecutorShown, tagged(response, changed))


@ROUTES.delete("/executors/{executor_id}", status_code=204, openapi_extra=does("executor.delete"))
async def delete_executor(executor_id: str, request: Request) -> None:
    parts = parts_of(request)
    row = await _stored(parts, executor_id)
    await parts.service.executors.delete(row.id)


def _checked(body: ExecutorSpecWire) -> ExecutorSpec:
    spec = record(ExecutorSpec, body)
    require(check_executor(spec), "the executor")
    return spec


async def _stored(parts: ServerParts, executor_id: str) -> Executor:
    row = await executor_of(parts, executor_id)
    if row.built_in:
        raise UsageError("the embedded cluster cannot be changed", hint="make an executor of your own")
    return row


def _refuse_built_in_name(parts: ServerParts, name: str) -> None:
    place = parts.places.built_in
    if place is not None and name in (place.executor.id, place.executor.name):
        raise UsageError(f"{name} is the embedded cluster's name", field="name", hint="choose another")
