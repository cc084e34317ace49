"""The records of a session: what a person asked for, what was launched, what we own, where it stands.

Pure data, stored as JSON by ``store`` and decided upon by ``core.plans.session``. No record holds a
credential, a resolved environment value, an injected file or a script: those live in the secret store
and are referred to by name.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from moorage.core.kinds import Json

OUTPUT_LIMIT = 64 * 1024 * 1024
"""Transcript bytes kept per session by default; the oldest are dropped as a gap."""


class WorkspaceMode(StrEnum):
    """Where ``/workspace`` lives."""

    MANAGED_PVC = "managed_pvc"
    EXISTING_CLAIM = "existing_claim"
    EMPTY_DIR = "empty_dir"


class WorkspaceSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Workspace policy. ``size``, ``storage_class`` and ``access_modes`` belong to managed_pvc only,
    ``claim_name`` to existing_claim only; ``core.workload.check_workspace`` refuses the rest."""

    mode: WorkspaceMode
    size: str = ""
    storage_class: str = ""
    access_modes: tuple[str, ...] = ()
    claim_name: str = ""


class HelperSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How agentctl gets into the main container: uploaded by ``exec``, or from an ``image`` reference."""

    source: str = "exec"
    image: str = ""


class LaunchSnapshot(msgspec.Struct, frozen=True):
    """Template, platform, main container, storage and helper as they were at launch. A replacement Pod
    is made from this, never from the profile's current contents."""

    template: Json
    platform: str
    main_container: str
    workspace: WorkspaceSpec
    helper: HelperSpec


class Identity(msgspec.Struct, frozen=True):
    """The five ids every object of ours is labelled with."""

    install_id: str
    executor_id: str
    profile_id: str
    task_id: str
    session_id: str


class IssuedNonce(msgspec.Struct, frozen=True):
    """A create nonce that went out. ``settled``: a read has since shown what became of the request."""

    kind: str
    name: str
    nonce: str
    issued_at: float
    settled: bool = False


class Inventory(msgspec.Struct, frozen=True):
    """What a session owns in the cluster; written before the act it describes, completed after it."""

    namespace: str
    namespace_uid: str
    server_address: str
    server_ca_sha256: str
    pod_name: str
    claim_name: str
    snapshot: LaunchSnapshot
    template_hash: str
    config_hash: str
    bootstrap_ref: str
    pod_uid: str = ""
    claim_uid: str = ""
    claim_created_by_us: bool = False
    nonces: tuple[IssuedNonce, ...] = ()
    clone_of: str = ""
    """The claim that the storage driver copies into ours as it makes it; "" for an empty one."""
    clone_of_uid: str = ""

    def nonces_for(self, kind: str, name: str) -> tuple[str, ...]:
        """Every create nonce ever issued for this object."""
        return tuple(n.nonce for n in self.nonces if n.kind == kind and n.name == name)


class AgentSpec(msgspec.Struct, frozen=True):
    """The agent's command. ``env_ref`` names the encrypted values of ``-e`` ("" when there are none).
    ``stdin``: keep the agent's input open; else it reads end-of-file from the start on, at each start.

    Of a preset: ``input`` is what the first start is given (see ``ports.link.ProcessSpec``), ``resume_argv``
    and ``resume_input`` are for each later one, ``state_dirs`` are made in ``owned.STATE_FOLDER`` before."""

    argv: tuple[str, ...]
    env_ref: str = ""
    env_names: tuple[str, ...] = ()
    cwd: str = "/workspace"
    tty: bool = False
    stdin: bool = False
    grace_seconds: float = 10.0
    preset: str = ""
    input: str = ""
    resume_argv: tuple[str, ...] = ()
    resume_input: str = ""
    state_dirs: tuple[str, ...] = ()

    def words(self, *, resumed: bool) -> tuple[str, ...]:
        """The command of a start: the preset's resume command where there is one, or else the same."""
        return self.resume_argv if resumed and self.resume_argv else self.argv

    def first_input(self, *, resumed: bool) -> str:
        """What a start is given to read. The prompt is said once."""
        return self.resume_input if resumed else self.input


FORKED = "session"
"""Kind of a source that is the workspace of another session."""


