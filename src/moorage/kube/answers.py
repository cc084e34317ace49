"""Reading what an API server, or something in front of it, answered: pure functions.

Called by ``kube.transport``. Turns answers and transport failures into ``ApiError``; never retries.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Mapping
from typing import Any

import aiohttp
import msgspec

from moorage.core.cleaning import clean
from moorage.core.errors import ApiError, ApiProblem

_SHOWN = 300
_STRICT_PREFIX = "strict decoding error: "
_STRICT_FAULT = re.compile(r'^(?P<what>unknown|duplicate) field "(?P<field>[^"]+)"$')
_ERRNO = re.compile(r"\[Errno (\d+)\]")
_TAG = re.compile(r"<[^>]*>")

NO_ANSWER_HINT = "check the address, the network and any proxy in between"


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error for an HTTP answer that is no success.

    Only a ``v1 Status`` counts as the API server's own word. A 4xx Status means nothing was done; an
    answer of 5xx, or one that is no Status, leaves that open. 429 is sent before anything is done.
    """
    retry_after = _seconds(headers.get("Retry-After", ""))
    said = _status_object(body)
    if said is None:
        sent = "no" if status == 429 else "maybe"
        message = f"HTTP {status} without a Kubernetes Status{_excerpt(headers, body)}"
        return ApiError(ApiProblem("http", status, "", message, sent, retry_after), hint=_hint(status, True))
    return ApiError(_problem(status, said, retry_after), hint=_hint(status, False))


def _problem(status: int, said: dict[str, Any], retry_after: float | None) -> ApiProblem:
    details = _mapping(said.get("details"))
    causes = details.get("causes")
    listed = [_mapping(cause) for cause in causes] if isinstance(causes, list) else []
    message = str(said.get("message") or "")
    found = tuple((_text(c, "field"), _text(c, "reason"), _text(c, "message")) for c in listed)
    seconds = details.get("retryAfterSeconds")
    if retry_after is None and isinstance(seconds, int) and seconds > 0:
        retry_after = float(seconds)
    return ApiProblem(
        kind="status",
        http_status=status,
        reason=_text(said, "reason"),
        message=message,
        sent="no" if 400 <= status < 500 and status != 408 else "maybe",
        retry_after=retry_after,
        details_kind=_text(details, "kind"),
        details_name=_text(details, "name"),
        causes=found or strict_causes(message),
    )


def strict_causes(message: str) -> tuple[tuple[str, str, str], ...]:
    """The faults of a strict decoding error as causes: the server names them in its message only."""
    _, found, faults = message.partition(_STRICT_PREFIX)
    causes = []
    for fault in faults.split(", ") if found else ():
        match = _STRICT_FAULT.match(fault.strip())
        if match:
            reason = "FieldValueDuplicate" if match["what"] == "duplicate" else "FieldValueUnknown"
            causes.append((match["field"], reason, fault.strip()))
    return tuple(causes)


def refused_stream(error: ApiError, subresource: str) -> ApiError:
    """A refused upgrade, with a hint where the server's own words do not say which right is missing.

    Since 1.35 an upgrade is checked for ``get`` and then for ``create``; the second refusal names nothing.
    """
    if error.problem.http_status != 403:
        return error
    return ApiError(error.problem, hint=f"the identity needs both verbs, get and create, on {subresource}")


def no_answer(error: BaseException, address: str) -> ApiError:
    """The error for a request without an answer: ``no`` when the connection was never made."""
    certificate = isinstance(error, aiohttp.ClientConnectorCertificateError)
    unsent = isinstance(
        error,
        (
            aiohttp.ClientConnectorError,
            aiohttp.ClientConnectorCertificateError,
            aiohttp.ClientHttpProxyError,
            aiohttp.ConnectionTimeoutError,
            aiohttp.InvalidURL,
        ),
    )
    reason = "Certificate" if certificate else "Unreachable" if unsent else "NoAnswer"
    hint = NO_ANSWER_HINT
    if certificate:
        hint = "the server's certificate does not fit: check certificate-authority and tls-server-name"
    message = f"{address}: {_why(error)}"
    return ApiError(ApiProblem("transport", 0, reason, message, "no" if unsent else "maybe"), hint=hint)


