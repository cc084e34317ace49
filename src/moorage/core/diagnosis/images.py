"""Why an image cannot be had. Called by ``diagnosis.containers`` only. The kubelet's reasons are few, so
its message tells not found from not allowed."""

from __future__ import annotations

import re

from moorage.core.diagnosis.catalogue import diagnosis
from moorage.core.pod_view import ContainerView
from moorage.core.session import Diagnosis

REASONS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "ErrImageNeverPullPolicy",
        "InvalidImageName",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)

PULL_GRACE = 60.0
"""Seconds for which a failing pull may still come right: secrets and images arrive late."""

_MESSAGES: tuple[tuple[str, str, str], ...] = (
    (r"(?i)no matching manifest|no match for platform", "PlatformMissing", ""),
    (
        r"(?i)unauthorized|authentication required|denied|forbidden|\b40[13]\b|credentials",
        "PullDenied",
        "give the template imagePullSecrets that may pull this image, and check its spelling",
    ),
    (
        r"(?i)not found|manifest unknown|name unknown|\b404\b|does not exist",
        "ImageNotFound",
        "check name and tag, and that the image was pushed",
    ),
    (r"(?i)toomanyrequests|rate limit|\b429\b", "RateLimited", "pull as a signed-in user, or use a mirror"),
    (
        r"(?i)no such host|dial tcp|timeout|timed out|connection|tls|x509",
        "RegistryUnreachable",
        "check that the node can reach the registry and trusts its certificate",
    ),
)


def diagnose_image(container: ContainerView, pull_error: str, failing_for: float) -> Diagnosis:
    """``pull_error``: the runtime's own words from an event ("" when unknown), for back-off messages that
    name no cause. ``failing_for``: seconds since the first failed pull."""
    said = container.message
    cause = pull_error if container.reason == "ImagePullBackOff" and pull_error else said
    who = f"{container.kind} {container.name}"
    if container.reason == "InvalidImageName":
        hint = "write registry/name:tag or registry/name@sha256:digest"
        return diagnosis("image", "InvalidImageName", f"{who}: {cause}", hint=hint, terminal=True)
    if container.reason.startswith("ErrImageNeverPull"):
        hint = "imagePullPolicy is Never and the node lacks the image: load it there, or change the policy"
        return diagnosis("image", "ErrImageNeverPull", f"{who}: {cause}", hint=hint, terminal=True)
    terminal = failing_for >= PULL_GRACE
    for pattern, reason, hint in _MESSAGES:
        if re.search(pattern, cause):
            category = "platform" if reason == "PlatformMissing" else "image"
            return diagnosis(category, reason, f"{who}: {cause}", hint=hint, terminal=terminal)
    return diagnosis(
        "image", container.reason, f"{who}: {cause or 'the image cannot be pulled'}", terminal=terminal
    )
