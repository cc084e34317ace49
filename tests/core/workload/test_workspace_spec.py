"""A workspace policy says only what its mode can mean."""

from __future__ import annotations

import pytest

from moorage.core.session import WorkspaceMode, WorkspaceSpec
from moorage.core.workspace_spec import check_workspace

MANAGED, EXISTING, EMPTY = WorkspaceMode.MANAGED_PVC, WorkspaceMode.EXISTING_CLAIM, WorkspaceMode.EMPTY_DIR


@pytest.mark.parametrize(
    "spec",
    [
        WorkspaceSpec(MANAGED),
        WorkspaceSpec(MANAGED, size="1.5Gi", storage_class="fast.ssd", access_modes=("ReadWriteMany",)),
        WorkspaceSpec(MANAGED, access_modes=("ReadWriteOncePod",)),
        WorkspaceSpec(EXISTING, claim_name="team.data"),
        WorkspaceSpec(EMPTY),
    ],
)
def test_sound_policies_pass(spec: WorkspaceSpec) -> None:
    assert check_workspace(spec) == []


@pytest.mark.parametrize(
    ("spec", "field", "code"),
    [
        (WorkspaceSpec(EMPTY, size="1Gi"), "workspace.size", "workspace_field_of_other_mode"),
        (WorkspaceSpec(EMPTY, claim_name="a"), "workspace.claim_name", "workspace_field_of_other_mode"),
        (WorkspaceSpec(EXISTING, claim_name="a", storage_class="s"), "workspace.storage_class",
         "workspace_field_of_other_mode"),
        (WorkspaceSpec(MANAGED, claim_name="a"), "workspace.claim_name", "workspace_field_of_other_mode"),
        (WorkspaceSpec(EXISTING), "workspace.claim_name", "workspace_claim_missing"),
        (WorkspaceSpec(EXISTING, claim_name="Team/x"), "workspace.claim_name", "workspace_name"),
        (WorkspaceSpec(MANAGED, storage_class="-x"), "workspace.storage_class", "workspace_name"),
        (WorkspaceSpec(MANAGED, size="1gb"), "workspace.size", "workspace_size"),
        (WorkspaceSpec(MANAGED, size="0"), "workspace.size", "workspace_size"),
        (WorkspaceSpec(MANAGED, size="-1Gi"), "workspace.size", "workspace_size"),
        (WorkspaceSpec(MANAGED, size="1m"), "workspace.size", "workspace_size"),
        (WorkspaceSpec(MANAGED, access_modes=("ReadOnlyMany",)), "workspace.access_modes[0]",
         "workspace_access_mode"),
        (WorkspaceSpec(MANAGED, access_modes=("ReadWriteOnce", "ReadWriteOnce")), "workspace.access_modes[1]",
         "workspace_access_mode"),
        (WorkspaceSpec(MANAGED, access_modes=("ReadWriteOncePod", "ReadWriteMany")), "workspace.access_modes",
         "workspace_access_mode"),
    ],
)  # fmt: skip
def test_faults_are_named_by_field_and_code(spec: WorkspaceSpec, field: str, code: str) -> None:
    problems = check_workspace(spec)
    assert [(p.field, p.code) for p in problems] == [(field, code)]
    assert problems[0].hint
