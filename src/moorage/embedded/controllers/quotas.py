"""ResourceQuotas: ``status.used``, from what is stored."""

from __future__ import annotations

from moorage.core.kinds import EVENTS, LEASES, QUOTAS
from moorage.embedded.admission.quota import shown, used
from moorage.embedded.registry.kinds import key
from moorage.embedded.seam import Objects
from moorage.embedded.storage.store import Change, Store


class Quotas:
    """The controller."""

    def __init__(self, store: Store, objects: Objects) -> None:
        self._store, self._objects = store, objects

    def wants(self, resource: str, change: Change) -> bool:
        return "namespace" in change.obj["metadata"] and resource not in (key(EVENTS), key(LEASES))

    def reconcile(self) -> None:
        """One pass over all quotas."""
        for quota in self._objects.list(QUOTAS):
            hard = quota["spec"].get("hard") or {}
            now = used(self._store, quota["metadata"]["namespace"], hard)
            status = {"hard": hard, "used": {name: shown(name, amount) for name, amount in now.items()}}
            if quota.get("status") != status:
                self._objects.update_status(QUOTAS, {**quota, "status": status})
