"""What the embedded API says instead of success: the server's ``Status`` objects, as errors.

Raised by every part of ``embedded`` and written out by ``embedded.api``. Wording and codes are those of a
kube-apiserver 1.36, because clients read them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from moorage.core.errors import ApiError, ApiProblem
from moorage.core.kinds import Json, Resource


class Fault(NamedTuple):
    """One invalid field: ``reason`` is a CauseType without its prefix, e.g. ``Required``."""

    field: str
    reason: str
    message: str

    @property
    def cause(self) -> Json:
        names = {"Unsupported": "NotSupported", "TypeInvalid": "TypeInvalid"}
        return {
            "reason": f"FieldValue{names.get(self.reason, self.reason)}",
            "message": self.message,
            "field": self.field,
        }


class Refusal(ApiError):
    """An answer that is no success; ``status`` is its body."""

    def __init__(
        self, code: int, reason: str, message: str, details: Json | None = None, *, retry_after: int = 0
    ) -> None:
        self.status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            **({"reason": reason} if reason else {}),
            **({"details": details} if details is not None else {}),
            "code": code,
        }
        found = details or {}
        if retry_after:
            self.status["details"] = found = {**found, "retryAfterSeconds": retry_after}
        super().__init__(
            ApiProblem(
                kind="status",
                http_status=code,
                reason=reason,
                message=message,
                sent="no" if code < 500 else "maybe",
                retry_after=float(retry_after) if retry_after else None,
                details_kind=str(found.get("kind", "")),
                details_name=str(found.get("name", "")),
                causes=tuple(
                    (str(c.get("field", "")), str(c.get("reason", "")), str(c.get("message", "")))
                    for c in found.get("causes", ())
                ),
            )
        )

    @property
    def code_http(self) -> int:
        return self.problem.http_status


def group_resource(resource: Resource) -> str:
    """``pods``, or ``leases.coordination.k8s.io``."""
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def _details(resource: Resource, name: str, kind: str = "") -> Json:
    details: Json = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = kind or resource.plural
    return details


def not_found(resource: Resource, name: str) -> Refusal:
    message = f'{group_resource(resource)} "{name}" not found'
    return Refusal(404, "NotFound", message, _details(resource, name))


def unknown_path() -> Refusal:
    return Refusal(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource: Resource, name: str) -> Refusal:
    message = f'{group_resource(resource)} "{name}" already exists'
    return Refusal(409, "AlreadyExists", message, _details(resource, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(resource: Resource, name: str, why: str = MODIFIED, *, kind: str = "") -> Refusal:
    """``kind``: as preconditions of a delete are told, by the kind and not by the resource."""
    what = f"{kind}.{resource.group}".rstrip(".") if kind else group_resource(resource)
    message = f'Operation cannot be fulfilled on {what} "{name}": {why}'
    return Refusal(409, "Conflict", message, _details(resource, name, kind))


def other_uid(resource: Resource, at: tuple[str, str], asked: str, found: str) -> Refusal:
    """An update meant for another object of that name, or for one where there is none."""
    where = f"/registry/{resource.plural}/{'/'.join(part for part in at if part)}"
    return conflict(
        resource,
        at[1],
        f"StorageError: invalid object, Code: 4, Key: {where}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {asked}, UID in object meta: {found}",
    )


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def forbidden(resource: Resource, name: str, why: str, causes: Sequence[Json] = ()) -> Refusal:
    what = f'{group_resource(resource)} "{name}"' if name else group_resource(resource)
    details = _details(resource, name)
    if causes:
        details["causes"] = list(causes)
    return Refusal(403, "Forbidden", f"{what} is forbidden: {why}", details)


def invalid(kind: str, group: str, name: str, faults: Sequence[Fault]) -> Refusal:
    """422 with one cause a fault; ``kind`` is the object's kind."""
    told = [f"{fault.field}: {fault.message}" for fault in faults]
    text = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    what = f"{kind}.{group}" if group else kind
    details: Json = {"name": name} if name else {}
    if group:
        details["group"] = group
    details |= {"kind": kind, "causes": [fault.cause for fault in faults]}
    return Refusal(422, "Invalid", f'{what} "{name}" is invalid: {text}', details)


def invalid_options(kind: str, *faults: Fault) -> Refusal:
    """A query parameter that cannot be, e.g. of ``ListOptions``."""
    return invalid(kind, "meta.k8s.io", "", faults)


def unnamed(on_url: str) -> Refusal:
    """A body that does not name its object."""
    return bad_request(
        f"the name of the object ({on_url} based on URL) was undeterminable: name must be provided"
    )


def unpatchable(shown: str, why: str) -> Refusal:
    """What a patch makes of an object is none of its kind."""
    message = f'Invalid value: "{shown}": {why}'
    cause = {"reason": "FieldValueInvalid", "message": message, "field": "patch"}
    return Refusal(422, "Invalid", f' "" is invalid: patch: {message}', {"causes": [cause]})


def rejected() -> Refusal:
    """What a JSON patch that cannot be applied is answered with."""
    message = "the server rejected our request due to an error in our request"
    return Refusal(422, "Invalid", message, {})


def expired(message: str) -> Refusal:
    return Refusal(410, "Expired", message)


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")


def unsupported_media() -> Refusal:
    return Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def too_new(version: int, current: int) -> Refusal:
    """A read at a version that does not exist yet."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {version}, current: {current}"
    return Refusal(504, "Timeout", message, {"causes": [cause]}, retry_after=1)


def internal(message: str, reason: str = "InternalError") -> Refusal:
    return Refusal(500, reason, message)
