"""CREATE: what a write may be answered with, and what becomes of its answer."""

from __future__ import annotations

from moorage.embedded.api.calls import Call
from moorage.embedded.faults import Answer
from moorage.embedded.refusal import Fault, Refusal, already_exists, conflict, forbidden, invalid

from .answering import DropAfter, DropBefore, SlowAfter, instead, resource_of
from .knob import Knob

OBJECTS = ("pods", "persistentvolumeclaims")
CREATES = frozenset(f"create {plural}" for plural in OBJECTS)
DRY_RUNS = frozenset(f"{call} (dry run)" for call in CREATES)
DELETES = frozenset(f"delete {plural}" for plural in OBJECTS)
WRITES = CREATES | DELETES
ALL = WRITES | DRY_RUNS
QUOTA_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def _exists(call: Call) -> Refusal:
    return already_exists(resource_of(call), call.name or "of-that-name")


def _conflict(call: Call) -> Refusal:
    resource = resource_of(call)
    return conflict(resource, call.name or "of-that-name", kind=resource.kind)


def _quota_modified(call: Call) -> Refusal:
    message = f'Operation cannot be fulfilled on resourcequotas "quota": {QUOTA_MODIFIED}'
    return Refusal(409, "Conflict", message, {"name": "quota", "kind": "resourcequotas"})


def _quota(call: Call) -> Refusal:
    why = "exceeded quota: quota, requested: pods=1, used: pods=5, limited: pods=5"
    return forbidden(resource_of(call), call.name or "of-that-name", why)


def _psa(call: Call) -> Refusal:
    why = 'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false'
    return forbidden(resource_of(call), call.name or "of-that-name", why)


def _rbac(call: Call) -> Refusal:
    what = (
        f'cannot {call.verb} resource "{call.resource}" in API group "" in the namespace "{call.namespace}"'
    )
    return forbidden(resource_of(call), call.name, f'User "{call.user.name}" {what}')


def _terminating(call: Call) -> Refusal:
    why = f"unable to create new content in namespace {call.namespace} because it is being terminated"
    cause = {"reason": "NamespaceTerminating", "message": why, "field": "metadata.namespace"}
    return forbidden(resource_of(call), call.name or "of-that-name", why, [cause])


def _field(call: Call) -> Refusal:
    fault = Fault(
        "spec.containers[0].resources.requests", "Invalid", "Invalid value: must be less than limit"
    )
    return invalid(resource_of(call).kind, "", call.name or "of-that-name", [fault])


def _busy(call: Call) -> Refusal:
    return Refusal(429, "TooManyRequests", "too many requests, please try again later", {}, retry_after=1)


def _webhook_timeout(call: Call) -> Refusal:
    message = (
        'Internal error occurred: failed calling webhook "slow.example.com": failed to call webhook: Post '
        '"https://slow.example.com/": context deadline exceeded'
    )
    return Refusal(500, "InternalError", message, {"causes": [{"message": message}]})


def _too_large(call: Call) -> Answer:
    return Answer(413, b"<html><h1>413 Request Entity Too Large</h1></html>", "text/html")


KNOBS = (
    Knob("commit_then_drop", "CREATE", WRITES, DropAfter),
    Knob("commit_then_slow", "CREATE", WRITES, SlowAfter),
    Knob("drop_before", "CREATE", ALL, DropBefore),
    Knob("409_AlreadyExists", "CREATE", CREATES | DRY_RUNS, instead(_exists)),
    Knob("409_Conflict", "CREATE", ALL, instead(_conflict)),
    Knob("409_quota_modified", "CREATE", CREATES | DRY_RUNS, instead(_quota_modified)),
    Knob("403_quota", "CREATE", CREATES | DRY_RUNS, instead(_quota)),
    Knob("403_psa", "CREATE", frozenset({"create pods", "create pods (dry run)"}), instead(_psa)),
    Knob("403_rbac", "CREATE", ALL, instead(_rbac)),
    Knob("403_ns_terminating", "CREATE", CREATES | DRY_RUNS, instead(_terminating)),
    Knob("422_field", "CREATE", CREATES | DRY_RUNS, instead(_field)),
    Knob("429", "CREATE", ALL, instead(_busy)),
    Knob("500_webhook_timeout", "CREATE", ALL, instead(_webhook_timeout)),
    Knob("413_html", "CREATE", CREATES | DRY_RUNS, instead(_too_large)),
)
