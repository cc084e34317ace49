"""Executors and profiles as the routes look them up: those of the store, and the embedded cluster for as long
as one person on this machine is alone with it.
"""

from __future__ import annotations

from typing import Final

from moorage.core.errors import Conflict, NotFound
from moorage.core.service.records import Executor, Profile, ProfileSpec
from moorage.core.session import WorkspaceMode, WorkspaceSpec
from moorage.ports.serving import BuiltInPlace
from moorage.server.parts import ServerParts

DEFAULT: Final = "default"
"""Id and name of the built-in executor's one profile."""


async def built_in(parts: ServerParts) -> BuiltInPlace | None:
    """Where programs run as the server's own user: never for a second person, never beyond this machine."""
    place = parts.places.built_in
    if place is None or not parts.reached.loopback or await parts.service.people.count() > 1:
        return None
    return place


async def why_no_built_in(parts: ServerParts) -> str:
    """For people; "" when there is one."""
    if parts.places.built_in is None:
        return "this server was started without it"
    if not parts.reached.loopback:
        return "this server can be reached from other machines"
    if await parts.service.people.count() > 1:
        return "it is for one person, and this service has several"
    return ""


async def executor_of(parts: ServerParts, executor_id: str) -> Executor:
    """By id or name. Conflict, with the reason, for a built-in one that may not be used."""
    place = parts.places.built_in
    if place is not None and executor_id in (place.executor.id, place.executor.name):
        if why := await why_no_built_in(parts):
            hint = "make an executor: moorage executor create"
            raise Conflict(f"the embedded cluster is off: {why}", field="executor_id", hint=hint)
        return place.executor
    return await parts.service.executors.get(executor_id)


async def executors(parts: ServerParts) -> list[Executor]:
    """All there are, the built-in one first."""
    place = await built_in(parts)
    return [*([place.executor] if place else []), *await parts.service.executors.list_all()]


async def profiles_of(parts: ServerParts, executor: Executor) -> list[Profile]:
    if executor.built_in:
        return [await profile_of(parts, DEFAULT)]
    return await parts.service.profiles.list_all(parent=executor.id)


async def profile_of(parts: ServerParts, profile_id: str) -> Profile:
    """By id. "" is the built-in one. NotFound says what to do where that is off."""
    if profile_id not in ("", DEFAULT):
        return await parts.service.profiles.get(profile_id)
    place = await built_in(parts)
    if place is None:
        why = await why_no_built_in(parts)
        raise NotFound(
            f"no profile was named, and the embedded cluster is off: {why}",
            field="profile_id",
            hint="name a profile; GET /api/v1/executors tells where they are",
        )
    executor = place.executor
    spec = ProfileSpec(
        place.template,
        platform=place.platform,
        workspace=WorkspaceSpec(mode=WorkspaceMode.MANAGED_PVC, size="1Gi"),
    )
    return Profile(DEFAULT, executor.id, DEFAULT, spec, executor.created_at, executor.updated_at)
