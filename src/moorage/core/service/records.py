"""The rows of the service, as everybody above the store sees them.

Stored as JSON by ``store``; decided upon by ``core.service.checks`` and ``core.service.access``. None holds a
credential: passwords and tokens are kept as hashes by the store alone, values of secrets stand encrypted
beside it and are referred to as ``moorage://NAME`` or ``k8s-secret://NAME#KEY``.
Times are seconds since the epoch by the database's clock.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

import msgspec

from moorage.core.session import HelperSpec, WorkspaceMode, WorkspaceSpec


class AuthMode(StrEnum):
    """How an executor proves who we are to its API server."""

    KUBECONFIG = "kubeconfig"
    IN_CLUSTER = "in_cluster"


class ExecutorSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One API server and one namespace. ``kubeconfig_path``: absolute, and only with auth mode kubeconfig;
    ``request_timeout_seconds``: 1 to 300. What the file holds is read at each connection, never kept."""

    auth_mode: AuthMode
    namespace: str
    kubeconfig_path: str = ""
    kube_context: str = ""
    request_timeout_seconds: int = 30
    type: str = "k8s"


class EnvEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable of the agent: a plain ``value``, or a ``secret`` reference; not both."""

    name: str
    value: str = ""
    secret: str = ""


class InjectedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that is put below /workspace before the agent starts: plain ``content`` or a ``secret``."""

    path: str
    content: str = ""
    secret: str = ""
    mode: int = 0o600


class ProfileSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One reviewed template and how agents start from it. ``pod_template_yaml``: exactly one strict
    core/v1 PodTemplate; ``preset``: of an agent, or ``command``; ``script``: run by ``sh`` in the workspace
    before each start of the agent ("" none)."""

    pod_template_yaml: str
    platform: str = "linux/amd64"
    main_container: str = "agent"
    workspace: WorkspaceSpec = WorkspaceSpec(mode=WorkspaceMode.MANAGED_PVC)
    helper: HelperSpec = HelperSpec()
    preset: str = ""
    command: tuple[str, ...] = ()
    env: tuple[EnvEntry, ...] = ()
    files: tuple[InjectedFile, ...] = ()
    script: str = ""
    pool: str = ""
    enabled: bool = True


class Executor(msgspec.Struct, frozen=True):
    """``version`` grows with each change (its ETag). ``built_in``: the embedded cluster of the data folder,
    never stored, and there only while one person uses this server on loopback."""

    id: str
    name: str
    spec: ExecutorSpec
    created_at: float
    updated_at: float
    version: int = 1
    built_in: bool = False


class Profile(msgspec.Struct, frozen=True):
    """Belongs to an executor. A change affects new sessions only: those there are have their snapshot."""

    id: str
    executor_id: str
    name: str
    spec: ProfileSpec
    created_at: float
    updated_at: float
    version: int = 1


class Verdict(StrEnum):
    """What a policy makes of a warning."""

    WARN = "warn"
    REFUSE = "refuse"


class Policy(msgspec.Struct, frozen=True):
    """One rule; ``id`` is the code of the template warning it rules, e.g. ``host_path``."""

    id: str
    verdict: Verdict
    updated_at: float
    version: int = 1


class Task(msgspec.Struct, frozen=True):
    """A person's unit of work. ``column``: of the board. Its sessions name it in their identity."""

    id: str
    title: str
    owner_id: str
    created_at: float
    updated_at: float
    prompt: str = ""
    column: str = "todo"
    profile_id: str = ""
    archived: bool = False
    version: int = 1


class Role(StrEnum):
    """Of a person. There are no others: what a person may do with a task hangs on whose it is."""

    ADMINISTRATOR = "administrator"
    MEMBER = "member"


class User(msgspec.Struct, frozen=True):
    """A person. ``issuer`` and ``subject``: who an OIDC provider says it is, both or neither."""

    id: str
    name: str
    role: Role
    created_at: float
    updated_at: float
    email: str = ""
    issuer: str = ""
    subject: str = ""
    disabled: bool = False
    version: int = 1


class Scope(StrEnum):
    """What a token may do of what its person may."""

    FULL = "full"
    READ = "read"


class Token(msgspec.Struct, frozen=True):
    """A key for programs. Its value is shown once and kept as a hash. ``expires_at`` 0: never."""

    id: str
    user_id: str
    name: str
    scope: Scope
    created_at: float
    expires_at: float = 0.0
    last_used_at: float = 0.0
    version: int = 1


class SignIn(msgspec.Struct, frozen=True):
    """A browser that somebody signed in with. ``csrf``: what its changing requests must repeat."""

    id: str
    user_id: str
    csrf: str
    created_at: float
    expires_at: float


class AuditRow(msgspec.Struct, frozen=True):
    """One access or change, also a refused one. ``outcome``: begun, allowed, refused or failed; ``begun`` is
    what a crash leaves. ``actor``: user id, "" for nobody; ``via``: browser, token, cli or mcp."""

    id: int
    at: float
    actor: str
    via: str
    action: str
    target: str
    outcome: str
    status: int = 0
    detail: str = ""


class Change(msgspec.Struct, frozen=True):
    """One committed change; ``revision`` is its place in the order of commits: none below it comes later.
    ``kind``: executor, profile, policy, task, session, user, token; ``owner_id``: whose it is ("":
    everybody may see it); ``op``: added, modified or deleted."""

    revision: int
    at: float
    kind: str
    id: str
    owner_id: str
    op: str


Row = TypeVar("Row", Executor, Profile, Policy, Task, User, Token)
