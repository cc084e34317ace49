"""The verbs of a session, as the CLI (and later server and SDK) call them.

Implemented in process by ``sessions``; later also by the REST client. Every method takes a session's
name or id; NotFound, Conflict and SessionFailed come from core.errors.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from moorage.core.kinds import Json
from moorage.core.presets import Applied
from moorage.core.session import AgentExit, Diagnosis, HelperSpec, Session, WorkspaceSpec
from moorage.ports.changes import Changes, ExportedBranch
from moorage.ports.files import RemoteFiles
from moorage.ports.forks import ForkPlan, ForkRequest
from moorage.ports.link import ContainerUsage, FileEntry, Gap, LeftOut, Output, ProcessSpec, RemoteProcess
from moorage.ports.store import SessionEvent
from moorage.ports.streams import DialledStream


@dataclass(frozen=True)
class LaunchRequest:
    """All that ``moorage run`` was told. ``env`` values are secret from here on; ``source`` is a path or
    URL ("" for none). ``template_text`` None: the embedded cluster's own, refused on any other."""

    template_text: bytes | None
    argv: Sequence[str]
    workspace: WorkspaceSpec
    name: str = ""
    main_container: str = ""
    platform: str = "linux/amd64"
    helper: HelperSpec = field(default_factory=HelperSpec)
    source: str = ""
    source_ref: str = ""
    env: dict[str, str] = field(default_factory=dict, repr=False)
    cwd: str = "/workspace"
    tty: bool = False
    stdin: bool = False
    grace_seconds: float = 10.0
    restart_allowed: bool = True
    transport: str = "auto"
    start_timeout: float = 600.0
    metadata: Mapping[str, str] = field(default_factory=dict)
    """A person's own words about the session, to find it by. On record as they are: nothing secret."""
    preset: Applied | None = None
    """What ``argv`` and ``env`` come from; tells how a later start goes on."""
    task_id: str = ""
    profile_id: str = ""
    """Of the service; "" for ids that are derived."""


@dataclass(frozen=True)
class Progress:
    """A real event on the way: ``step`` is one of storage, schedule, pull, start, upload, hello, source,
    agent, drain, delete, cluster, warning."""

    step: str
    message: str


@dataclass(frozen=True)
class Exited:
    """The agent ended; ``exit`` tells how. ``kept``: the session is still there."""

    exit: AgentExit
    kept: bool = True


Happening: TypeAlias = Progress | Output | Gap | Exited
Report: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True)
class SessionView:
    """A session as it was observed. ``word`` is from core.status; ``observed_at`` 0 when nothing could
    be observed (then ``unknown`` says why)."""

    session: Session
    word: str
    reason: str
    pod_phase: str = ""
    container_state: str = ""
    restarts: int = 0
    node: str = ""
    image: str = ""
    observed_at: float = 0.0
    unknown: str = ""
    diagnosis: Diagnosis | None = None
    context: str = ""
    """Context of the kubeconfig that its executor was recorded with; "" when none is on record."""


@dataclass(frozen=True)
class Check:
    """One step of a connection test: ``status`` is ok, warning, failed or not_run."""

    key: str
    status: str
    detail: str
    fix: str = ""
    duration_ms: int = 0

    @property
    def success(self) -> bool:
        """Nothing stands in the way of a session here."""
        return self.status in ("ok", "warning")


@dataclass(frozen=True)
class ConnectionTest:
    """What ``doctor`` found. ``server_version`` "" when the server did not tell it."""

    server_version: str
    namespace: str
    steps: tuple[Check, ...]

    @property
    def success(self) -> bool:
        return not any(step.status == "failed" for step in self.steps)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(f"{step.key}: {step.detail}" for step in self.steps if step.status == "warning")

    @property
    def error(self) -> str | None:
        """The first failure, for people."""
        failed = next((step for step in self.steps if step.status == "failed"), None)
        return f"{failed.key}: {failed.detail}" if failed else None


@dataclass(frozen=True)
class Rights:
    """What our identity may do with a resource of the namespace, of what sessions need: ``pods/exec``."""

    resource: str
    verbs: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Caller:
    """Who we are to an API server. ``user`` "" where it does not say; ``context`` "" for the embedded
    cluster."""

    user: str
    groups: tuple[str, ...]
    context: str
    namespace: str
    server: str
    rights: tuple[Rights, ...]


@dataclass(frozen=True)
class Removal:
    """What ``rm`` would do (dry run) or did: objects as ``pod/NAME (uid …)``."""

    session: str
    deletes: tuple[str, ...]
    keeps: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """What a report of a fault needs to know of a session beside its record. ``pod``: as the API server has
    it, values of variables and all; None where it could not be read (``unseen`` says why) or is not there.
    ``kept_from``..``end``: offsets of the output that is stored, which is not in here."""

    pod: Json | None
    unseen: str
    kept_from: int
    end: int


class Attachment(Protocol):
    """Following a session's agent. Whoever can takes the lease and drives; others read along."""

    def happenings(self) -> AsyncIterator[Happening]:
        """Progress while it starts, then output from the byte after the last one delivered, then Exited.
        Raises SessionFailed (with diagnosis) when it cannot start or go on."""

    async def send_input(self, data: bytes) -> None: ...

    async def close_input(self) -> None: ...

    async def resize(self, cols: int, rows: int) -> None: ...

    async def signal(self, number: int) -> None:
        """Signal the agent's process group (Ctrl-C in ``moorage run``)."""

    async def close(self) -> None:
        """Leave the agent running and let go of the session."""


