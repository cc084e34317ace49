"""Is the object that holds our name ours? The proof before every adoption and every deletion.

Called by ``engine.observe`` and ``engine.creation``. Nothing is adopted or bootstrapped unless the answer is
Owned, nothing deleted unless it is Owned or Altered. Labels and spec alone never prove anything: anyone can
copy them. Never reads the cluster; a read that failed does not come here, it stays Unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from moorage.core import owned
from moorage.core.kinds import Json
from moorage.core.owned_fields import IDENTITY_FIELDS, FieldConflict, claim_conflicts, pod_conflicts
from moorage.core.session import Identity, Inventory, WorkspaceMode, WorkspaceSpec
from moorage.core.workload import session_labels


@dataclass(frozen=True)
class Owned:
    """Ours. ``recorded``: its UID is on record; else a create nonce of ours and every owned field proved
    it, and the UID is still to be recorded."""

    uid: str
    recorded: bool = True


@dataclass(frozen=True)
class Altered:
    """The answer to a create of ours, by an open nonce and all our labels, but with owned fields that are not
    what we sent: rejected by this UID, as the create itself would have done. Nothing of ours ran in it."""

    uid: str
    conflicts: tuple[FieldConflict, ...]

    @property
    def field(self) -> str:
        return self.conflicts[0].field

    @property
    def why(self) -> str:
        return CHANGED


@dataclass(frozen=True)
class Foreign:
    """Not proved to be ours; leave it alone. ``field``: what told, ``why``: for people."""

    uid: str
    field: str
    why: str


Judgement: TypeAlias = Owned | Altered | Foreign
Judge: TypeAlias = Callable[[Json, Identity, Inventory, Json], Judgement]
Compare: TypeAlias = Callable[[Json, Json], tuple[FieldConflict, ...]]

CHANGED = "it carries our create nonce, but this field is not what we sent"


def judge_pod(pod: Json, identity: Identity, inventory: Inventory, expected: Json) -> Judgement:
    """Judge the Pod read by its exact name. ``expected``: what ``session_pod`` would send now."""
    return _judge(pod, identity, inventory, expected, "Pod", inventory.pod_uid, pod_conflicts)


def judge_claim(claim: Json, identity: Identity, inventory: Inventory, expected: Json) -> Judgement:
    """Judge a claim read by its exact name. A claim that we were given is never ours, whatever it says."""
    workspace: WorkspaceSpec = inventory.snapshot.workspace
    uid = str((claim.get("metadata") or {}).get("uid") or "")
    if workspace.mode is not WorkspaceMode.MANAGED_PVC:
        return Foreign(uid, "workspace.mode", f"mode {workspace.mode.value} has no claim of ours")
    if inventory.claim_uid and not inventory.claim_created_by_us:
        return Foreign(uid, "claim_created_by_us", "the record says that somebody else created this claim")
    return _judge(
        claim, identity, inventory, expected, "PersistentVolumeClaim", inventory.claim_uid, claim_conflicts
    )


def _judge(
    obj: Json,
    identity: Identity,
    inventory: Inventory,
    expected: Json,
    kind: str,
    recorded_uid: str,
    compare: Compare,
) -> Judgement:
    metadata = obj.get("metadata") or {}
    uid, name = str(metadata.get("uid") or ""), str(metadata.get("name") or "")
    if not uid:
        return Foreign("", "metadata.uid", f"the {kind} was read without a UID")
    if metadata.get("namespace") != inventory.namespace:
        return Foreign(uid, "metadata.namespace", f"it is not in namespace {inventory.namespace}")
    if uid == recorded_uid:
        return _by_labels(uid, metadata.get("labels") or {}, identity)
    return _by_nonce(obj, uid, inventory, expected, (kind, name), recorded_uid, compare)


def _by_labels(uid: str, labels: Json, identity: Identity) -> Judgement:
    for key, value in session_labels(identity).items():
        if labels.get(key) != value:
            return Foreign(uid, f"metadata.labels[{key}]", "its UID is recorded, but this label is not ours")
    return Owned(uid)


def _by_nonce(
    obj: Json,
    uid: str,
    inventory: Inventory,
    expected: Json,
    key: tuple[str, str],
    recorded_uid: str,
    compare: Compare,
) -> Judgement:
    nonce = (obj["metadata"].get("annotations") or {}).get(owned.NONCE_ANNOTATION)
    if not nonce or nonce not in inventory.nonces_for(*key):
        if recorded_uid:
            return Foreign(uid, "metadata.uid", f"the recorded UID is {recorded_uid}")
        why = "it does not carry a create nonce that was issued for it"
        return Foreign(uid, f"metadata.annotations[{owned.NONCE_ANNOTATION}]", why)
    # Once an object was recorded, its nonce is public and spent, also when that object is gone since: a copy
    # made from it carries the same one. Only a request still in the air may answer with another UID.
    open_nonces = {n.nonce for n in inventory.nonces if (n.kind, n.name) == key and not n.settled}
    if nonce not in open_nonces:
        where = f"the recorded UID is {recorded_uid}" if recorded_uid else "the object we made is gone"
        return Foreign(uid, "metadata.uid", f"{where}, and its nonce is spent")
    conflicts = compare(_with_nonce(expected, nonce), obj)
    for conflict in conflicts:
        if conflict.field in IDENTITY_FIELDS:
            return Foreign(uid, conflict.field, CHANGED)
    return Altered(uid, conflicts) if conflicts else Owned(uid, recorded=False)


def _with_nonce(expected: Json, nonce: str) -> Json:
    # The object may answer an earlier request of ours than the one being prepared now.
    metadata = expected["metadata"]
    annotations = {**(metadata.get("annotations") or {}), owned.NONCE_ANNOTATION: nonce}
    return {**expected, "metadata": {**metadata, "annotations": annotations}}
