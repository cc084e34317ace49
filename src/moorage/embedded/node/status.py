"""A Pod's status from what is known of its containers: pure. Called by ``node.worker``; the words are the
kubelet's.

What another component wrote into the status (conditions that are not ours, quality of service) is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from moorage.core.kinds import Json
from moorage.embedded.node.decide import Waiting, is_sidecar
from moorage.embedded.node.environment import NODE_IP
from moorage.embedded.node.records import Attempt, Attempts

OURS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


@dataclass(frozen=True)
class Facts:
    """``ready``, ``started``: by container; ``image_ids``: by reference; ``phase``: where it is settled."""

    attempts: Attempts
    waiting: Mapping[str, Waiting]
    ready: Callable[[str], bool]
    started: Callable[[str], bool]
    image_id: Callable[[str], str]
    phase: str = ""
    sandbox: bool = True


def stamp(seconds: float) -> str:
    """RFC 3339 as the API writes it."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod_status(pod: Json, facts: Facts, now: float) -> Json:
    """The whole new status."""
    spec, old = pod["spec"], pod.get("status") or {}
    init = [_container(pod, each, facts, init=True) for each in spec.get("initContainers") or []]
    main = [_container(pod, each, facts, init=False) for each in spec["containers"]]
    status = {
        **old,
        "phase": facts.phase or _phase(main, init, spec),
        "hostIP": NODE_IP,
        "hostIPs": [{"ip": NODE_IP}],
        "startTime": old.get("startTime") or stamp(now),
        "containerStatuses": main,
    }
    if facts.sandbox:
        status |= {"podIP": NODE_IP, "podIPs": [{"ip": NODE_IP}]}
    if init:
        status["initContainerStatuses"] = init
    if "generation" in pod["metadata"]:
        status["observedGeneration"] = pod["metadata"]["generation"]
    status["conditions"] = _conditions(pod, status, facts, now)
    return status


def failed_status(pod: Json, reason: str, message: str, now: float) -> Json:
    """Of a Pod that the node does not take."""
    return {
        **(pod.get("status") or {}),
        "phase": "Failed",
        "reason": reason,
        "message": message,
        "startTime": stamp(now),
    }


def _phase(main: list[Json], init: list[Json], spec: Json) -> str:
    ordinary = [
        each
        for each, given in zip(init, spec.get("initContainers") or [], strict=True)
        if not is_sidecar(given)
    ]
    if any("terminated" not in each["state"] or each["state"]["terminated"]["exitCode"] for each in ordinary):
        return "Pending"
    never_ran = ("waiting" in each["state"] and not each["lastState"] for each in main)
    return "Pending" if any(never_ran) else "Running"


def _container(pod: Json, container: Json, facts: Facts, *, init: bool) -> Json:
    name = container["name"]
    attempts = facts.attempts.get(name) or []
    last = attempts[-1] if attempts else None
    waiting = facts.waiting.get(name)
    state, last_state = _states(attempts, waiting)
    done = init and not is_sidecar(container)
    running = last is not None and last.running
    status: Json = {
        "name": name,
        "image": container["image"],
        "imageID": facts.image_id(container["image"]) if last else "",
        "restartCount": last.number if last else 0,
        "state": state,
        "lastState": last_state,
        "ready": bool(last and not last.running and last.code == 0)
        if done
        else running and facts.ready(name),
        "started": running and (done or facts.started(name)),
    }
    if last:
        status["containerID"] = f"moorage://{last.id}"
        resources = container.get("resources") or {}
        if resources:
            status["resources"] = resources
        if resources.get("requests"):
            status["allocatedResources"] = resources["requests"]
    if container.get("volumeMounts"):
        status["volumeMounts"] = [_mount(mount) for mount in container["volumeMounts"]]
    return status


def _mount(mount: Json) -> Json:
    found = {"name": mount["name"], "mountPath": mount["mountPath"]}
    if mount.get("readOnly"):
        found |= {"readOnly": True, "recursiveReadOnly": "Disabled"}
    return found


