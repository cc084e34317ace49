"""Names that Moorage claims inside a Pod, once for everybody who needs to agree on them.

Used by the template rules (which refuse them to authors), the workload builder (which writes them), the
comparison after a create, and the engine. Constants and one predicate only; decides nothing else.
"""

from __future__ import annotations

from typing import Final

MAIN_CONTAINER: Final = "agent"
"""Name of the main container where a profile does not say otherwise."""

RESERVED_PREFIX: Final = "moorage-"
"""Containers and volumes whose name starts so are ours."""

HELPER_CONTAINER: Final = "moorage-helper"
OPT_VOLUME: Final = "moorage-opt"
RUN_VOLUME: Final = "moorage-run"
WORKSPACE_VOLUME: Final = "moorage-workspace"

OPT_PATH: Final = "/opt/moorage"
RUN_PATH: Final = "/run/moorage"
WORKSPACE_PATH: Final = "/workspace"
STATE_FOLDER: Final = ".moorage-state"
"""In the workspace: what agents keep of their conversations. Git is told to leave out names like it."""
OWNED_PATHS: Final = (OPT_PATH, RUN_PATH, WORKSPACE_PATH)

RUN_SIZE: Final = "1Mi"
"""Size of the memory volume at RUN_PATH, a Kubernetes quantity."""

AGENTCTL_PORT: Final = 8765
"""TCP port of agentctl on the Pod's loopback."""

KEY_DOMAIN: Final = "moorage.dev"
KEY_PREFIX: Final = "moorage.dev/"
"""Labels and annotations whose key starts so are ours."""

INSTALL_LABEL: Final = "moorage.dev/install-id"
EXECUTOR_LABEL: Final = "moorage.dev/executor-id"
PROFILE_LABEL: Final = "moorage.dev/profile-id"
TASK_LABEL: Final = "moorage.dev/task-id"
SESSION_LABEL: Final = "moorage.dev/session-id"
IDENTITY_LABELS: Final = (INSTALL_LABEL, EXECUTOR_LABEL, PROFILE_LABEL, TASK_LABEL, SESSION_LABEL)

MANAGED_BY_LABEL: Final = "app.kubernetes.io/managed-by"
MANAGED_BY: Final = "moorage"

NONCE_ANNOTATION: Final = "moorage.dev/create-nonce"
FENCE_ANNOTATION: Final = "moorage.dev/fence"

ENV_PREFIXES: Final = ("AGENTCTL_", "MOORAGE_")
"""Environment variables of the main container whose name starts so are ours."""

POD_UID_ENV: Final = "MOORAGE_POD_UID"

OS_SELECTOR: Final = "kubernetes.io/os"
ARCH_SELECTOR: Final = "kubernetes.io/arch"

FS_GROUP_CHANGE_POLICY: Final = "OnRootMismatch"

DO_NOT_DISRUPT: Final = (
    ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
    ("karpenter.sh/do-not-disrupt", "true"),
)
"""Annotations (key, value) that ask node autoscalers to leave a session's Pod alone."""


def is_owned_key(key: str) -> bool:
    """Is this label or annotation key ours alone? Covers subdomains of KEY_DOMAIN too."""
    domain, slash, _ = key.partition("/")
    return bool(slash) and (domain == KEY_DOMAIN or domain.endswith("." + KEY_DOMAIN))
