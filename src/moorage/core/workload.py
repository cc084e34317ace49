"""The Pod and the claim of a session, built from its launch snapshot.

Called by ``engine`` before a create and for the comparison after it. Adds and forces what docs/templates.md
says and keeps everything else as its author wrote it. Never reads a profile: a replacement Pod comes from the
snapshot alone. Pure: the nonce is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy

from moorage.core import owned
from moorage.core.errors import UsageError
from moorage.core.helper_container import IMAGE_ENTRYPOINT, helper_container, main_mounts
from moorage.core.kinds import Json
from moorage.core.session import Identity, Inventory, LaunchSnapshot, WorkspaceMode
from moorage.core.workspace_spec import DEFAULT_ACCESS_MODES, DEFAULT_SIZE

ARCHITECTURES = {"linux/amd64": "amd64", "linux/arm64": "arm64"}
"""Platform → value of the ``kubernetes.io/arch`` label."""


def expected_node_arch(platform: str) -> str:
    """The architecture a node must have for ``platform``. Raises UsageError for one without a helper."""
    if platform not in ARCHITECTURES:
        raise UsageError(
            f"platform {platform!r} is not supported",
            field="platform",
            hint="use " + " or ".join(ARCHITECTURES),
        )
    return ARCHITECTURES[platform]


def session_labels(identity: Identity) -> dict[str, str]:
    """The labels that every object of a session carries."""
    return {
        owned.INSTALL_LABEL: identity.install_id,
        owned.EXECUTOR_LABEL: identity.executor_id,
        owned.PROFILE_LABEL: identity.profile_id,
        owned.TASK_LABEL: identity.task_id,
        owned.SESSION_LABEL: identity.session_id,
        owned.MANAGED_BY_LABEL: owned.MANAGED_BY,
    }


def pod_labels(identity: Identity, snapshot: LaunchSnapshot) -> dict[str, str]:
    """The labels of a session's Pod: those of its template, and ours."""
    metadata = pod_template(snapshot).get("metadata") or {}
    return {**(metadata.get("labels") or {}), **session_labels(identity)}


def session_claim(identity: Identity, inventory: Inventory, nonce: str) -> Json:
    """The claim of mode managed_pvc. It has no ownerReference: nothing but we may ever delete it."""
    workspace = inventory.snapshot.workspace
    spec: Json = {
        "accessModes": list(workspace.access_modes or DEFAULT_ACCESS_MODES),
        "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": workspace.size or DEFAULT_SIZE}},
    }
    if workspace.storage_class:
        spec["storageClassName"] = workspace.storage_class
    if inventory.clone_of:
        spec["dataSource"] = {"kind": "PersistentVolumeClaim", "name": inventory.clone_of}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": inventory.claim_name,
            "namespace": inventory.namespace,
            "labels": session_labels(identity),
            "annotations": {owned.NONCE_ANNOTATION: nonce},
        },
        "spec": spec,
    }


def session_pod(identity: Identity, inventory: Inventory, nonce: str, *, entrypoint: Sequence[str]) -> Json:
    """The session's Pod. ``entrypoint``: the main container's command where the helper comes by exec.

    Raises UsageError when the snapshot has no main container or no supported platform; rules have refused
    both long before a launch.
    """
    snapshot = inventory.snapshot
    template = deepcopy(pod_template(snapshot))
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    for add in ADDITIONS:
        add(snapshot, metadata, spec)
    _force_scheduling(snapshot, spec)
    _force_volumes(inventory, spec)
    _force_main(snapshot, spec, entrypoint)
    _force_helper(snapshot, spec)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": inventory.pod_name,
            "namespace": inventory.namespace,
            "labels": pod_labels(identity, snapshot),
            "annotations": {**(metadata.get("annotations") or {}), owned.NONCE_ANNOTATION: nonce},
        },
        "spec": spec,
    }


def pod_template(snapshot: LaunchSnapshot) -> Json:
    """The ``metadata`` and ``spec`` of the Pod to be, whether the snapshot kept the whole PodTemplate
    document or its ``template`` alone."""
    template: Json = snapshot.template.get("template") or snapshot.template
    return template


