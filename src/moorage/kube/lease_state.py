"""Who leads, by a ``coordination.k8s.io/v1 Lease``: decisions only.

Called by ``kube.leader``. Another holder's lease has run out when *we* have seen the same record for its
whole duration on our monotonic clock; the times in the record are never compared with ours, for clocks
differ between hosts.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from moorage.core.kinds import LEASES, Json


@dataclass(frozen=True)
class Seen:
    """The record last observed, and when (monotonic seconds)."""

    record: tuple[str, str, str]
    at: float


def observe(lease: Json, before: Seen | None, now: float) -> Seen:
    """Note a lease; the time moves only when its record did."""
    spec = _spec(lease)
    record = (_text(spec, "holderIdentity"), _text(spec, "renewTime"), _text(spec, "acquireTime"))
    return before if before is not None and before.record == record else Seen(record, now)


def may_take(lease: Json, seen: Seen, identity: str, now: float) -> bool:
    """Whether ``identity`` may write itself in: it holds the lease, nobody does, or it has run out."""
    holder = seen.record[0]
    if holder in ("", identity):
        return True
    duration = _spec(lease).get("leaseDurationSeconds")
    seconds = float(duration) if isinstance(duration, int) and duration > 0 else 0.0
    return now - seen.at >= seconds


def taken(lease: Json | None, name: str, identity: str, duration: int, wall: float) -> Json:
    """The lease as ``identity`` writes it; a given ``lease`` keeps its resourceVersion (the lock)."""
    moment = micro_time(wall)
    old = _spec(lease) if lease else {}
    same = _text(old, "holderIdentity") == identity
    transitions = old.get("leaseTransitions")
    count = transitions if isinstance(transitions, int) else 0
    spec = {
        "holderIdentity": identity,
        "leaseDurationSeconds": duration,
        "renewTime": moment,
        "acquireTime": _text(old, "acquireTime") or moment if same else moment,
        "leaseTransitions": count if same or not lease else count + 1,
    }
    metadata = lease["metadata"] if lease else {"name": name}
    return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}


def released(lease: Json, wall: float) -> Json:
    """The lease given up, so that the next leader need not wait."""
    spec = {**_spec(lease), "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": micro_time(wall)}
    return {**lease, "spec": spec}


def micro_time(wall: float) -> str:
    """Kubernetes' ``MicroTime``: exactly six digits and a Z."""
    return datetime.datetime.fromtimestamp(wall, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _spec(lease: Json) -> dict[str, Any]:
    spec = lease.get("spec")
    return spec if isinstance(spec, dict) else {}


def _text(values: dict[str, Any], field: str) -> str:
    value = values.get(field)
    return value if isinstance(value, str) else ""
