"""How far a Pod has come, as steps for progress lines. Called by ``engine.observe``; whoever prints keeps the
lines that are new. Every line is something that was observed, in the order in which it happened."""

from __future__ import annotations

import re
from collections.abc import Sequence

from moorage.core.cleaning import clean
from moorage.core.kinds import Json
from moorage.core.pod_view import first_time, main_status, own_events

_STEP_LIMIT = 200
_ORDER = ("schedule", "storage", "pull", "start")
_STEPS = {
    "FailedScheduling": "schedule",
    "Scheduled": "schedule",
    "Preempted": "schedule",
    "TriggeredScaleUp": "schedule",
    "NotTriggerScaleUp": "schedule",
    "SuccessfulAttachVolume": "storage",
    "FailedAttachVolume": "storage",
    "FailedMount": "storage",
    "FailedMapVolume": "storage",
    "Pulling": "pull",
    "Pulled": "pull",
    "ErrImageNeverPull": "pull",
    "FailedCreatePodSandBox": "start",
}


def start_steps(pod: Json, main: str, events: Sequence[Json]) -> list[tuple[str, str]]:
    """(step, message) pairs, oldest first; step is storage, schedule, pull or start. What the Pod's status
    shows is told even where Events may not be read."""
    told = [(step, event) for event in own_events(pod, events) if (step := _step(event))]
    # Some components stamp whole seconds, others microseconds: within a second the order of steps decides.
    told.sort(key=lambda pair: (int(first_time(pair[1]) or 0), _ORDER.index(pair[0])))
    steps = [(step, clean(event.get("message"), _STEP_LIMIT)) for step, event in told]
    node = (pod.get("spec") or {}).get("nodeName")
    if node and not any(step == "schedule" and str(node) in message for step, message in steps):
        first = next((i for i, (step, _) in enumerate(steps) if step in ("pull", "start")), len(steps))
        steps.insert(first, ("schedule", f"on node {clean(node)}"))
    if main_status(pod, main).state == "running":
        steps.append(("start", f"container {main} is running"))
    return list(dict.fromkeys(steps))


def _step(event: Json) -> str | None:
    reason = str(event.get("reason"))
    if reason in ("Failed", "BackOff") and re.search(r"(?i)\bimage\b", str(event.get("message") or "")):
        return "pull"
    return _STEPS.get(reason)
