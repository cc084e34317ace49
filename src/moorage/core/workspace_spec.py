"""Is a workspace policy sound? Called at launch and when a profile is saved, before any API call.

Checks the fields of ``WorkspaceSpec`` against its mode. Never asks the cluster: whether a claim or class
exists is learned by the strict dry run and by ``core.diagnosis``.
"""

from __future__ import annotations

from moorage.core.errors import Problem
from moorage.core.names import is_object_name
from moorage.core.quantities import parse_quantity
from moorage.core.session import WorkspaceMode, WorkspaceSpec

DEFAULT_SIZE = "10Gi"
DEFAULT_ACCESS_MODES = ("ReadWriteOnce",)

ACCESS_MODES = ("ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany")
"""ReadOnlyMany is missing on purpose: an agent must be able to write its workspace."""

_FIELDS = {
    WorkspaceMode.MANAGED_PVC: ("size", "storage_class", "access_modes"),
    WorkspaceMode.EXISTING_CLAIM: ("claim_name",),
    WorkspaceMode.EMPTY_DIR: (),
}


def check_workspace(spec: WorkspaceSpec) -> list[Problem]:
    """Every fault of ``spec``: fields of another mode, bad sizes, names and access modes."""
    return [*_fields_of_other_modes(spec), *_size(spec), *_access_modes(spec), *_names(spec)]


def _fields_of_other_modes(spec: WorkspaceSpec) -> list[Problem]:
    problems = []
    for owner, fields in _FIELDS.items():
        for name in fields:
            if getattr(spec, name) and owner is not spec.mode:
                problems.append(
                    Problem(
                        f"workspace.{name}",
                        "workspace_field_of_other_mode",
                        f"{name} belongs to mode {owner.value}, but the mode is {spec.mode.value}",
                        f"remove {name}, or set the mode to {owner.value}",
                    )
                )
    return problems


def _size(spec: WorkspaceSpec) -> list[Problem]:
    if spec.mode is not WorkspaceMode.MANAGED_PVC or not spec.size:
        return []
    amount = parse_quantity(spec.size)
    if amount is None:
        said = f"{spec.size!r} is not a Kubernetes quantity"
    elif amount <= 0 or amount.denominator != 1:
        said = f"{spec.size!r} is not a positive whole number of bytes"
    else:
        return []
    return [Problem("workspace.size", "workspace_size", said, "write it like 10Gi or 500Mi")]


def _access_modes(spec: WorkspaceSpec) -> list[Problem]:
    if spec.mode is not WorkspaceMode.MANAGED_PVC:
        return []
    problems = []
    for number, mode in enumerate(spec.access_modes):
        path = f"workspace.access_modes[{number}]"
        if mode not in ACCESS_MODES:
            known = "one of " + ", ".join(ACCESS_MODES)
            said = f"{mode!r} does not let an agent write its workspace"
            problems.append(Problem(path, "workspace_access_mode", said, known))
        elif mode in spec.access_modes[:number]:
            problems.append(Problem(path, "workspace_access_mode", f"{mode} is listed twice", "list it once"))
    if "ReadWriteOncePod" in spec.access_modes and len(spec.access_modes) > 1:
        said = "ReadWriteOncePod cannot be combined with another access mode"
        problems.append(Problem("workspace.access_modes", "workspace_access_mode", said, "list it alone"))
    return problems


def _names(spec: WorkspaceSpec) -> list[Problem]:
    problems = []
    for name in ("storage_class", "claim_name"):
        value = getattr(spec, name)
        if value and not is_object_name(value):
            said = f"{value!r} cannot name a Kubernetes object"
            hint = "use a-z, 0-9, '-' and '.', at most 253 characters"
            problems.append(Problem(f"workspace.{name}", "workspace_name", said, hint))
    if spec.mode is WorkspaceMode.EXISTING_CLAIM and not spec.claim_name:
        said = "mode existing_claim needs the name of a claim"
        problems.append(Problem("workspace.claim_name", "workspace_claim_missing", said, "give --claim NAME"))
    return problems