def find_container(spec: Json, name: str) -> Json | None:
    """The ordinary container of that name. Never by position: admission may put a sidecar first."""
    for container in spec.get("containers") or []:
        if container.get("name") == name:
            found: Json = container
            return found
    return None


def _add_defaults(snapshot: LaunchSnapshot, metadata: Json, spec: Json) -> None:
    for name in ("enableServiceLinks", "automountServiceAccountToken"):
        if spec.get(name) is None:
            spec[name] = False


def _add_fs_group(snapshot: LaunchSnapshot, metadata: Json, spec: Json) -> None:
    # Most drivers make volumes root 0755; without a group, a non-root agent could not write its workspace.
    pod_context = spec.get("securityContext") or {}
    if snapshot.workspace.mode is WorkspaceMode.EMPTY_DIR or pod_context.get("fsGroup") is not None:
        return
    main_context = (find_container(spec, snapshot.main_container) or {}).get("securityContext") or {}
    user = main_context.get("runAsUser", pod_context.get("runAsUser"))
    group = main_context.get("runAsGroup", pod_context.get("runAsGroup"))
    if not user:
        return
    added: Json = {"fsGroup": user if group is None else group}
    if pod_context.get("fsGroupChangePolicy") is None:
        added["fsGroupChangePolicy"] = owned.FS_GROUP_CHANGE_POLICY
    spec["securityContext"] = {**pod_context, **added}


def _add_do_not_disrupt(snapshot: LaunchSnapshot, metadata: Json, spec: Json) -> None:
    annotations = dict(metadata.get("annotations") or {})
    metadata["annotations"] = {**dict(owned.DO_NOT_DISRUPT), **annotations}


ADDITIONS: tuple[Callable[[LaunchSnapshot, Json, Json], None], ...] = (
    _add_defaults,
    _add_fs_group,
    _add_do_not_disrupt,
)
"""What is added where the template is silent; each changes its arguments. ``template check`` shows the same
(``core.template.rules.additions``; a test holds the two together)."""


def _force_scheduling(snapshot: LaunchSnapshot, spec: Json) -> None:
    spec["restartPolicy"] = "Always"
    spec["nodeSelector"] = {
        **(spec.get("nodeSelector") or {}),
        owned.OS_SELECTOR: "linux",
        owned.ARCH_SELECTOR: expected_node_arch(snapshot.platform),
    }


def _force_volumes(inventory: Inventory, spec: Json) -> None:
    mode = inventory.snapshot.workspace.mode
    workspace: Json = {"name": owned.WORKSPACE_VOLUME}
    if mode is WorkspaceMode.EMPTY_DIR:
        workspace["emptyDir"] = {}
    else:
        given = inventory.snapshot.workspace.claim_name
        claim = given if mode is WorkspaceMode.EXISTING_CLAIM else inventory.claim_name
        workspace["persistentVolumeClaim"] = {"claimName": claim}
    spec["volumes"] = [
        *(spec.get("volumes") or []),
        {"name": owned.OPT_VOLUME, "emptyDir": {}},
        {"name": owned.RUN_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": owned.RUN_SIZE}},
        workspace,
    ]


def _force_main(snapshot: LaunchSnapshot, spec: Json, entrypoint: Sequence[str]) -> None:
    main = find_container(spec, snapshot.main_container)
    if main is None:
        raise UsageError(
            f"the template has no container {snapshot.main_container!r}",
            field="template.spec.containers",
            hint="name the main container with --main-container",
        )
    main["command"] = list(IMAGE_ENTRYPOINT if snapshot.helper.source == "image" else entrypoint)
    main.pop("args", None)
    main.pop("workingDir", None)
    pod_uid = {"name": owned.POD_UID_ENV, "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}
    main["env"] = [*(main.get("env") or []), pod_uid]
    main["volumeMounts"] = [*(main.get("volumeMounts") or []), *main_mounts(snapshot.helper)]


def _force_helper(snapshot: LaunchSnapshot, spec: Json) -> None:
    if snapshot.helper.source != "image":
        return
    helper = helper_container(snapshot.helper, spec.get("securityContext") or {})
    spec["initContainers"] = [helper, *(spec.get("initContainers") or [])]
