"""The application: every route under ``/api/v1``, its failures and its description.

Made by ``server.run`` and by the tests. Starts nothing by itself.
"""

from __future__ import annotations

import importlib.metadata
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from moorage.server.limits import Limits
from moorage.server.parts import ServerParts
from moorage.server.problems import of_error
from moorage.server.routes import (
    access,
    events,
    executors,
    kubernetes,
    oidc,
    people,
    profiles,
    secrets,
    sessions,
    signin,
    tasks,
    terminal,
)

PREFIX: Final = "/api/v1"
OPENAPI: Final = f"{PREFIX}/openapi.json"
ROUTERS: Final = tuple(
    module.ROUTES
    for module in (
        executors,
        profiles,
        tasks,
        sessions,
        access,
        kubernetes,
        people,
        signin,
        oidc,
        secrets,
        events,
    )
)


def make_app(parts: ServerParts) -> FastAPI:
    """All routes, without the limits around them."""
    app = FastAPI(
        title="Moorage",
        version=importlib.metadata.version("moorage"),
        openapi_url=OPENAPI,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.parts = parts
    for router in ROUTERS:
        app.include_router(router, prefix=PREFIX)
    app.add_api_websocket_route(PREFIX + terminal.PATH, terminal.attach)
    for kind in (HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _failed)
    return app


def limited(app: FastAPI) -> ASGIApp:
    """What is served: the application behind what holds for every request."""
    parts: ServerParts = app.state.parts
    return Limits(app, hosts=parts.reached.hosts, secure=parts.reached.secure)


async def _failed(request: Request, error: Any) -> Response:
    return of_error(error)
