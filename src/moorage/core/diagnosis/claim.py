"""Why a workspace's claim is no use. Called by ``engine.observe``.

A claim that is Pending because its class waits for the first consumer is well: it binds once the Pod exists,
and waiting for Bound first would wait for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

from moorage.core.diagnosis.catalogue import diagnosis
from moorage.core.kinds import Json
from moorage.core.observed import Absent, Observed, Unknown
from moorage.core.pod_view import own_events
from moorage.core.session import Diagnosis

_NOT_ASKED = Unknown("not read")


def claim_missing(name: str, namespace: str) -> Diagnosis:
    """A claim that a profile or command names does not exist."""
    message = f"claim {name} does not exist in namespace {namespace}"
    hint = f"see: kubectl -n {namespace} get pvc; then give --claim NAME, or use --workspace managed_pvc"
    return diagnosis("claim", "ClaimMissing", message, hint=hint, terminal=True)


def storage_class_missing(name: str, claim: str = "") -> Diagnosis:
    """A class that a profile, command or ``claim`` names does not exist."""
    message = f"storage class {name} does not exist"
    if claim:
        message = f"claim {claim} wants storage class {name}, which does not exist"
    hint = "see: kubectl get storageclass; then give --storage-class NAME"
    return diagnosis("claim", "StorageClassMissing", message, hint=hint, terminal=True)


def diagnose_claim(
    claim: Json, events: Sequence[Json], storage_class: Observed[Json] = _NOT_ASKED
) -> Diagnosis | None:
    """None while the claim is bound or may still bind. ``storage_class``: the class it names, as it was read
    (Unknown when nobody asked or might ask)."""
    metadata, spec = claim.get("metadata") or {}, claim.get("spec") or {}
    name, phase = metadata.get("name"), (claim.get("status") or {}).get("phase")
    if metadata.get("deletionTimestamp"):
        message = f"claim {name} is being deleted; it stays until no Pod uses it"
        return diagnosis("claim", "ClaimTerminating", message, terminal=True)
    if phase == "Lost":
        message = f"claim {name} has lost its volume {spec.get('volumeName') or ''}"
        return diagnosis("claim", "ClaimLost", message, terminal=True)
    if phase == "Bound":
        return None
    wanted = spec.get("storageClassName")
    if wanted and isinstance(storage_class, Absent) and not spec.get("volumeName"):
        return storage_class_missing(str(wanted), str(name))
    return _from_events(str(name), own_events(claim, events))


def _from_events(name: str, events: Sequence[Json]) -> Diagnosis | None:
    if not events:
        return None
    newest = events[-1]
    reason, message = newest.get("reason"), str(newest.get("message") or "")
    if reason == "ProvisioningFailed":
        return diagnosis("claim", "ProvisioningFailed", f"claim {name}: {message}")
    if reason == "FailedBinding":
        hint = "give --storage-class NAME, or mark a class of the cluster as default"
        return diagnosis("claim", "NoStorageClass", f"claim {name}: {message}", hint=hint)
    return None
