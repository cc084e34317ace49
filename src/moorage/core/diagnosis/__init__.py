"""Why something does not go on, from what the cluster said: pure functions with stable categories.

Called by ``engine`` (observe, act), ``sessions`` (doctor, describe) and tests. The categories are
``catalogue.CATALOGUE``; each page of docs/diagnoses.md follows it. Nothing here waits, reads or decides what
to do next: ``core.plans`` does.
"""

from moorage.core.diagnosis.agent import diagnose_agent_exit, start_failure
from moorage.core.diagnosis.api import diagnose_api
from moorage.core.diagnosis.claim import claim_missing, diagnose_claim, storage_class_missing
from moorage.core.diagnosis.interruption import interruption_cause
from moorage.core.diagnosis.pod import diagnose_pod
from moorage.core.diagnosis.presence import PodPresence, Presence, deletion
from moorage.core.diagnosis.progress import start_steps

__all__ = [
    "PodPresence",
    "Presence",
    "claim_missing",
    "deletion",
    "diagnose_agent_exit",
    "diagnose_api",
    "diagnose_claim",
    "diagnose_pod",
    "interruption_cause",
    "start_failure",
    "start_steps",
    "storage_class_missing",
]