class SessionVerbs(Protocol):
    """What a person can do."""

    @property
    def where(self) -> str:
        """One line saying where sessions run, e.g. ``context kind-dev, namespace agents``; "" when no
        cluster was named."""

    async def launch(self, request: LaunchRequest, report: Report) -> Session:
        """Check everything (template, strict dry run, source readable), then record the session. No
        cluster object exists before this returns; nothing is recorded when it raises."""

    async def preview(self, request: LaunchRequest) -> list[Json]:
        """``run --dry-run``: every check of ``launch``, and the objects it would create, without
        credentials. Nothing is recorded or created."""

    def attach(self, name: str, *, from_start: bool = False, watching: bool = False) -> Attachment:
        """``watching``: for somebody who waits and shows nothing; no output counts as delivered by it."""

    async def view(self, name: str) -> SessionView: ...

    async def list_views(self, *, include_archived: bool = False, namespace: str = "") -> list[SessionView]:
        """``namespace``: only sessions made there ("" all); the others are not looked at."""

    async def stop(self, name: str, report: Report, *, force: bool = False, wait: bool = True) -> SessionView:
        """``wait`` False: put the wish on record for whoever drives the session, and return. Conflict, and
        nothing on record, where nobody does."""

    async def pause(self, name: str, report: Report, *, discard_workspace: bool = False) -> SessionView: ...

    async def resume(self, name: str, report: Report) -> SessionView:
        """Undo stop or pause: wait until the agent runs again."""

    async def reset(self, name: str, report: Report, *, discard_workspace: bool = False) -> SessionView:
        """Pause, then resume: a new Pod on the same workspace."""

    async def fork_plan(self, name: str, request: ForkRequest) -> ForkPlan:
        """The preflight of ``fork``; changes nothing."""

    async def fork(self, name: str, request: ForkRequest, report: Report) -> list[Session]:
        """Put sessions on record whose workspaces are copies of this one's; ``resume`` starts them, as after
        ``launch``. Conflict, with the reason of the preflight, where it cannot be done. The session itself is
        only read."""

    async def changes(self, name: str, report: Report) -> Changes:
        """The workspace against the commit it was filled from, read from the session's Pod. UsageError where
        there is none, Conflict without a Pod."""

    async def export_branch(self, name: str, branch: str, report: Report) -> ExportedBranch:
        """The same as one commit on a new branch of the local repository that the session came from. Its work
        tree, index and HEAD stay as they are. Conflict when there is such a branch, or nothing is changed."""

    async def archive(self, name: str, report: Report, *, force: bool = False) -> SessionView: ...

    async def known(self, name: str) -> None:
        """NotFound when no session on record has this name or id. Asks no cluster."""

    async def remove(
        self,
        name: str,
        report: Report,
        *,
        force: bool = False,
        dry_run: bool = False,
        keep_workspace: bool = False,
        wait: bool = True,
    ) -> Removal:
        """``keep_workspace``: the claim stays, also where another command goes on with this removal;
        UsageError for an emptyDir. ``wait``: see ``stop``."""

    def logs(self, name: str, *, follow: bool = False, offset: int = 0) -> AsyncIterator[Output | Gap]:
        """The transcript, stored part first, then what the Pod still holds; works after deletion of the
        Pod."""

    async def containers(self, name: str) -> list[str]:
        """All containers of the session's Pod, in the order they start. Conflict when there is no Pod."""

    def container_logs(
        self,
        name: str,
        container: str,
        *,
        previous: bool = False,
        follow: bool = False,
        tail: int | None = None,
        timestamps: bool = False,
        since: int | None = None,
    ) -> AsyncIterator[bytes]:
        """A container's own log, from the kubelet; ``since``: only of the last so many seconds."""

    async def exec(self, name: str, spec: ProcessSpec) -> RemoteProcess: ...

    async def list_files(self, name: str, path: str) -> list[FileEntry]: ...

    def get_tar(self, name: str, path: str, left_out: LeftOut | None = None) -> AsyncIterator[bytes]:
        """See ``ports.link.Link.get_tar``."""

    async def put_tar(
        self, name: str, path: str, chunks: AsyncIterator[bytes], *, replace: bool = True
    ) -> int: ...

    def filesystem(self, name: str) -> RemoteFiles:
        """Single paths in the Pod. Asks nothing yet."""

    async def usage(self, name: str) -> ContainerUsage:
        """What the main container uses now. NotRunning as ``exec``."""

    async def reach(self, name: str) -> None:
        """Open the way into the Pod, as ``exec`` and ``dial`` do. Conflict when none of it runs."""

    async def dial(self, name: str, port: int) -> DialledStream:
        """Connect to ``port`` on the Pod's loopback, through the link; also to the Pod that replaced another.
        NotFound, its ``details['code']`` ``unreachable``, when nothing listens there."""

    async def workspace_hash(self, name: str) -> str: ...

    async def events(self, name: str, report: Report = ...) -> list[SessionEvent]:
        """Our own transitions and, where they can be read, the Kubernetes events of Pod and claim; a warning
        to ``report`` (by default nobody) where they cannot."""

    async def evidence(self, name: str) -> Evidence:
        """For ``doctor --bundle``. Whoever writes it down redacts it first."""

    async def doctor(
        self, profile: LaunchRequest | None = None, *, launch: bool = False, report: Report = ...
    ) -> ConnectionTest:
        """Can sessions start here? ``profile``: also one of this template and workspace. Changes nothing,
        unless ``launch`` asks for it: then the last step starts one and removes it, telling ``report`` (by
        default nobody). Raises nothing: what went wrong is in the steps."""

    async def whoami(self) -> Caller:
        """By what the API server says of us. NotFound while the embedded cluster does not run: it is not
        started for this."""

    async def server_version(self) -> str: ...

    async def isolation(self) -> str:
        """What a person must know of where a new session's programs run; "" on a cluster that was named."""

    async def close(self) -> None: ...
