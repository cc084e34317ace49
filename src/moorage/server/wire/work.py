"""Tasks and sessions."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from moorage.core.session import AgentExit, Diagnosis
from moorage.ports.link import FileEntry
from moorage.ports.sessions import SessionView
from moorage.ports.store import SessionEvent
from moorage.server.wire.base import Wire, shown

Title = Annotated[str, Field(min_length=1, max_length=200)]
Prompt = Annotated[str, Field(max_length=128 * 1024)]
Column = Annotated[str, Field(min_length=1, max_length=40)]
Words = Annotated[tuple[Annotated[str, Field(max_length=128 * 1024)], ...], Field(max_length=1000)]

Variables = dict[str, Annotated[str, Field(max_length=128 * 1024)]]


class TaskBody(Wire):
    title: Title
    prompt: Prompt = ""
    column: Column = "todo"
    profile_id: Annotated[str, Field(max_length=200)] = ""


class TaskPatch(Wire):
    """What is left out stays."""

    title: Title | None = None
    prompt: Prompt | None = None
    column: Column | None = None
    profile_id: Annotated[str, Field(max_length=200)] | None = None
    archived: bool | None = None


class TaskShown(Wire):
    id: str
    title: str
    prompt: str
    column: str
    profile_id: str
    archived: bool
    created_at: float
    updated_at: float
    version: int


class LaunchBody(Wire):
    """``profile_id`` "": the task's, else the built-in one. ``prompt`` None: the task's. ``args``: further
    words for a preset; ``command``: in place of the profile's. ``source``: a https or ssh URL of a git
    repository. ``env``: values are secret from here on."""

    profile_id: Annotated[str, Field(max_length=200)] = ""
    name: Annotated[str, Field(max_length=63)] = ""
    prompt: Prompt | None = None
    command: Words = ()
    args: Words = ()
    env: Variables = Field(default_factory=dict)
    source: Annotated[str, Field(max_length=4096)] = ""
    source_ref: Annotated[str, Field(max_length=250)] = ""
    tty: bool = False
    stdin: bool = False
    restart: bool = True
    grace_seconds: Annotated[float, Field(ge=0, le=3600)] = 10.0
    start_timeout_seconds: Annotated[float, Field(ge=1, le=86400)] = 600.0


class ExitShown(Wire):
    code: int | None
    signal: int | None
    oom: bool
    error: str


class DiagnosisShown(Wire):
    category: str
    reason: str
    message: str
    hint: str
    terminal: bool


class SourceShown(Wire):
    kind: str
    location: str
    ref: str
    commit: str


class SessionShown(Wire):
    """A session as it was observed at ``observed_at``; 0: it was not, and ``unknown`` says why. ``status`` is
    one of the words of docs/sessions.md."""

    id: str
    name: str
    task_id: str
    profile_id: str
    executor_id: str
    namespace: str
    status: str
    reason: str
    phase: str
    unknown: str
    pod_name: str
    pod_phase: str
    container_state: str
    restarts: int
    node: str
    image: str
    observed_at: float
    created_at: float
    workspace_kind: str
    command: list[str]
    source: SourceShown | None
    exit: ExitShown | None
    diagnosis: DiagnosisShown | None
    warnings: tuple[str, ...] = ()


class RemovalShown(Wire):
    session: str
    deletes: list[str]
    keeps: list[str]


class EventShown(Wire):
    at: float
    kind: str
    message: str
    object: str


class FileShown(Wire):
    """``kind``: file, dir, link, other; ``uid`` and ``gid`` -1: not known."""

    path: str
    kind: str
    size: int
    mode: int
    mtime: float
    uid: int
    gid: int
    target: str


class ExecBody(Wire):
    """A program of the main container. ``stdin``: all of its input, as text."""

    argv: Annotated[Words, Field(min_length=1)]
    env: Variables = Field(default_factory=dict)
    cwd: Annotated[str, Field(max_length=4096)] = "/workspace"
    stdin: Annotated[str, Field(max_length=512 * 1024)] = ""
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = 60.0


class ExecShown(Wire):
    """``exit_code`` is what a shell would report; None: it is not known. Output is base64, each stream cut at
    its limit (``truncated``)."""

    exit_code: int | None
    signal: int | None
    error: str
    stdout: str
    stderr: str
    truncated: bool


def session_shown(view: SessionView, warnings: list[str] | None = None) -> SessionShown:
    session = view.session
    ended = session.run.exit if session.run is not None else None
    return SessionShown(
        id=session.id,
        name=session.name,
        task_id=session.identity.task_id,
        profile_id=session.identity.profile_id,
        executor_id=session.identity.executor_id,
        namespace=session.inventory.namespace,
        status=view.word,
        reason=view.reason,
        phase=session.state.phase.value,
        unknown=view.unknown,
        pod_name=session.inventory.pod_name,
        pod_phase=view.pod_phase,
        container_state=view.container_state,
        restarts=view.restarts,
        node=view.node,
        image=view.image,
        observed_at=view.observed_at,
        created_at=session.created_at,
        workspace_kind=session.inventory.snapshot.workspace.mode.value,
        command=list(session.agent.argv),
        source=shown(SourceShown, session.source) if session.source else None,
        exit=_exit(ended),
        diagnosis=_diagnosis(view.diagnosis),
        warnings=tuple(warnings or ()),
    )


def _exit(ended: AgentExit | None) -> ExitShown | None:
    return shown(ExitShown, ended) if ended is not None else None


def _diagnosis(found: Diagnosis | None) -> DiagnosisShown | None:
    return shown(DiagnosisShown, found) if found is not None else None


def fields_of(kind: type[Wire], value: FileEntry | SessionEvent) -> dict[str, Any]:
    """What a wire type shows of a dataclass."""
    return {name: getattr(value, name) for name in kind.model_fields}
