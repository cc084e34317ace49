"""Why a Pod does not come to run. Called by ``engine.observe`` on every look at a session's Pod.

Order: what ended the whole Pod, then scheduling, then containers (those that hold up the main one first),
then what only events tell. A Pod whose main container runs has no diagnosis, whatever its sidecars do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from moorage.core.diagnosis import images
from moorage.core.diagnosis.catalogue import diagnosis
from moorage.core.diagnosis.containers import diagnose_container
from moorage.core.diagnosis.ending import diagnose_ending
from moorage.core.diagnosis.scheduling import diagnose_scheduling
from moorage.core.kinds import Json
from moorage.core.pod_view import ContainerView, containers, first_time, main_status, own_events
from moorage.core.session import Diagnosis


def diagnose_pod(pod: Json, main: str, events: Sequence[Json], now: float) -> Diagnosis | None:
    """None while nothing is wrong. ``main``: the main container's name. ``events``: of the namespace or the
    Pod; those of another UID are ignored. ``now``: seconds since the epoch by the API server's clock, used
    only to tell a late image from a missing one."""
    mine = own_events(pod, events)
    ended = diagnose_ending(pod)
    if ended is not None:
        return ended
    if main_status(pod, main).state == "running":
        return None
    return (
        diagnose_scheduling(pod, mine)
        or _containers(pod, main, mine, now)
        or _platform(mine)
        or _from_events(mine)
        or _failed(pod)
    )


def _containers(pod: Json, main: str, events: Sequence[Json], now: float) -> Diagnosis | None:
    # Init containers hold up the main one; an ordinary sidecar holds up nobody, so it speaks last.
    def rank(view: ContainerView) -> int:
        return 0 if view.kind == "init container" else 1 if view.name == main else 2

    for view in sorted(containers(pod), key=rank):
        if view.reason in images.REASONS:
            pulls = _failed_pulls(view.name, events)
            began = first_time(pulls[0]) if pulls else None
            failing_for = max(0.0, now - began) if began is not None else 0.0
            error = str(pulls[-1].get("message") or "") if pulls else ""
            found: Diagnosis | None = images.diagnose_image(view, error, failing_for)
        elif error := _retried(view, events):
            found = images.diagnose_image(replace(view, reason="ErrImagePull", message=error), error, 0.0)
        else:
            is_main = view.kind == "container" and view.name == main
            found = diagnose_container(view, is_main=is_main)
        if found is not None:
            return found
    return None


def _about(container: str, events: Sequence[Json]) -> list[Json]:
    return [
        event
        for event in events
        if f"{{{container}}}" in str((event.get("involvedObject") or {}).get("fieldPath") or "")
    ]


def _failed_pulls(container: str, events: Sequence[Json]) -> list[Json]:
    """Events of failed pulls of this container, the uninformative ``Error: …`` echoes left out."""
    return [
        event
        for event in _about(container, events)
        if event.get("reason") == "Failed" and not str(event.get("message") or "").startswith("Error: ")
    ]


def _retried(view: ContainerView, events: Sequence[Json]) -> str:
    """What failed the last pull while the next one runs and the kubelet shows no fault; "" where none failed.
    That pull may still end well: no verdict is final by it."""
    failed = _failed_pulls(view.name, events)
    if view.state != "waiting" or view.reason not in _CREATING or not failed:
        return ""
    about = _about(view.name, events)
    since = {event.get("reason") for event in about[about.index(failed[-1]) :]}
    return "" if "Pulled" in since else str(failed[-1].get("message") or "")


_CREATING = frozenset({"", "ContainerCreating", "PodInitializing"})

_EVENTS: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "FailedAttachVolume",
        r"Multi-Attach",
        "claim",
        "MultiAttach",
        "another Pod or a lost node still holds the volume; the cluster frees it after some minutes",
    ),
    ("FailedAttachVolume", r"", "claim", "AttachFailed", ""),
    (
        "FailedMount",
        r'(?:configmap|secret) "[^"]*" not found|references non-existent',
        "config",
        "MountSourceMissing",
        "",
    ),
    ("FailedMount", r"persistentvolumeclaim|claim", "claim", "MountFailed", ""),
    ("FailedMount", r"", "config", "MountFailed", ""),
    ("FailedMapVolume", r"", "claim", "MountFailed", ""),
    (
        "FailedCreatePodSandBox",
        r"RuntimeHandler|runtime handler|no runtime for",
        "config",
        "RuntimeMissing",
        "the node lacks the runtime of runtimeClassName: choose another, or nodes that have it",
    ),
    (
        "FailedCreatePodSandBox",
        r"",
        "network",
        "SandboxFailed",
        "look at the node's network plugin and container runtime",
    ),
    ("NetworkNotReady", r"", "network", "NetworkNotReady", "the node's network plugin is not ready"),
    ("FailedPostStartHook", r"", "crash", "PostStartFailed", ""),
    ("FailedCreatePodContainer", r"", "config", "CreateFailed", ""),
    ("Failed", r"^Error: (?!ImagePull|ErrImage|CreateContainerConfig)", "crash", "StartFailed", ""),
)
"""(event reason, pattern in the message, category, reason, hint), first match of the newest event."""

_PROGRESS = frozenset({"Pulled", "Pulling", "Created", "Started", "SuccessfulAttachVolume"})


def _from_events(events: Sequence[Json]) -> Diagnosis | None:
    for event in reversed(events):
        reason, message = event.get("reason"), str(event.get("message") or "")
        if reason in _PROGRESS:
            return None  # what failed before has come right
        for wanted, pattern, category, found, hint in _EVENTS:
            if reason == wanted and re.search(pattern, message):
                return diagnosis(category, found, message, hint=hint)
    return None


def _platform(events: Sequence[Json]) -> Diagnosis | None:
    for event in reversed(events):
        if re.search(r"exec format error", str(event.get("message") or "")):
            return diagnosis("platform", "ExecFormatError", event.get("message"), terminal=True)
    return None


def _failed(pod: Json) -> Diagnosis | None:
    status = pod.get("status") or {}
    if status.get("phase") != "Failed":
        return None
    reason = str(status.get("reason") or "PodFailed")
    return diagnosis(
        "unknown", reason, status.get("message") or "the Pod failed; it names no cause", terminal=True
    )
