"""What the query, and of a DELETE the body, say about a write; refused as a kube-apiserver refuses it. Pure.

Called by ``api.writes``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from moorage.core.kinds import Json
from moorage.embedded.api.bodies import go_type, read_body
from moorage.embedded.api.calls import Call, is_true
from moorage.embedded.api.numbers import INT64, query_int
from moorage.embedded.refusal import Fault, bad_request, invalid_options
from moorage.embedded.registry.meta import bad, forbidden_field, required, unsupported
from moorage.embedded.registry.write import DeleteOptions, Write, read_delete_options

_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_PROPAGATIONS = ("Foreground", "Background", "Orphan", "nil")
_LONGEST = 128
# The fields of DeleteOptions, as Python has them and as Go calls them.
_TYPES: dict[str, tuple[type, str]] = {
    "gracePeriodSeconds": (int, "int64"),
    "preconditions": (dict, "v1.Preconditions"),
    "orphanDependents": (bool, "bool"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
    "dryRun": (list, "[]string"),
}


def write_options(call: Call, what: str, *, apply: bool = False) -> Write:
    """Of a create, an update or a patch; ``what`` names them, e.g. PatchOptions. Raises Refusal 422."""
    query = call.query
    manager, validation = query.get("fieldManager", ""), query.get("fieldValidation", "")
    faults: list[Fault] = []
    if apply and not manager:
        faults.append(required("fieldManager", "is required for apply patch"))
    if what == "PatchOptions" and not apply and "force" in query:
        faults.append(forbidden_field("force", "may not be specified for non-apply patch"))
    faults += _manager(manager)
    if "dryRun" in query:
        faults += _dry_run([query["dryRun"]])
    if validation not in _VALIDATIONS:
        faults.append(unsupported("fieldValidation", validation, _VALIDATIONS))
    if faults:
        raise invalid_options(what, *faults)
    default = call.agent.partition("/")[0] or "unknown"
    return Write(call.user, manager or default, call.dry_run, validation or "Warn", is_true(query, "force"))


def _manager(name: str) -> list[Fault]:
    if len(name.encode()) > _LONGEST:
        return [Fault("fieldManager", "TooLong", f"Too long: may not be more than {_LONGEST} bytes")]
    for at, char in enumerate(name):
        if not char.isprintable():
            why = f"invalid character U+{ord(char):04X} (at position {at})"
            return [bad("fieldManager", name, why)]
    return []


def _dry_run(given: list[Any]) -> list[Fault]:
    return [] if all(word == "All" for word in given) else [unsupported("dryRun", given, ("All",))]


def delete_options(call: Call, body: bytes, content_type: str) -> DeleteOptions:
    """Of a DELETE: its body alone, or without one its query. Raises Refusal 400, 415 or 422."""
    given = _of_body(read_body(body, content_type)) if body else _of_query(call.query)
    faults: list[Fault] = []
    policy = given.get("propagationPolicy")
    if policy is not None and given.get("orphanDependents") is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        faults.append(bad("propagationPolicy", policy, why))
    if policy is not None and policy not in _PROPAGATIONS[:3]:
        faults.append(unsupported("propagationPolicy", policy, _PROPAGATIONS))
    faults += _dry_run(given.get("dryRun") or [])
    if faults:
        raise invalid_options("DeleteOptions", *faults)
    write = Write(call.user, dry_run=bool(given.get("dryRun")))
    options = read_delete_options(given, {}, write)
    return replace(options, write=write)


def _of_body(given: Any) -> Json:
    if given is None:
        return {}
    if not isinstance(given, dict):
        why = f"json: cannot unmarshal {go_type(given)} into Go value of type struct"
        raise bad_request(f"couldn't get version/kind; json parse error: {why}")
    kind, version = given.get("kind") or "DeleteOptions", given.get("apiVersion") or "v1"
    if kind != "DeleteOptions":
        scheme = "pkg/runtime/scheme.go:111"
        raise bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme "{scheme}"')
    for name, (wanted, told) in _TYPES.items():
        value = given.get(name)
        where = f"Go struct field DeleteOptions.{name} of type {told}"
        if value is not None and type(value) is not wanted:
            raise bad_request(f"json: cannot unmarshal {go_type(value)} into {where}")
        if type(value) is int and value not in INT64:
            raise bad_request(f"json: cannot unmarshal number {value} into {where}")
    return given


def _of_query(query: dict[str, str]) -> Json:
    given: Json = {}
    if "gracePeriodSeconds" in query:
        given["gracePeriodSeconds"] = query_int(query["gracePeriodSeconds"])
    if "propagationPolicy" in query:
        given["propagationPolicy"] = query["propagationPolicy"]
    if "orphanDependents" in query:
        given["orphanDependents"] = is_true(query, "orphanDependents")
    if "dryRun" in query:
        given["dryRun"] = [query["dryRun"]]
    return given
