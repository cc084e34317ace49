"""Why a container is not running: waiting reasons, failed starts, crashes. Called by ``diagnosis.pod`` only.

Judges one container at a time; which of a Pod's containers matters is the caller's choice.
"""

from __future__ import annotations

import re

from moorage.core import owned
from moorage.core.diagnosis.catalogue import diagnosis
from moorage.core.pod_view import ContainerView, Termination
from moorage.core.session import Diagnosis

CRASH_LIMIT = 3
"""Restarts after which a crash loop counts as terminal: the kubelet's back-off has passed a minute."""

_USE_IMAGE = "the image needs a shell for --helper exec; use --helper image, which needs none"
_START_FAILURES: tuple[tuple[str, str, str, str], ...] = (
    (r"exec format error", "platform", "ExecFormatError", ""),
    (r"permission denied|operation not permitted", "noexec", "PermissionDenied", ""),
    (
        r"executable file not found|no such file or directory|not found in \$PATH",
        "crash",
        "CommandNotFound",
        "",
    ),
)
_ENDED_WITHOUT_VERDICT = frozenset({"ContainerStatusUnknown"})
_CONFIG_REASONS = frozenset({"CreateContainerConfigError", "InvalidConfiguration"})
_START_REASONS = frozenset({"CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun"})


def diagnose_container(container: ContainerView, *, is_main: bool) -> Diagnosis | None:
    """None while the container runs, ended well, or is simply not started yet. Image faults are not its
    business (``diagnosis.images``)."""
    who = f"{container.kind} {container.name}"
    if container.reason in _CONFIG_REASONS:
        return diagnosis("config", container.reason, f"{who}: {container.message}")
    if container.reason in _START_REASONS and container.state == "waiting":
        return _start_failure(container, container.message, is_main=is_main)
    ended = container.terminated or container.last_terminated
    looping = container.reason == "CrashLoopBackOff" or container.terminated is not None
    if ended is None or not looping:
        return None
    if ended.reason in _ENDED_WITHOUT_VERDICT:
        return diagnosis("node_lost", ended.reason, f"{who}: the node lost track of it. {ended.message}")
    if ended.reason == "OOMKilled":
        message = f"{who} was killed: it reached its memory limit"
        return diagnosis("oom", "OOMKilled", message, terminal=container.restart_count >= CRASH_LIMIT)
    if ended.reason in _START_REASONS:
        return _start_failure(container, ended.message, is_main=is_main)
    if ended.exit_code == 0 and not is_main:
        return None
    return _crash(container, ended, is_main=is_main)


def _start_failure(container: ContainerView, message: str, *, is_main: bool) -> Diagnosis:
    who = f"{container.kind} {container.name}"
    for pattern, category, reason, hint in _START_FAILURES:
        if re.search(pattern, message):
            if category == "crash" and is_main and owned.OPT_PATH not in message:
                reason, hint = "NoShell", _USE_IMAGE
            return diagnosis(category, reason, f"{who} cannot start: {message}", hint=hint, terminal=True)
    if re.search(r"not a directory|mount|is not shared", message):
        return diagnosis("config", "MountFailed", f"{who} cannot start: {message}")
    return diagnosis("crash", "StartFailed", f"{who} cannot start: {message}")


def _crash(container: ContainerView, ended: Termination, *, is_main: bool) -> Diagnosis:
    who = f"{container.kind} {container.name}"
    how = f"signal {ended.signal}" if ended.signal else f"exit code {ended.exit_code}"
    if ended.exit_code is None and not ended.signal:
        how = "unknown exit code"
    message = f"{who} ended: {how}"
    if ended.message:
        message += f"; its last words: {ended.message}"
    hint = f"look at its last lines with: moorage logs --container {container.name}"
    category, reason = "crash", "CrashLoopBackOff" if container.reason == "CrashLoopBackOff" else "Exited"
    if is_main and ended.exit_code == 126:
        category, reason, hint = "noexec", "PermissionDenied", ""
    elif is_main and ended.exit_code == 127:
        reason, hint = "CommandNotFound", _USE_IMAGE
    terminal = container.restart_count >= CRASH_LIMIT
    if re.search(r"exec format error", ended.message):
        return diagnosis("platform", "ExecFormatError", message, terminal=True)
    return diagnosis(category, reason, message, hint=hint, terminal=terminal)
