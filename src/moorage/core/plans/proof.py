"""What comes before anything is done to the Pod under our name: is it ours? Called by the planners; pure."""

from __future__ import annotations

from moorage.core.observed import Absent, Present, Unknown
from moorage.core.plans.actions import AdoptPod, Plan, RejectPod
from moorage.core.plans.changes import blocked, retry
from moorage.core.plans.observation import Seen, Verdict
from moorage.core.session import Session


def unproved(session: Session, seen: Seen, now: float) -> Plan | None:
    """Look again, adopt, reject or fail closed; None once it is ours and on record, or known to be gone."""
    match seen.pod:
        case Unknown():
            return retry(session, None, seen.trouble)
        case Absent():
            return None
        case Present(pod) if pod.verdict is Verdict.FOREIGN:
            return blocked(session, now, "pod", session.inventory.pod_name, pod.uid, pod.conflict)
        case Present(pod) if pod.verdict is Verdict.ADOPTABLE:
            return retry(session, AdoptPod(pod.uid, pod.nonce), seen.trouble)
        case Present(pod) if pod.verdict is Verdict.ALTERED:
            return retry(session, RejectPod(pod.uid), seen.trouble)
        case Present():
            return None