def _states(attempts: Any, waiting: Waiting | None) -> tuple[Json, Json]:
    if not attempts:
        reason = waiting or Waiting("ContainerCreating")
        return {"waiting": _words(reason)}, {}
    last: Attempt = attempts[-1]
    before = {"terminated": ended(attempts[-2])} if len(attempts) > 1 else {}
    if last.running:
        return {"running": {"startedAt": stamp(last.started)}}, before
    if waiting is not None:
        return {"waiting": _words(waiting)}, {"terminated": ended(last)}
    return {"terminated": ended(last)}, before


def _words(waiting: Waiting) -> Json:
    return {"reason": waiting.reason, **({"message": waiting.message} if waiting.message else {})}


def ended(attempt: Attempt) -> Json:
    """How a start ended. One that never began has the epoch as its start, as with a real runtime."""
    found: Json = {
        "exitCode": attempt.code,
        "reason": attempt.why,
        "startedAt": stamp(attempt.started),
        "finishedAt": stamp(attempt.finished),
        "containerID": f"moorage://{attempt.id}",
    }
    return found | ({"message": attempt.message} if attempt.message else {})


def _conditions(pod: Json, status: Json, facts: Facts, now: float) -> list[Json]:
    spec, phase = pod["spec"], status["phase"]
    init = list(zip(spec.get("initContainers") or [], status.get("initContainerStatuses") or [], strict=True))
    initialized = all(each["started"] if is_sidecar(given) else each["ready"] for given, each in init)
    initialized = initialized or any(facts.attempts.get(each["name"]) for each in spec["containers"])
    unready = [each["name"] for each in status["containerStatuses"] if not each["ready"]]
    over = phase in ("Succeeded", "Failed")
    why: tuple[str, str] = ("", "")
    if over:
        why = ("PodCompleted", "") if phase == "Succeeded" else ("PodFailed", "")
    elif unready:
        why = ("ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]")
    ready = not unready and not over
    gates = _gates(pod)
    missing = (
        ("", "") if ready and gates is None else (("ReadinessGatesNotReady", gates or "") if ready else why)
    )
    incomplete = " ".join(given["name"] for given, each in init if not each["ready"])
    not_initialized = ("ContainersNotInitialized", f"containers with incomplete status: [{incomplete}]")
    wanted = {
        "PodReadyToStartContainers": (facts.sandbox and not over, ("", "")),
        "Initialized": (initialized, ("", "") if initialized else not_initialized),
        "Ready": (ready and gates is None, missing),
        "ContainersReady": (ready, why),
    }
    old = {each["type"]: each for each in (pod.get("status") or {}).get("conditions") or []}
    kept = [each for name, each in old.items() if name not in OURS]
    generation = pod["metadata"].get("generation")
    return [
        *(
            _condition(name, holds, words, old.get(name), generation, now)
            for name, (holds, words) in wanted.items()
        ),
        *kept,
    ]


def _gates(pod: Json) -> str | None:
    conditions = {each["type"]: each["status"] for each in (pod.get("status") or {}).get("conditions") or []}
    for gate in pod["spec"].get("readinessGates") or []:
        if conditions.get(gate["conditionType"]) != "True":
            return f'the status of pod readiness gate "{gate["conditionType"]}" is not "True"'
    return None


def _condition(
    name: str, holds: bool, words: tuple[str, str], old: Json | None, generation: int | None, now: float
) -> Json:
    value = "True" if holds else "False"
    since = old["lastTransitionTime"] if old and old.get("status") == value else stamp(now)
    found: Json = {"type": name, "status": value, "lastProbeTime": None, "lastTransitionTime": since}
    if generation is not None:
        found["observedGeneration"] = generation
    if not holds and words[0]:
        found |= {"reason": words[0]} | ({"message": words[1]} if words[1] else {})
    return found
