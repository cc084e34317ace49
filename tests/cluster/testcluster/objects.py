"""Short ways to write the Kubernetes objects that tests create.

Called by tests. Plain dicts, nothing hidden: what is not given is left to the API server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Object = dict[str, Any]
BUSYBOX = "localhost/busybox:test"
TOLERATE_KWOK = [{"key": "kwok", "operator": "Exists"}]


def pod(
    namespace: str,
    name: str,
    command: Sequence[str] = ("/bin/testagent", "wait"),
    *,
    image: str = BUSYBOX,
    claim: str = "",
    device: str = "",
    container: Object | None = None,
    **spec: Any,
) -> Object:
    """A Pod with one container `main`; `claim` is mounted at /workspace, `device` appears as /dev/xvda."""
    main: Object = {"name": "main", "image": image, "command": list(command), **(container or {})}
    if claim:
        main["volumeMounts"] = [{"name": "data", "mountPath": "/workspace"}]
    if device:
        main["volumeDevices"] = [{"name": "data", "devicePath": "/dev/xvda"}]
    if claim or device:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim or device}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [main], "terminationGracePeriodSeconds": 0, **spec},
    }


def on_kwok(arch: str) -> Object:
    """Pod spec fields that put it on a fake node of that architecture."""
    selector = {"type": "kwok", "kubernetes.io/arch": arch}
    return {"nodeSelector": selector, "tolerations": TOLERATE_KWOK}


def claim(namespace: str, name: str, storage_class: str, size: str = "16Mi", **spec: Any) -> Object:
    """A ReadWriteOnce PersistentVolumeClaim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": size}},
            **spec,
        },
    }
