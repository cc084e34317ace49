"""What may leave this machine in a report of a fault: structure, names and reasons; no value that a person or
a program chose freely. Pure; called by ``cli.bundle``.

A Pod is copied field by field from a list of what is harmless, so a field nobody thought of is left out. Free
text (messages) is kept, with everything that looks like a credential masked, and with it every value that the
Pod or the session is known to hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from moorage.core.kinds import Json

MASK: Final = "***"
_LEAST_KNOWN: Final = 6
"""Characters from which on a known value is masked in texts: shorter ones are in every sentence."""
_LABELS: Final = ("moorage.dev/", "app.kubernetes.io/managed-by", "kubernetes.io/os", "kubernetes.io/arch")
"""Labels and selectors whose values are shown."""

_PATTERNS: Final = (
    (re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s@\"']+@"), rf"\1{MASK}@"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',;]+"), rf"\1 {MASK}"),
    (
        re.compile(
            r"(?i)([\w.-]*(?:token|secret|passw(?:or)?d|passwd|pwd|api[_-]?key|access[_-]?key|credential|authorization"
            r"|private[_-]?key)[\w.-]*[\"']?\s*[=:]\s*)(?:\"[^\"]*\"|'[^']*'|[^\s\"',;&]+)"
        ),
        rf"\1{MASK}",
    ),
    (re.compile(r"-----BEGIN [^-]*-----.*?(?:-----END [^-]*-----|\Z)", re.S), MASK),
    (re.compile(r"\b(?:gh[a-z]_|github_pat_|glpat-|xox[a-z]-|sk-|AKIA|ASIA|eyJ)[\w.-]{8,}"), MASK),
    (re.compile(r"(?=[\w+=-]*[a-z])(?=[\w+=-]*[A-Z])(?=[\w+=-]*\d)[\w+=-]{20,}"), MASK),
)
"""Logins in URLs, headers, assignments, private keys, tokens by their prefix, long random words."""


class Redactor:
    """Masks texts. ``known``: values that must not be shown, wherever they stand."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        values = {value for value in known if len(value) >= _LEAST_KNOWN}
        parts = (re.escape(value) for value in sorted(values, key=len, reverse=True))
        self._known = re.compile("|".join(parts)) if values else None

    def text(self, text: str) -> str:
        """``text`` without what looks like, or is known to be, a credential."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        for pattern, replacement in _PATTERNS:
            text = pattern.sub(replacement, text)
        return text

    def tree(self, value: Any) -> Any:
        """JSON with every text masked; keys stay, and so do numbers."""
        if isinstance(value, dict):
            return {key: self.tree(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.tree(part) for part in value]
        return self.text(value) if isinstance(value, str) else value

    def pod(self, pod: Json) -> Json:
        """What a Pod is made of and how it stands; also for a Pod template (without status)."""
        return {
            "metadata": _metadata(pod.get("metadata") or {}),
            "spec": self.tree(_spec(pod.get("spec") or {})),
            "status": self.tree(_status(pod.get("status") or {})),
        }


def pod_values(pod: Json) -> Iterator[str]:
    """Every value in a Pod or template that somebody chose freely: of variables, commands, annotations."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    yield from map(str, (metadata.get("annotations") or {}).values())
    for key, value in (metadata.get("labels") or {}).items():
        if not key.startswith(_LABELS):
            yield str(value)
    for container in _containers(spec):
        yield from (str(entry.get("value") or "") for entry in container.get("env") or [])
        for words in ("command", "args"):
            yield from (str(word) for word in container.get(words) or [])


def _containers(spec: Json) -> Iterator[Json]:
    for section in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(section) or []


def _metadata(metadata: Json) -> Json:
    shown = _only(metadata, "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp")
    owners = [
        _only(owner, "apiVersion", "kind", "name", "uid") for owner in metadata.get("ownerReferences") or []
    ]
    return {
        **shown,
        "labels": _shown_values(metadata.get("labels") or {}),
        "annotations": dict.fromkeys(metadata.get("annotations") or {}, MASK),
        "finalizers": len(metadata.get("finalizers") or []),
        "ownerReferences": owners,
    }


