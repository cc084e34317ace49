"""POST, PUT, PATCH and DELETE of objects.

Called by ``api.server`` after authorization. Reads options and bodies, runs the mutating webhooks, and
leaves the meaning to the registry.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from moorage.core.kinds import MUTATING_WEBHOOKS, Json
from moorage.embedded.api.bodies import NotJson, answer, read_body, read_json, read_yaml
from moorage.embedded.api.calls import Call
from moorage.embedded.api.options import delete_options, write_options
from moorage.embedded.api.reads import selected
from moorage.embedded.faults import Answer, Faults
from moorage.embedded.refusal import Refusal, bad_request, conflict, other_uid, unnamed, unsupported_media
from moorage.embedded.registry import patch as patches
from moorage.embedded.registry.checks import check_name_fits
from moorage.embedded.registry.deletion import answer as deletion_answer
from moorage.embedded.registry.deletion import delete
from moorage.embedded.registry.kinds import Kind, key
from moorage.embedded.registry.registry import Registry
from moorage.embedded.registry.write import Write, read_delete_options
from moorage.embedded.storage.store import key_of

Mutate = Callable[[Kind, Call, Json, Json | None], Awaitable[Json]]
"""Admission webhooks, and a test's own: the draft in (and what it replaces), the draft to go on with out. May
raise Refusal."""


class Writes:
    """The writing verbs over one registry."""

    def __init__(self, registry: Registry, mutate: Mutate, faults: Callable[[], Faults]) -> None:
        self._registry, self._mutate, self._faults = registry, mutate, faults

    async def create(self, kind: Kind, call: Call, body: bytes, content_type: str) -> Answer:
        """POST to a collection."""
        write = write_options(call, "CreateOptions")
        obj, warnings = self._registry.decode(
            kind, read_body(body, content_type, kind.name), write.validation
        )
        made = await self._create(kind, call, obj, write, applied=False)
        return answer(made, 201, warnings)

    async def _create(self, kind: Kind, call: Call, obj: Json, write: Write, *, applied: bool) -> Json:
        namespace = call.namespace if kind.resource.namespaced else ""
        draft = self._registry.draft(kind, namespace, obj, write, applied=applied)
        draft = await self._mutate(kind, call, draft, None)
        made = self._registry.create(kind, draft, write)
        await self._faults().committed(call, made)
        return made

    async def update(self, kind: Kind, call: Call, body: bytes, content_type: str) -> Answer:
        """PUT of one object or of its status."""
        write = write_options(call, "UpdateOptions")
        obj, warnings = self._registry.decode(
            kind, read_body(body, content_type, kind.name), write.validation
        )
        at = _at(kind, call)
        if not obj["metadata"].get("name"):
            raise unnamed(call.name)
        if misfit := check_name_fits(call.name, obj):
            raise bad_request(misfit)
        if kind.put_creates and not call.subresource and self._registry.store.get(kind.key, at) is None:
            if uid := obj["metadata"].get("uid"):
                raise other_uid(kind.resource, at, uid, "")
            obj["metadata"].pop("resourceVersion", None)
            made = await self._create(kind, call, obj, write, applied=False)
            return answer(made, 201, warnings)
        obj = await self._admitted(kind, call, obj)
        new = self._registry.update(kind, at, obj, write, call.subresource)
        await self._faults().committed(call, new)
        return answer(new, 200, warnings)

    async def patch(self, kind: Kind, call: Call, body: bytes, content_type: str) -> Answer:
        """PATCH of one object or of its status; server-side apply may create it."""
        if content_type not in patches.PATCHES:
            raise unsupported_media()
        at, applies = _at(kind, call), content_type == patches.APPLY_PATCH
        write = write_options(call, "PatchOptions", apply=applies)
        if applies:
            if call.subresource:
                self._registry.get(kind, *at)
            obj, warnings = patches.applied(self._registry, kind, at, read_yaml(body), write)
            if self._registry.store.get(kind.key, at) is None:
                made = await self._create(kind, call, obj, write, applied=True)
                return answer(made, 201, warnings)
            obj = await self._admitted(kind, call, obj)
        else:
            old = self._registry.get(kind, *at)
            patch = _read_patch(body, content_type)
            obj, warnings = patches.patch_object(self._registry, kind, old, content_type, patch, write)
            obj = await self._admitted(kind, call, obj)
        new = self._registry.update(kind, at, obj, write, call.subresource, applied=applies)
        await self._faults().committed(call, new)
        return answer(new, 200, warnings)

    async def _admitted(self, kind: Kind, call: Call, obj: Json) -> Json:
        """``obj``, about to replace what is stored, after the webhooks of updates.

        While they are asked, somebody else may write: where the client named no version, that is told as a
        conflict too, and clients try again.
        """
        if call.subresource or not self._registry.store.items(key(MUTATING_WEBHOOKS)):
            return obj
        at = _at(kind, call)
        proposed = self._registry.proposed(kind, at, obj)
        changed = await self._mutate(kind, call, proposed, self._registry.get(kind, *at))
        return obj if changed is proposed else changed

    async def delete(self, kind: Kind, call: Call, body: bytes, content_type: str) -> Answer:
        """DELETE of one object."""
        options = delete_options(call, body, content_type)
        deleted = delete(self._registry, kind, _at(kind, call), options)
        await self._faults().committed(call, deleted.obj)
        return answer(deletion_answer(kind, deleted))

    async def delete_collection(self, kind: Kind, call: Call, body: bytes, content_type: str) -> Answer:
        """DELETE of all that a selector finds; answered with what it was."""
        matches = selected(kind, call)
        options = delete_options(call, body, content_type)
        namespace = call.namespace if kind.resource.namespaced else ""
        found = [
            obj for obj in self._registry.store.items(kind.key, namespace) if matches is None or matches(obj)
        ]
        for obj in found:
            try:
                deleted = delete(self._registry, kind, key_of(obj), options)
            except Refusal as refusal:
                if refusal.problem.http_status != 404:
                    raise
            else:
                await self._faults().committed(call, deleted.obj)
        metadata = {"resourceVersion": str(self._registry.store.version)}
        items = [{k: v for k, v in obj.items() if k not in ("kind", "apiVersion")} for obj in found]
        listed = {"kind": f"{kind.name}List", "apiVersion": kind.resource.api_version}
        return answer({**listed, "metadata": metadata, "items": items})

    async def evict(self, kind: Kind, call: Call, body: bytes, content_type: str) -> Answer:
        """POST pods/eviction. There are no disruption budgets here, so it is a delete."""
        given = read_body(body, content_type)
        inner = given.get("deleteOptions") if isinstance(given, dict) else None
        options = read_delete_options(inner or {}, {}, write_options(call, "CreateOptions"))
        deleted = delete(self._registry, kind, _at(kind, call), options)
        await self._faults().committed(call, deleted.obj)
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
        return answer(success, 201)

    async def finalize(self, kind: Kind, call: Call, body: bytes, content_type: str) -> Answer:
        """PUT namespaces/finalize: the finalizers of its spec."""
        given = read_body(body, content_type)
        old = self._registry.get(kind, "", call.name)
        version = (given.get("metadata") or {}).get("resourceVersion")
        if version and version != old["metadata"]["resourceVersion"]:
            raise conflict(kind.resource, call.name)
        finalizers = (given.get("spec") or {}).get("finalizers") or []
        new = finalize(self._registry, kind, call.name, finalizers)
        return answer(new)


def _read_patch(body: bytes, content_type: str) -> Any:
    try:
        return read_json(body)
    except NotJson as error:
        prefix = "" if content_type == patches.STRATEGIC_PATCH else "error decoding patch: "
        raise bad_request(f"{prefix}{error}") from None


def finalize(registry: Registry, kind: Kind, name: str, finalizers: list[str]) -> Json:
    """Set a namespace's finalizers; without any, one that is being deleted is gone."""
    old = registry.get(kind, "", name)
    spec = {"finalizers": finalizers} if finalizers else {}
    new = {**old, "spec": spec}
    kept = finalizers or old["metadata"].get("finalizers")
    if old["metadata"].get("deletionTimestamp") and not kept:
        return registry.store.remove(kind.key, ("", name), new)
    return registry.store.put(kind.key, ("", name), new)


def _at(kind: Kind, call: Call) -> tuple[str, str]:
    return (call.namespace if kind.resource.namespaced else "", call.name)
