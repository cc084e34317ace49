"""POST, PUT, PATCH and DELETE of objects.

Called by ``api.server`` after authorization. Reads options and bodies, runs the mutating webhooks, and
leaves the meaning to the registry.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from moorage.core.kinds import Json
from moorage.embedded.api.bodies import answer, read_body
from moorage.embedded.api.calls import Call, is_true
from moorage.embedded.api.reads import selected
from moorage.embedded.faults import Answer, Faults
from moorage.embedded.refusal import Fault, Refusal, bad_request, conflict, invalid_options
from moorage.embedded.registry import patch as patches
from moorage.embedded.registry.deletion import answer as deletion_answer
from moorage.embedded.registry.deletion import delete
from moorage.embedded.registry.kinds import Kind
from moorage.embedded.registry.registry import Registry
from moorage.embedded.registry.write import DeleteOptions, Write, read_delete_options
from moorage.embedded.storage.store import key_of

Mutate = Callable[[Kind, Call, Json], Awaitable[Json]]
"""Admission webhooks, and a test's own: the draft in, the draft to go on with out. May raise Refusal."""
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")


class Writes:
    """The writing verbs over one registry."""

    def __init__(self, registry: Registry, mutate: Mutate, faults: Callable[[], Faults]) -> None:
        self._registry, self._mutate, self._faults = registry, mutate, faults

    async def create(self, kind: Kind, call: Call, body: bytes, content_type: str) -> Answer:
        """POST to a collection."""
        write = _options(call, "CreateOptions")
        obj, warnings = self._registry.decode(kind, read_body(body, content_type), write.validation)
        made = await self._create(kind, call, obj, write, applied=False)
        return answer(made, 201, warnings)

    async def _create(self, kind: Kind, call: Call, obj: Json, write: Write, *, applied: bool) -> Json:
        namespace = call.namespace if kind.resource.namespaced else ""
        draft = self._registry.draft(kind, namespace, obj, write, applied=applied)
        draft = await self._mutate(kind, call, draft)
        made = self._registry.create(kind, draft, write)
        await self._faults().committed(call, made)
        return made

    async def update(self, kind: Kind, call: Call, body: bytes, content_type: str) -> Answer:
        """PUT of one object or of its status."""
        write = _options(call, "UpdateOptions")
        obj, warnings = self._registry.decode(kind, read_body(body, content_type), write.validation)
        at = _at(kind, call)
        obj["metadata"].setdefault("name", call.name)
        new = self._registry.update(kind, at, obj, write, call.subresource)
        await self._faults().committed(call, new)
        return answer(new, 200, warnings)

    async def patch(self, kind: Kind, call: Call, body: bytes, content_type: str) -> Answer:
        """PATCH of one object or of its status; server-side apply may create it."""
        write = _options(call, "PatchOptions")
        given = read_body(body, content_type)
        at = _at(kind, call)
        if content_type == patches.APPLY_PATCH:
            manager = call.query.get("fieldManager", "")
            write = replace(write, manager=manager, force=is_true(call.query, "force"))
            obj, warnings = patches.applied(self._registry, kind, at, given, write)
            if self._registry.store.get(kind.key, at) is None:
                if call.subresource:
                    self._registry.get(kind, *at)
                made = await self._create(kind, call, obj, write, applied=True)
                return answer(made, 201, warnings)
            new = self._registry.update(kind, at, obj, write, call.subresource, applied=True)
        else:
            new, warnings = patches.patch_object(
                self._registry, kind, at, content_type, given, write, call.subresource
            )
        await self._faults().committed(call, new)
        return answer(new, 200, warnings)

    async def delete(self, kind: Kind, call: Call, body: bytes, content_type: str) -> Answer:
        """DELETE of one object."""
        options = _delete_options(call, body, content_type)
        deleted = delete(self._registry, kind, _at(kind, call), options)
        await self._faults().committed(call, deleted.obj)
        return answer(deletion_answer(kind, deleted))

    async def delete_collection(self, kind: Kind, call: Call, body: bytes, content_type: str) -> Answer:
        """DELETE of all that a selector finds; answered with what it was."""
        options = _delete_options(call, body, content_type)
        matches = selected(kind, call)
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
        options = read_delete_options(inner or {}, {}, _options(call, "CreateOptions"))
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


def _options(call: Call, options: str) -> Write:
    """What the query says of a write. Raises Refusal 422."""
    query = call.query
    dry_run = query.get("dryRun", "")
    if dry_run not in ("", "All"):
        why = f'Unsupported value: ["{dry_run}"]: supported values: "All"'
        raise invalid_options(options, Fault("dryRun", "Unsupported", why))
    validation = query.get("fieldValidation", "")
    if validation not in _VALIDATIONS:
        listed = ", ".join(f'"{word}"' for word in _VALIDATIONS)
        why = f'Unsupported value: "{validation}": supported values: {listed}'
        raise invalid_options(options, Fault("fieldValidation", "Unsupported", why))
    manager = query.get("fieldManager") or call.agent.partition("/")[0] or "unknown"
    return Write(call.user, manager, call.dry_run, validation or "Warn", is_true(query, "force"))


def _delete_options(call: Call, body: bytes, content_type: str) -> DeleteOptions:
    given = read_body(body, content_type) if body else {}
    if not isinstance(given, dict):
        raise bad_request("the body is no DeleteOptions")
    options = read_delete_options(given, call.query, _options(call, "DeleteOptions"))
    if "All" in (given.get("dryRun") or ()):
        return replace(options, write=replace(options.write, dry_run=True))
    return options