def _shown_values(labels: Json) -> Json:
    return {key: value if key.startswith(_LABELS) else MASK for key, value in labels.items()}


def _spec(spec: Json) -> Json:
    return {
        **_only(
            spec,
            "nodeName", "restartPolicy", "serviceAccountName", "automountServiceAccountToken",
            "runtimeClassName", "priorityClassName", "schedulerName", "hostNetwork", "hostPID", "hostIPC",
            "shareProcessNamespace", "dnsPolicy", "terminationGracePeriodSeconds", "enableServiceLinks",
        ),
        "nodeSelector": _shown_values(spec.get("nodeSelector") or {}),
        "securityContext": _security(spec.get("securityContext") or {}),
        "imagePullSecrets": len(spec.get("imagePullSecrets") or []),
        "tolerations": len(spec.get("tolerations") or []),
        "volumes": [_volume(volume) for volume in spec.get("volumes") or []],
        "initContainers": [_container(one) for one in spec.get("initContainers") or []],
        "containers": [_container(one) for one in spec.get("containers") or []],
    }  # fmt: skip


def _container(container: Json) -> Json:
    return {
        **_only(container, "name", "image", "imagePullPolicy", "restartPolicy", "tty", "stdin"),
        "command": len(container.get("command") or []),
        "args": len(container.get("args") or []),
        "env": [_variable(entry) for entry in container.get("env") or []],
        "envFrom": len(container.get("envFrom") or []),
        "ports": [
            _only(port, "containerPort", "hostPort", "protocol") for port in container.get("ports") or []
        ],
        "resources": _only(container.get("resources") or {}, "requests", "limits"),
        "securityContext": _security(container.get("securityContext") or {}),
        "volumeMounts": [
            _only(mount, "name", "mountPath", "readOnly") for mount in container.get("volumeMounts") or []
        ],
        "probes": [key for key in ("livenessProbe", "readinessProbe", "startupProbe") if container.get(key)],
    }


def _variable(entry: Json) -> Json:
    """Its name, and what kind of place its value comes from."""
    return {"name": entry.get("name"), "from": sorted(entry.get("valueFrom") or {}) or ["value"]}


def _volume(volume: Json) -> Json:
    claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
    kinds = sorted(key for key in volume if key != "name")
    return {"name": volume.get("name"), "kind": kinds, **({"claimName": claim} if claim else {})}


def _security(context: Json) -> Json:
    """Numbers and switches only."""
    kept = {key: value for key, value in context.items() if isinstance(value, bool | int)}
    return {**kept, **_only(context, "fsGroupChangePolicy")}


def _status(status: Json) -> Json:
    return {
        **_only(status, "phase", "reason", "message", "qosClass", "startTime"),
        "conditions": [
            _only(one, "type", "status", "reason", "message", "lastTransitionTime")
            for one in status.get("conditions") or []
        ],
        **{
            section: [_container_status(one) for one in status.get(section) or []]
            for section in ("initContainerStatuses", "containerStatuses")
        },
    }


def _container_status(status: Json) -> Json:
    return {
        **_only(status, "name", "ready", "started", "restartCount", "image", "imageID"),
        "state": _state(status.get("state") or {}),
        "lastState": _state(status.get("lastState") or {}),
    }


def _state(state: Json) -> Json:
    """A terminated container's message is what the program left: how long it is, and no more."""
    shown = {}
    for kind, detail in state.items():
        shown[kind] = _only(detail or {}, "reason", "exitCode", "signal", "startedAt", "finishedAt")
        message = str((detail or {}).get("message") or "")
        if kind == "waiting":
            shown[kind]["message"] = message
        else:
            shown[kind]["message_length"] = len(message)
    return shown


def _only(source: Json, *keys: str) -> Json:
    return {key: source[key] for key in keys if key in source}