def no_upgrade(error: aiohttp.WSServerHandshakeError) -> ApiError:
    """The error for an answer, even a success, where a WebSocket was asked for."""
    message = f"HTTP {error.status} where a WebSocket was asked for ({error.message})"
    hint = "a proxy in between does not let WebSockets through, or another service answered"
    return ApiError(ApiProblem("http", error.status, "", message, "maybe"), hint=hint)


def not_sent(reason: str, message: str, hint: str = "") -> ApiError:
    """The error for a request that could not even be tried, e.g. without credentials."""
    return ApiError(ApiProblem("transport", 0, reason, message, "no"), hint=hint)


def unreadable(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error for a success whose body is no JSON object: something else answered."""
    message = f"HTTP {status} with an answer that is no Kubernetes object{_excerpt(headers, body)}"
    return ApiError(ApiProblem("http", status, "", message, "maybe"), hint=_hint(status, True))


def misshapen(what: str, field: str) -> ApiError:
    """The error for a success that is JSON, but where ``field`` is not what ``what`` has there."""
    message = f"HTTP 200 with an answer that is no Kubernetes {what}: {field} is not as it must be"
    return ApiError(ApiProblem("http", 200, "", message, "maybe"), hint=_hint(200, True))


def too_large(status: int, limit: int) -> ApiError:
    """The error for an answer of more than ``limit`` bytes, unpacked: it was not read to its end."""
    message = f"HTTP {status} with an answer of more than {limit // 1024 // 1024} MiB"
    return ApiError(ApiProblem("http", status, "", message, "maybe"), hint=_hint(status, True))


def without_login(body: bytes, sent: str) -> bytes:
    """``body`` without the ``Authorization`` header that was ``sent``, should something have echoed it."""
    _, _, login = sent.partition(" ")
    secret = login.strip().encode("utf-8", "replace")
    return body.replace(secret, b"***") if secret else body


def _why(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        inner = error.certificate_error
        return getattr(inner, "verify_message", "") or str(inner)
    if isinstance(error, aiohttp.ClientConnectorError):
        inner_error = error.os_error
        if isinstance(inner_error, ssl.SSLError):
            return f"TLS failed: {inner_error.reason or inner_error}"
        return _why_not_connected(inner_error)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered HTTP {error.status}"
    # Other texts may quote a URL with a password in it; the type says enough.
    return {"ServerDisconnectedError": "the connection was closed before an answer came"}.get(
        type(error).__name__, f"the connection broke ({type(error).__name__})"
    )


def _why_not_connected(error: OSError) -> str:
    """The system's own words: asyncio's ``Connect call failed ('::1', 6443, 0, 0)`` gives no reason. Several
    addresses that were tried stand in one text, without a number of its own."""
    words = error.strerror or str(error)
    if "Connect call failed" in words:
        listed = _ERRNO.search(words)
        number = error.errno or (int(listed[1]) if listed else 0)
        return os.strerror(number).lower() if number else "cannot connect"
    return words or "cannot connect"


def _status_object(body: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and value.get("kind") == "Status" and value.get("apiVersion") == "v1":
        return value
    return None


def _excerpt(headers: Mapping[str, str], body: bytes) -> str:
    text = body[:4096].decode("utf-8", "replace")
    if "html" in headers.get("Content-Type", "") or text.lstrip().startswith("<"):
        text = _TAG.sub(" ", text)
    words = clean(text, _SHOWN)
    return f": {words}" if words else ""


def _hint(status: int, foreign: bool) -> str:
    if status == 401:
        return "the credentials were refused: renew them (log in again) and check the user of this context"
    if status == 403 and not foreign:
        return "the identity lacks a right: an administrator can grant it with a Role and RoleBinding"
    if foreign:
        return "a proxy or another service seems to have answered: check the server address"
    if status == 429 or status >= 500:
        return "the API server could not do it now: try again in a moment"
    return ""


def _seconds(value: str) -> float | None:
    return float(value) if value.isascii() and value.isdigit() else None


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(values: dict[str, Any], field: str) -> str:
    value = values.get(field)
    return value if isinstance(value, str) else ""
