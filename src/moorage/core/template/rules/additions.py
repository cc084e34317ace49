"""What launch adds where the template is silent, and what it forces. Shown by ``moorage template check``.

Says only; core/workload.py does. ``fs_group`` is the one decision both need.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from moorage.core import owned
from moorage.core.document.nodes import join
from moorage.core.helper_container import main_mounts
from moorage.core.kinds import Json
from moorage.core.session import HelperSpec
from moorage.core.template.rules.pod import SPEC, Pod

ADDED, FORCED = "added", "forced"


@dataclass(frozen=True)
class Addition:
    """One field of the Pod that the template does not decide. ``how``: ADDED or FORCED."""

    field: str
    value: Any
    why: str
    how: str = ADDED


def fs_group(spec: Json, main: Json) -> int | None:
    """The group a claim is given to: the main container's, else the number of its user.

    ``spec`` is the Pod spec, ``main`` its main container, both as JSON. None where neither says which user
    runs, or root does, who can write anywhere.
    """
    security = {**(spec.get("securityContext") or {}), **(main.get("securityContext") or {})}
    user, group = security.get("runAsUser"), security.get("runAsGroup")
    return (user if group is None else group) if user else None


def additions(pod: Pod, template: Json) -> tuple[Addition, ...]:
    """All of them, in the order of a Pod. ``template`` has passed the checks."""
    return (*_metadata(template), *_silent(pod, template["spec"]), *_forced(pod))


def _metadata(template: Json) -> Iterator[Addition]:
    annotations = template["metadata"]["annotations"]
    for key, value in owned.DO_NOT_DISRUPT:
        if key not in annotations:
            field = f"template.metadata.annotations[{key}]"
            yield Addition(field, value, "node autoscalers must not evict a running session")


def _silent(pod: Pod, spec: Json) -> Iterator[Addition]:
    security = spec.get("securityContext") or {}
    main = next(c for c in spec["containers"] if c["name"] == pod.options.main_container)
    group = fs_group(spec, main)
    if pod.options.workspace_mode != "empty_dir" and group is not None and "fsGroup" not in security:
        why = "the main container's user must be able to write the claim"
        yield Addition(f"{SPEC}.securityContext.fsGroup", group, why)
        if "fsGroupChangePolicy" not in security:
            why = "changing the owner of every file at each start would be slow"
            field = f"{SPEC}.securityContext.fsGroupChangePolicy"
            yield Addition(field, owned.FS_GROUP_CHANGE_POLICY, why)
    if "enableServiceLinks" not in spec:
        yield Addition(
            f"{SPEC}.enableServiceLinks", False, "variables of unrelated Services only confuse agents"
        )
    if "automountServiceAccountToken" not in spec:
        yield Addition(f"{SPEC}.automountServiceAccountToken", False, "the agent gets no API token unasked")


def _forced(pod: Pod) -> Iterator[Addition]:
    for label in owned.IDENTITY_LABELS:
        yield Addition(
            f"template.metadata.labels[{label}]", "per session", "ownership is proved by it", FORCED
        )
    label = f"template.metadata.labels[{owned.MANAGED_BY_LABEL}]"
    yield Addition(label, owned.MANAGED_BY, "people see whose Pod it is", FORCED)
    nonce = f"template.metadata.annotations[{owned.NONCE_ANNOTATION}]"
    yield Addition(nonce, "fresh for each create", "an ambiguous create is recognised by it", FORCED)
    system, _, architecture = pod.options.platform.partition("/")
    yield Addition(f"{SPEC}.restartPolicy", "Always", "a crashed container comes back in its Pod", FORCED)
    selectors = ((owned.OS_SELECTOR, system), (owned.ARCH_SELECTOR, architecture))
    for key, value in selectors:
        why = f"the helper is built for {pod.options.platform}"
        yield Addition(f"{SPEC}.nodeSelector[{key}]", value, why, FORCED)
    main = pod.main.path if pod.main else f"{SPEC}.containers"
    env = join(main, f"env[{owned.POD_UID_ENV}]")
    memory = {"emptyDir": {"medium": "Memory", "sizeLimit": owned.RUN_SIZE}}
    volumes: tuple[tuple[str, Any, str], ...] = (
        (owned.OPT_VOLUME, {"emptyDir": {}}, "agentctl and its journal"),
        (owned.RUN_VOLUME, memory, "the bootstrap nonce, never on a disk"),
        (owned.WORKSPACE_VOLUME, pod.options.workspace_mode, "the workspace"),
    )
    for name, source, why in volumes:
        yield Addition(f"{SPEC}.volumes[{name}]", source, why, FORCED)
    reasons = {name: why for name, _, why in volumes}
    for mount in main_mounts(HelperSpec(pod.options.helper_source)):
        field = join(main, f"volumeMounts[{mount['mountPath']}]")
        yield Addition(field, mount["name"], reasons[mount["name"]], FORCED)
    yield Addition(env, "metadata.uid", "agentctl tells which Pod it is in", FORCED)
    why = "the container waits for agentctl, which runs the agent in the workspace"
    yield Addition(join(main, "command"), "Moorage's own", why, FORCED)
    for name in ("args", "workingDir"):
        yield Addition(join(main, name), None, why, FORCED)
    if pod.options.helper_source == "image":
        helper = f"{SPEC}.initContainers[{owned.HELPER_CONTAINER}]"
        yield Addition(helper, "the helper image", "it copies agentctl; small, satisfies restricted", FORCED)
