"""How agentctl comes into a Pod from a helper image: our init container and the main container's mounts.

Called by ``core.workload`` only. With ``helper.source: exec`` there is no container, and agentctl is
uploaded to the same volume instead. Decides nothing about the rest of the Pod.
"""

from __future__ import annotations

from moorage.core import owned
from moorage.core.bootstrap import AGENTCTL
from moorage.core.kinds import Json
from moorage.core.session import HelperSpec

IMAGE_ENTRYPOINT = (AGENTCTL, "wait")
"""The main container's command where the helper came from an image; needs no shell."""

IMAGE_BINARY = "/agentctl"
"""Where agentctl lies in the helper image."""

JOURNAL_DIR = "journal"
"""Subdirectory of the helper volume that agentctl writes its journal to."""

_NOBODY = 65532


def main_mounts(helper: HelperSpec) -> list[Json]:
    """The mounts of the main container, in the order they are made."""
    mounts: list[Json] = [{"name": owned.OPT_VOLUME, "mountPath": owned.OPT_PATH}]
    if helper.source == "image":
        # The binary cannot be changed from inside; only the journal below it can. The kubelet makes the
        # subPath directory in the volume, so the nested mount point exists on the read-only mount.
        mounts[0]["readOnly"] = True
        journal = {"mountPath": f"{owned.OPT_PATH}/{JOURNAL_DIR}", "subPath": JOURNAL_DIR}
        mounts.append({"name": owned.OPT_VOLUME, **journal})
    return [
        *mounts,
        {"name": owned.RUN_VOLUME, "mountPath": owned.RUN_PATH},
        {"name": owned.WORKSPACE_VOLUME, "mountPath": owned.WORKSPACE_PATH},
    ]


def helper_container(helper: HelperSpec, pod_security: Json) -> Json:
    """The init container that copies agentctl. It satisfies Pod Security *restricted* whatever the rest of
    the Pod does, and states its resources so that quotas and limit ranges leave it alone."""
    security: Json = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    if not pod_security.get("runAsUser"):
        security["runAsUser"] = _NOBODY
    return {
        "name": owned.HELPER_CONTAINER,
        "image": helper.image,
        "command": [IMAGE_BINARY, "install", AGENTCTL],
        "resources": {
            "requests": {"cpu": "10m", "memory": "16Mi"},
            "limits": {"cpu": "200m", "memory": "64Mi"},
        },
        "securityContext": security,
        # What it says when it cannot run (a wrong architecture, a full disk) reaches the diagnosis.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": owned.OPT_VOLUME, "mountPath": owned.OPT_PATH}],
    }
