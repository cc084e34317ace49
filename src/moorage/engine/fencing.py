"""Fencing: after a takeover, what the owner before us still sends no longer fits.

Called by ``sessions.owner`` before it acts, when the owner before it did not let go of its lease, or was
removing. It may wake up; and when it is dead, what it has sent may still be on its way. The annotation
changes the resourceVersion of Pod and claim, which every delete names: one that was judged before the
takeover is refused by the API server. Touches only objects on record, by UID.
"""

from __future__ import annotations

from moorage.core import owned
from moorage.core.errors import ApiError
from moorage.core.kinds import CLAIMS, PODS
from moorage.core.session import Session
from moorage.ports.cluster import Cluster

GONE_OR_OTHER = (404, 409, 422)
"""Gone, or another object under the name: a patch that would change a UID is refused as invalid (422)."""


async def fence(cluster: Cluster, session: Session, number: int) -> None:
    """Put ``number`` on the session's own Pod and claim. ApiError when that could not be done."""
    inventory = session.inventory
    claim_uid = inventory.claim_uid if inventory.claim_created_by_us else ""
    for resource, name, uid in (
        (PODS, inventory.pod_name, inventory.pod_uid),
        (CLAIMS, inventory.claim_name, claim_uid),
    ):
        if not uid:
            continue
        patch = {"metadata": {"uid": uid, "annotations": {owned.FENCE_ANNOTATION: str(number)}}}
        try:
            await cluster.patch(resource, name, patch, inventory.namespace)
        except ApiError as error:
            if error.problem.http_status not in GONE_OR_OTHER:
                raise