class SourceSpec(msgspec.Struct, frozen=True):
    """What fills the workspace. ``kind``: ``path``, ``url`` or ``session``. ``location`` is a path, a URL
    without credentials, or the other session's id; ``commit`` and ``marker`` are recorded before the agent
    starts.

    Of a session: ``method`` is ``copy`` or ``clone``, ``tree`` the hash that the workspace must have before
    its agent starts ("" where only ``marker`` can prove it), ``origin`` the path or URL that ``commit`` is
    from."""

    kind: str
    location: str
    ref: str = ""
    commit: str = ""
    marker: str = ""
    method: str = ""
    tree: str = ""
    origin: str = ""

    @property
    def repository(self) -> str:
        """Path or URL that ``commit`` is from."""
        return self.origin if self.kind == FORKED else self.location


class AgentExit(msgspec.Struct, frozen=True):
    """How the agent ended; both None is *unknown*, never success."""

    code: int | None = None
    signal: int | None = None
    oom: bool = False
    error: str = ""


class AgentRun(msgspec.Struct, frozen=True):
    """One start of the agent. ``start_id`` makes the start idempotent; ``epoch`` is the helper process
    that runs it; ``base_offset`` the transcript offset of its first byte; ``exit`` is set once the agent
    has ended. ``resumed``: the agent ran before in this workspace."""

    start_id: str
    pod_uid: str = ""
    epoch: str = ""
    started_at: float = 0.0
    exit: AgentExit | None = None
    base_offset: int = 0
    resumed: bool = False


class Restart(msgspec.Struct, frozen=True):
    """One interruption that was restarted by itself."""

    at: float
    cause: str


class Phase(StrEnum):
    """docs/design.md section 4."""

    CONFIGURED = "configured"
    PROVISIONING_STORAGE = "provisioning_storage"
    SCHEDULING = "scheduling"
    BOOTSTRAPPING = "bootstrapping"
    RUNNING = "running"
    DRAINING = "draining"
    PRESERVED = "preserved"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    LOST = "lost"
    CLEANING = "cleaning"
    ARCHIVED = "archived"
    DELETED = "deleted"


class Desired(StrEnum):
    """What a person last asked for."""

    RUNNING = "running"
    STOPPED = "stopped"
    PAUSED = "paused"
    ARCHIVED = "archived"
    DELETED = "deleted"


class Diagnosis(msgspec.Struct, frozen=True):
    """Why something does not go on. ``category`` is stable (docs/diagnoses.md); ``terminal``: waiting
    alone will not mend it."""

    category: str
    reason: str
    message: str
    hint: str = ""
    terminal: bool = False


class State(msgspec.Struct, frozen=True):
    """Where a session stands. ``pod``: ``kept`` or ``released`` while preserved."""

    phase: Phase
    since: float
    reason: str = ""
    pod: str = ""
    diagnosis: Diagnosis | None = None


class Intent(msgspec.Struct, frozen=True):
    """Written by any command without a lease; acted on by the session's owner. ``number`` grows by one
    with each intent, so that a repeated wish is a new one."""

    desired: Desired
    number: int = 1
    at: float = 0.0
    force: bool = False
    discard_workspace: bool = False
    keep_workspace: bool = False
    """Of a removal: the claim that we made stays, and is nobody's session's any more."""


class Session(msgspec.Struct, frozen=True):
    """One run of a task: one Pod, one workspace. ``seen_intent``: the last intent number acted upon.
    ``ever_ran``: an agent once ran, so the workspace may hold work. ``ran_in``: UID of the claim (or, for an
    emptyDir, the Pod) in whose workspace it was last started. ``unread``: it wrote, or may have, what is not
    in the transcript, until its end is read or the loss told. ``filled``: UID of the claim (or, for an
    emptyDir, the Pod) that the source was unpacked into."""

    identity: Identity
    name: str
    created_at: float
    agent: AgentSpec
    state: State
    inventory: Inventory
    intent: Intent
    source: SourceSpec | None = None
    run: AgentRun | None = None
    output_end: int = 0
    transport: str = "auto"
    restarts: tuple[Restart, ...] = ()
    restart_allowed: bool = True
    start_timeout: float = 600.0
    seen_intent: int = 0
    ever_ran: bool = False
    ran_in: str = ""
    unread: bool = False
    filled: str = ""
    metadata: dict[str, str] = {}

    @property
    def id(self) -> str:
        return self.identity.session_id


def change(record: Any, **fields: Any) -> Any:
    """A copy of a record with some fields replaced."""
    return msgspec.structs.replace(record, **fields)
