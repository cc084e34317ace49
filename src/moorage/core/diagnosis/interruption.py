"""What took a running agent's container away. Called by ``engine.observe``; ``core.plans`` counts restarts by
this word, so one fault always has one word."""

from __future__ import annotations

from moorage.core.diagnosis.ending import diagnose_ending
from moorage.core.kinds import Json
from moorage.core.pod_view import MainContainer, Termination, main_status

EVICTED = "evicted"
NODE_LOST = "node lost"
PREEMPTED = "preempted"
POD_DELETED = "Pod deleted"
OOM = "OOMKilled"
RESTARTED = "container restart"

_BY_REASON = {OOM: OOM, "ContainerStatusUnknown": NODE_LOST}
_BY_CATEGORY = {"evicted": EVICTED, "node_lost": NODE_LOST, "preempted": PREEMPTED}


def interruption_cause(pod: Json | None, main: str, previous: MainContainer | None) -> str | None:
    """None while the container that ``previous`` saw still runs. ``pod``: None when it is Absent.
    ``previous``: the main container at the last look, None when there was none.

    A Pod-level reason without a word of its own (``OutOfcpu``) is returned as it stands.
    """
    if pod is None:
        return POD_DELETED
    ended = diagnose_ending(pod)
    if ended is not None:
        return _BY_CATEGORY.get(ended.category, ended.reason)
    if (pod.get("metadata") or {}).get("deletionTimestamp"):
        return POD_DELETED
    current = main_status(pod, main)
    replaced = previous is not None and _replaced(previous, current)
    if current.terminated is not None:
        return ending_word(current.terminated)
    back_off = current.state == "waiting" and current.last_terminated is not None
    if not replaced and not back_off:
        return None
    last = current.last_terminated
    return RESTARTED if last is None else ending_word(last)


def ending_word(ended: Termination) -> str:
    """Of one container that has ended."""
    return _BY_REASON.get(ended.reason, RESTARTED)


def _replaced(previous: MainContainer, current: MainContainer) -> bool:
    known = previous.container_id and current.container_id
    other = bool(known) and previous.container_id != current.container_id
    return other or current.restart_count > previous.restart_count
