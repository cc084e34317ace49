"""Executors, profiles and policies."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from moorage.core.service.records import AuthMode, Verdict
from moorage.core.session import WorkspaceMode
from moorage.server.wire.base import Name, Wire

Text = Annotated[str, Field(max_length=4096)]
Template = Annotated[str, Field(max_length=256 * 1024)]


class ExecutorSpecWire(Wire):
    """See ``records.ExecutorSpec``. Never holds a credential: the kubeconfig is read where it lies."""

    type: Annotated[str, Field(pattern="^k8s$")] = "k8s"
    auth_mode: AuthMode
    namespace: Annotated[str, Field(max_length=63)]
    kubeconfig_path: Text = ""
    kube_context: Text = ""
    request_timeout_seconds: Annotated[int, Field(ge=1, le=300)] = 30


class ExecutorBody(Wire):
    name: Name
    spec: ExecutorSpecWire


class ExecutorPatch(Wire):
    """What is left out stays; ``spec`` replaces all of it."""

    name: Name | None = None
    spec: ExecutorSpecWire | None = None


class ExecutorShown(Wire):
    id: str
    name: str
    spec: ExecutorSpecWire
    created_at: float
    updated_at: float
    version: int
    built_in: bool


class WorkspaceWire(Wire):
    mode: WorkspaceMode = WorkspaceMode.MANAGED_PVC
    size: Annotated[str, Field(max_length=40)] = ""
    storage_class: Annotated[str, Field(max_length=253)] = ""
    access_modes: tuple[str, ...] = ()
    claim_name: Annotated[str, Field(max_length=253)] = ""


class HelperWire(Wire):
    source: Annotated[str, Field(pattern="^(exec|image)$")] = "exec"
    image: Text = ""


class EnvEntryWire(Wire):
    name: Annotated[str, Field(min_length=1, max_length=256)]
    value: Annotated[str, Field(max_length=128 * 1024)] = ""
    secret: Text = ""


class InjectedFileWire(Wire):
    path: Text
    content: Annotated[str, Field(max_length=256 * 1024)] = ""
    secret: Text = ""
    mode: Annotated[int, Field(ge=0, le=0o777)] = 0o600


class ProfileSpecWire(Wire):
    """See ``records.ProfileSpec``."""

    pod_template_yaml: Template
    platform: Annotated[str, Field(pattern="^linux/(amd64|arm64)$")] = "linux/amd64"
    main_container: Annotated[str, Field(max_length=63)] = "agent"
    workspace: WorkspaceWire = WorkspaceWire()
    helper: HelperWire = HelperWire()
    preset: Annotated[str, Field(max_length=63)] = ""
    command: tuple[Text, ...] = ()
    env: tuple[EnvEntryWire, ...] = ()
    files: tuple[InjectedFileWire, ...] = ()
    script: Annotated[str, Field(max_length=64 * 1024)] = ""
    pool: Annotated[str, Field(max_length=63)] = ""
    enabled: bool = True


class ProfileBody(Wire):
    name: Name
    spec: ProfileSpecWire


class ProfilePatch(Wire):
    """What is left out stays; ``spec`` replaces all of it."""

    name: Name | None = None
    spec: ProfileSpecWire | None = None


class ProfileShown(Wire):
    id: str
    executor_id: str
    name: str
    spec: ProfileSpecWire
    created_at: float
    updated_at: float
    version: int


class PolicyBody(Wire):
    verdict: Verdict


class PolicyShown(Wire):
    id: str
    verdict: Verdict
    updated_at: float
    version: int
