"""Object metadata: names, labels, what a server sets itself and what an update may not touch. Pure.

Called by the registry for every kind.
"""

from __future__ import annotations

import json
import re
from typing import Any

from moorage.core.kinds import Json
from moorage.core.names import is_dns_label, is_object_name
from moorage.embedded.refusal import Fault
from moorage.embedded.registry.kinds import Kind

LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
KEY_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_KEY_AND_PREFIX_TEXT = (
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' "
    "(e.g. 'example.com/MyName')"
)
_KEY = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_ANNOTATIONS_LIMIT = 256 * 1024
SERVER_SET = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


def quoted(value: Any) -> str:
    """A value as the server shows it."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list | dict | bool) or value is None:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return str(value)


def bad(field: str, value: Any, why: str) -> Fault:
    return Fault(field, "Invalid", f"Invalid value: {quoted(value)}: {why}")


def required(field: str, why: str = "") -> Fault:
    return Fault(field, "Required", "Required value" + (f": {why}" if why else ""))


def forbidden_field(field: str, why: str) -> Fault:
    return Fault(field, "Forbidden", f"Forbidden: {why}")


def unsupported(field: str, value: Any, allowed: tuple[str, ...]) -> Fault:
    listed = ", ".join(quoted(word) for word in allowed)
    return Fault(field, "Unsupported", f"Unsupported value: {quoted(value)}: supported values: {listed}")


def length(field: str, name: str, limit: int) -> list[Fault]:
    return [bad(field, name, f"must be no more than {limit} characters")] if len(name) > limit else []


def check_label(field: str, name: str) -> list[Fault]:
    """A DNS label: containers, volumes, namespaces."""
    if not name:
        return [required(field)]
    if len(name) > 63:
        return [bad(field, name, "must be no more than 63 characters")]
    return [] if is_dns_label(name) else [bad(field, name, LABEL_TEXT)]


def check_subdomain(field: str, name: str) -> list[Fault]:
    """Names of most objects."""
    if len(name) > 253:
        return [bad(field, name, "must be no more than 253 characters")]
    return [] if is_object_name(name) else [bad(field, name, SUBDOMAIN_TEXT)]


def check_key(field: str, key: str) -> list[Fault]:
    """The key of a label, annotation or node selector."""
    prefix, slash, name = key.partition("/")
    if "/" in name:
        return [bad(field, key, _KEY_AND_PREFIX_TEXT)]
    faults: list[Fault] = []
    if slash and not prefix:
        faults.append(bad(field, key, "prefix part must be non-empty"))
    elif slash and not is_object_name(prefix):
        faults.append(bad(field, key, f"prefix part {SUBDOMAIN_TEXT}"))
    name = name if slash else key
    if not name:
        faults.append(bad(field, key, "name part must be non-empty"))
    elif len(name) > 63:
        faults.append(bad(field, key, "name part must be no more than 63 bytes"))
    return faults if _KEY.fullmatch(name) else [*faults, bad(field, key, KEY_TEXT)]


def check_labels(field: str, labels: Json) -> list[Fault]:
    faults: list[Fault] = []
    for key, value in labels.items():
        faults += check_key(field, key)
        if len(value) > 63:
            faults.append(bad(field, value, "must be no more than 63 bytes"))
        if not _VALUE.fullmatch(value):
            faults.append(bad(field, value, VALUE_TEXT))
    return faults


def check_metadata(kind: Kind, metadata: Json) -> list[Fault]:
    """All that is wrong with an object's own metadata."""
    faults = _check_name(kind, metadata)
    faults += check_labels("metadata.labels", metadata.get("labels") or {})
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        faults += check_key("metadata.annotations", key.lower())
    if sum(len(key) + len(str(value)) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        message = f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes"
        faults.append(Fault("metadata.annotations", "TooLong", message))
    for at, finalizer in enumerate(metadata.get("finalizers") or ()):
        faults += check_key("metadata.finalizers", finalizer)
        if "/" not in finalizer and finalizer not in ("orphan", "foregroundDeletion", "kubernetes"):
            why = "name is neither a standard finalizer name nor is it fully qualified"
            faults.append(bad(f"metadata.finalizers[{at}]", finalizer, why))
    for owner in metadata.get("ownerReferences") or ():
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                why = "version must not be empty" if field == "apiVersion" else "must not be empty"
                faults.append(bad(f"metadata.ownerReferences.{field}", "", why))
    controllers = [o for o in metadata.get("ownerReferences") or () if o.get("controller")]
    if len(controllers) > 1:
        named = " and ".join(f"{o.get('kind')}/{o.get('name')}" for o in controllers[:2])
        why = f'Only one reference can have Controller set to true. Found "true" in references for {named}'
        faults.append(bad("metadata.ownerReferences", "", why))
    return faults


def _check_name(kind: Kind, metadata: Json) -> list[Fault]:
    name, field = metadata.get("name") or "", "metadata.name"
    faults: list[Fault] = []
    if metadata.get("generateName"):
        # The suffix will end it, so that it may end with what a name may not.
        faults = _fits(kind, "metadata.generateName", metadata["generateName"], ends="a")
    if not name:
        return [*faults, required(field, "name or generateName is required")]
    return [*faults, *_fits(kind, field, name)]


def _fits(kind: Kind, field: str, given: str, ends: str = "") -> list[Fault]:
    """What is wrong with ``given`` as the name of such an object, were it followed by ``ends``."""
    name = given.removesuffix("-") + ends if ends else given
    if kind.path_name:
        if name in (".", ".."):
            return [bad(field, name, f"may not be '{name}'")]
        return [bad(field, given, f"may not contain '{char}'") for char in "/%" if char in name]
    found = check_label(field, name) if kind.label_name else check_subdomain(field, name)
    return [fault._replace(message=fault.message.replace(quoted(name), quoted(given), 1)) for fault in found]


def check_unchanged(old: Json, new: Json) -> list[Fault]:
    """Metadata of an update against what is stored."""
    faults: list[Fault] = []
    if old.get("deletionTimestamp"):
        added = [f for f in new.get("finalizers") or () if f not in (old.get("finalizers") or ())]
        if added:
            listed = ", ".join(quoted(name) for name in added)
            why = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}"
            )
            faults.append(forbidden_field("metadata.finalizers", why))
    return faults
