"""One audit event (``audit.k8s.io/v1``) for each answered request: what tests judge by. Pure.

Made by ``api.server`` and given to the cluster's ``audit`` hook, where there is one.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from moorage.core.kinds import Json
from moorage.embedded.api.calls import Call


def event(
    call: Call, uri: str, received: float, *, code: int, request: Any = None, answered: Any = None
) -> Json:
    """``received``: seconds since the epoch. ``request`` and ``answered`` are the decoded bodies."""
    at = datetime.fromtimestamp(received, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    found: Json = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse",
        "auditID": str(uuid.uuid4()),
        "stage": "ResponseComplete",
        "requestURI": uri,
        "verb": call.verb,
        "user": {"username": call.user.name, "groups": list(call.user.groups)},
        "userAgent": call.agent,
        "responseStatus": {"metadata": {}, "code": code},
        "requestReceivedTimestamp": at,
        "stageTimestamp": at,
    }
    if call.resource:
        reference = {
            "resource": call.resource,
            "namespace": call.namespace,
            "name": call.name,
            "apiGroup": call.group,
            "apiVersion": call.version,
            "subresource": call.subresource,
        }
        found["objectRef"] = {name: value for name, value in reference.items() if value}
    if isinstance(request, dict):
        found["requestObject"] = request
    if isinstance(answered, dict):
        found["responseObject"] = answered
    return found
