"""Mutating admission webhooks: the configured ones over HTTPS, and a test's own functions.

Called by the API's creates and updates between defaulting and the checks, as a kube-apiserver does. A test's
functions see creates only.
"""

from __future__ import annotations

import base64
import json
import ssl
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

from moorage.core.kinds import MUTATING_WEBHOOKS, NAMESPACES, Json
from moorage.embedded.api.bodies import NotJson, read_json
from moorage.embedded.api.calls import Call
from moorage.embedded.patching.plain import PatchFailed, json_patch
from moorage.embedded.refusal import Refusal, internal
from moorage.embedded.registry.kinds import Kind, key
from moorage.embedded.registry.selectors import label_selector
from moorage.embedded.storage.store import Store

Hook = Callable[[Call, Json], Awaitable[Json] | Json]
"""A test's webhook: a draft in (its own copy), the draft to go on with out."""
_USUAL_SECONDS = 10


class Webhooks:
    """The hooks of one cluster; ``own`` are those of a test."""

    def __init__(self, store: Store) -> None:
        self.own: list[Hook] = []
        self._store = store

    async def mutate(self, kind: Kind, call: Call, draft: Json, old: Json | None = None) -> Json:
        """``draft`` after all hooks; itself where none was asked. ``old``: what an update replaces.

        Raises Refusal when one refuses, or cannot be asked and must be.
        """
        for hook in list(self.own) if old is None else ():
            changed = hook(call, json.loads(json.dumps(draft)))
            draft = await changed if isinstance(changed, Awaitable) else changed
        for configuration in self._store.items(key(MUTATING_WEBHOOKS)):
            for webhook in configuration.get("webhooks") or ():
                if self._wants(webhook, kind, draft, "CREATE" if old is None else "UPDATE"):
                    draft = await self._ask(webhook, kind, call, draft, old)
        return draft

    def _wants(self, webhook: Json, kind: Kind, draft: Json, operation: str) -> bool:
        if not any(_covers(rule, kind, operation) for rule in webhook.get("rules") or ()):
            return False
        if not label_selector(webhook.get("objectSelector"))(draft):
            return False
        namespace = draft["metadata"].get("namespace")
        where = self._store.get(key(NAMESPACES), ("", namespace)) if namespace else None
        return where is None or label_selector(webhook.get("namespaceSelector"))(where)

    async def _ask(self, webhook: Json, kind: Kind, call: Call, draft: Json, old: Json | None) -> Json:
        name = webhook.get("name", "")
        try:
            answer = await _post(webhook, _review(kind, call, draft, old))
            response = answer["response"]
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError, OSError) as error:
            if webhook.get("failurePolicy") == "Ignore":
                return draft
            url = (webhook.get("clientConfig") or {}).get("url", "")
            why = f'failed calling webhook "{name}": failed to call webhook: Post "{url}": {error}'
            raise internal(f"Internal error occurred: {why}") from error
        if not response.get("allowed"):
            status = response.get("status") or {}
            why = status.get("message") or "without explanation"
            code = int(status.get("code") or 403)
            raise Refusal(
                code, status.get("reason") or "", f'admission webhook "{name}" denied the request: {why}'
            )
        if not response.get("patch"):
            return draft
        try:
            return json_patch(draft, read_json(base64.b64decode(response["patch"])))
        except (PatchFailed, NotJson, ValueError) as error:
            raise internal(f"Internal error occurred: webhook {name}: {error}") from error


def _covers(rule: Json, kind: Kind, operation: str) -> bool:
    resource = kind.resource

    def has(field: str, value: str) -> bool:
        return any(entry in ("*", value) for entry in rule.get(field) or ())

    return (
        has("operations", operation)
        and has("apiGroups", resource.group)
        and has("apiVersions", resource.version)
        and has("resources", resource.plural)
    )


def _review(kind: Kind, call: Call, draft: Json, old: Json | None) -> Json:
    resource, metadata = kind.resource, draft["metadata"]
    request = {
        "uid": str(uuid.uuid4()),
        "kind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "resource": {"group": resource.group, "version": resource.version, "resource": resource.plural},
        "name": metadata.get("name", ""),
        "namespace": metadata.get("namespace", ""),
        "operation": "CREATE" if old is None else "UPDATE",
        "userInfo": {"username": call.user.name, "groups": list(call.user.groups)},
        "object": draft,
        "oldObject": old,
        "dryRun": call.dry_run,
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


async def _post(webhook: Json, review: Json) -> Any:
    client = webhook.get("clientConfig") or {}
    trusted = base64.b64decode(client.get("caBundle") or "").decode()
    context = ssl.create_default_context(cadata=trusted or None)
    seconds = aiohttp.ClientTimeout(total=webhook.get("timeoutSeconds") or _USUAL_SECONDS)
    async with (
        aiohttp.ClientSession(timeout=seconds) as session,
        session.post(client["url"], json=review, ssl=context) as response,
    ):
        return await response.json(content_type=None)
