"""Profiles of an executor, and the policies that judge their templates."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Request, Response

from moorage.core.errors import NotFound, UsageError
from moorage.core.service.checks import check_profile, require
from moorage.core.service.records import Executor, Policy, Profile, ProfileSpec
from moorage.core.session import change
from moorage.server.guard import does
from moorage.server.parts import ServerParts, parts_of
from moorage.server.places import executor_of, profile_of, profiles_of
from moorage.server.routes.router import router
from moorage.server.versions import expect, replace, tagged
from moorage.server.wire.base import Page, record, shown
from moorage.server.wire.configuration import (
    PolicyBody,
    PolicyShown,
    ProfileBody,
    ProfilePatch,
    ProfileShown,
    ProfileSpecWire,
)

ROUTES = router("profiles")
Code = Annotated[str, Path(pattern=r"^[a-z][a-z0-9_]{0,62}$", description="of a template's warning")]


@ROUTES.get("/executors/{executor_id}/profiles", openapi_extra=does("profile.read"))
async def list_profiles(executor_id: str, request: Request) -> Page[ProfileShown]:
    parts = parts_of(request)
    found = await profiles_of(parts, await executor_of(parts, executor_id))
    return Page(items=[shown(ProfileShown, profile) for profile in found])


@ROUTES.post("/executors/{executor_id}/profiles", status_code=201, openapi_extra=does("profile.create"))
async def create_profile(
    executor_id: str, body: ProfileBody, request: Request, response: Response
) -> ProfileShown:
    parts = parts_of(request)
    executor = await executor_of(parts, executor_id)
    if executor.built_in:
        raise UsageError("the embedded cluster has its one profile", hint="make an executor of your own")
    spec = await _checked(parts, body.spec)
    now = parts.clock.now()
    row = Profile(parts.ids.session_id(), executor.id, body.name, spec, created_at=now, updated_at=now)
    return shown(ProfileShown, tagged(response, await parts.service.profiles.add(row)))


@ROUTES.get("/executors/{executor_id}/profiles/{profile_id}", openapi_extra=does("profile.read"))
async def get_profile(
    executor_id: str, profile_id: str, request: Request, response: Response
) -> ProfileShown:
    return shown(ProfileShown, tagged(response, await _there(parts_of(request), executor_id, profile_id)))


@ROUTES.patch("/executors/{executor_id}/profiles/{profile_id}", openapi_extra=does("profile.update"))
async def update_profile(
    executor_id: str, profile_id: str, body: ProfilePatch, request: Request, response: Response
) -> ProfileShown:
    parts = parts_of(request)
    row = await _there(parts, executor_id, profile_id)
    expect(request, row)
    if body.name is not None:
        row = change(row, name=body.name)
    if body.spec is not None:
        row = change(row, spec=await _checked(parts, body.spec))
    return shown(ProfileShown, tagged(response, await replace(parts.service.profiles, row)))


@ROUTES.delete(
    "/executors/{executor_id}/profiles/{profile_id}", status_code=204, openapi_extra=does("profile.delete")
)
async def delete_profile(executor_id: str, profile_id: str, request: Request) -> None:
    parts = parts_of(request)
    row = await _there(parts, executor_id, profile_id)
    await parts.service.profiles.delete(row.id)


@ROUTES.get("/policies", openapi_extra=does("policy.read"))
async def list_policies(request: Request) -> Page[PolicyShown]:
    found = await parts_of(request).service.policies.list_all()
    return Page(items=[shown(PolicyShown, policy) for policy in found])


@ROUTES.put("/policies/{code}", openapi_extra=does("policy.update"))
async def set_policy(code: Code, body: PolicyBody, request: Request, response: Response) -> PolicyShown:
    parts = parts_of(request)
    try:
        row = await parts.service.policies.get(code)
    except NotFound:
        made = await parts.service.policies.add(Policy(code, body.verdict, parts.clock.now()))
        return shown(PolicyShown, tagged(response, made))
    expect(request, row)
    changed = await replace(parts.service.policies, change(row, verdict=body.verdict))
    return shown(PolicyShown, tagged(response, changed))


@ROUTES.delete("/policies/{code}", status_code=204, openapi_extra=does("policy.delete"))
async def delete_policy(code: Code, request: Request) -> None:
    await parts_of(request).service.policies.delete(code)


async def _checked(parts: ServerParts, body: ProfileSpecWire) -> ProfileSpec:
    spec = record(ProfileSpec, body)
    require(check_profile(spec, await parts.service.policies.list_all()), "the profile")
    return spec


async def _there(parts: ServerParts, executor_id: str, profile_id: str) -> Profile:
    """The profile, if it is that executor's."""
    executor: Executor = await executor_of(parts, executor_id)
    if not executor.built_in and profile_id == "default":
        profile_id = f"{executor.name}/{profile_id}"  # a name there; the bare word is the built-in one's id
    row = await profile_of(parts, profile_id)
    if row.executor_id != executor.id:
        raise NotFound(f"executor {executor.name} has no profile {profile_id}")
    return row
