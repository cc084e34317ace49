"""Every failure as an RFC 9457 problem: ``application/problem+json`` with ``errors[{field, code, message,
hint}]``.

Called by ``server.guard`` for what a route raises and by ``server.app`` for what no route was found for. The
one table of error code to HTTP status stands here. A problem never holds a value that was sent, nor what an
unexpected exception says.
"""

from __future__ import annotations

import http
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from moorage.core.cleaning import clean
from moorage.core.errors import DocumentError, MoorageError, Problem

MEDIA_TYPE: Final = "application/problem+json"
SCHEMA: Final = "see /api/v1/openapi.json for the fields"
STATUS: Final[Mapping[str, int]] = {
    "error": 500,
    "usage": 400,
    "version_needed": 428,
    "too_large": 413,
    "not_found": 404,
    "not_signed_in": 401,
    "not_allowed": 403,
    "too_many": 429,
    "access_denied": 502,  # the cluster refused the server's identity, not the person's
    "conflict": 409,
    "stale": 412,
    "name_blocked": 409,
    "identity_changed": 409,
    "fenced": 409,
    "helper": 422,
    "unreachable": 504,
    "timeout": 504,
    "command_exit": 422,
    "invalid_document": 422,
    "session_failed": 422,
    "workspace_lost": 409,
    "link": 502,
    "integrity": 500,
    "store": 503,
    "api": 502,
}
"""Code of an error of ``core.errors`` → HTTP status."""
_HINTS: Final = {
    "missing": "add it",
    "extra_forbidden": "remove it",
    "json_invalid": "send JSON in UTF-8",
}
_BY_HTTP: Final = {
    404: ("no_route", "nothing is here", "the paths are in /api/v1/openapi.json"),
    405: ("method", "this path does not take that method", "the header Allow names those it takes"),
}


class Failure(Exception):
    """A response that is ready, for code that may only raise."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status_code)
        self.response = response


def status_of(error: MoorageError) -> int:
    """By its code, or else its nearest base's."""
    codes = (getattr(kind, "code", "") for kind in type(error).__mro__)
    return next(STATUS[code] for code in codes if code in STATUS)


def of_error(error: Exception) -> Response:
    """Any exception as a problem."""
    if isinstance(error, Failure):
        return error.response
    if isinstance(error, MoorageError):
        return _of_ours(error)
    if isinstance(error, RequestValidationError):
        return _of_fields(error)
    if isinstance(error, HTTPException):
        return _of_http(error)
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    place = f"{where.tb_frame.f_code.co_filename}:{where.tb_lineno}" if where is not None else "?"
    # Not its text: it may quote what was sent.
    logging.getLogger(__name__).error("a request failed: %s at %s", type(error).__name__, place)
    hint = "try again; the server's log says where, at this time"
    return problem(500, "internal", "the server failed, and the fault is its own", hint=hint)


def problem(
    status: int,
    code: str,
    detail: str,
    *,
    hint: str = "",
    field: str = "",
    errors: Sequence[Problem] = (),
    extra: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """``errors`` empty: the one that the other words tell."""
    listed = errors or [Problem(field, code, detail, hint)]
    body = {
        "type": f"urn:moorage:error:{code}",
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        "hint": hint,
        "errors": [_entry(one) for one in listed],
        **(extra or {}),
    }
    return Response(msgspec.json.encode(body), status, dict(headers or {}), MEDIA_TYPE)


def _entry(one: Problem) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "field": one.field,
        "code": one.code,
        "message": one.message,
        "hint": one.hint,
    }
    if one.line:
        entry |= {"line": one.line, "column": one.column}
    return entry


def _of_ours(error: MoorageError) -> Response:
    status = status_of(error)
    headers: dict[str, str] = {}
    extra: dict[str, Any] = {}
    if error.reason != error.code:
        extra["reason"] = error.reason
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if (wait := error.details.get("retry_after")) is not None:
        headers["Retry-After"] = str(int(wait))
    for name in ("active_session_count", "version"):
        if name in error.details:
            extra[name] = error.details[name]
    return problem(
        status,
        error.code,
        clean(error.message),
        hint=clean(error.hint),
        field=error.field,
        errors=error.problems if isinstance(error, DocumentError) else (),
        extra=extra,
        headers=headers,
    )


def _of_fields(error: RequestValidationError) -> Response:
    found = [_field_problem(one) for one in error.errors()]
    first = found[0]
    detail = f"{first.field}: {first.message}" if first.field else first.message
    return problem(422, "invalid_request", detail, hint=first.hint, errors=found)


def _field_problem(one: Mapping[str, Any]) -> Problem:
    kind = str(one["type"])
    if kind == "json_invalid":
        return Problem("", kind, "the body is not JSON", _HINTS[kind])
    return Problem(_path(one["loc"]), kind, clean(one["msg"]), _HINTS.get(kind, SCHEMA))


def _path(loc: Sequence[str | int]) -> str:
    """``("body", "spec", "env", 0, "name")`` → ``spec.env[0].name``; of a query parameter its name."""
    text = ""
    for part in loc[1:]:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _of_http(error: HTTPException) -> Response:
    code, detail, hint = _BY_HTTP.get(error.status_code, ("http", clean(error.detail), ""))
    return problem(error.status_code, code, detail, hint=hint, headers=error.headers)
