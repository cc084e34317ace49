"""A router whose routes are guarded and whose failures are described."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter

from moorage.server.guard import GuardedRoute
from moorage.server.problems import MEDIA_TYPE
from moorage.server.wire.base import ProblemDetails

_FAILURE: Final[dict[int | str, dict[str, Any]]] = {
    "default": {
        "description": "RFC 9457",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        "model": ProblemDetails,
    }
}


def router(tag: str) -> APIRouter:
    """For ``include_router``."""
    return APIRouter(route_class=GuardedRoute, tags=[tag], responses=_FAILURE)
