"""The one tree of errors. Every part raises these; the CLI and the API print them.

Each error carries a stable ``code``, what happened and why (the message), the ``field`` it concerns
where there is one, and a ``hint``: what to do next. Messages never hold credentials.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar


class MoorageError(Exception):
    """Base of the tree. ``exit_code`` is what a command ends with (see docs/cli.md)."""

    code: ClassVar[str] = "error"
    exit_code: int = 1

    def __init__(
        self, message: str, *, hint: str = "", field: str = "", details: dict[str, Any] | None = None
    ):
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.field = field
        self.details = details or {}

    @property
    def reason(self) -> str:
        """The most exact stable word there is for what happened: a diagnosis category, agentctl's code, else
        ``code``."""
        return str(self.details.get("category") or self.details.get("code") or self.code)


class UsageError(MoorageError):
    """The words of a command, or a value given to it, cannot be used as they are."""

    code = "usage"
    exit_code = 2


class VersionNeeded(UsageError):
    """A change has to name the version of the row that it was made from (If-Match)."""

    code = "version_needed"


class TooLarge(UsageError):
    """A request is larger than the limit of its kind."""

    code = "too_large"


class NotFound(MoorageError):
    """A session, executor, file or object that a person named does not exist."""

    code = "not_found"
    exit_code = 3


class SessionNotFound(NotFound):
    """No session on record has this name or id."""


class FileNotFound(NotFound):
    """A path in a Pod, or a program to run there, does not exist."""


class AccessDenied(MoorageError):
    """The cluster (or server) refused our identity: 401 or 403."""

    code = "access_denied"
    exit_code = 4


class NotSignedIn(MoorageError):
    """Our server does not know who asks: no credential, or one that is over."""

    code = "not_signed_in"
    exit_code = 4


class NotAllowed(MoorageError):
    """Our server knows who asks, and that person may not do this."""

    code = "not_allowed"
    exit_code = 4


class TooMany(MoorageError):
    """Too many attempts in too short a time; ``details['retry_after']`` is in seconds."""

    code = "too_many"


class Conflict(MoorageError):
    """Something else exists under that name, or changed while we looked."""

    code = "conflict"
    exit_code = 5


class Stale(Conflict):
    """A change was meant for an older version of this row; ``details['version']`` is the one there is."""

    code = "stale"


class NameBlocked(Conflict):
    """A foreign object holds the name we need; nothing was touched."""

    code = "name_blocked"


class IdentityChanged(Conflict):
    """The cluster or namespace is not the one that was recorded; all writes are refused."""

    code = "identity_changed"


class Fenced(Conflict):
    """A newer owner has commanded this agent; ours is no longer the right to."""

    code = "fenced"


class NotRunning(Conflict):
    """No Pod of this session runs now, so nothing can be done in it."""


class HelperError(MoorageError):
    """agentctl could not do what was asked (disk full, no right to a file, a hostile archive);
    ``details['code']`` says which. The link itself is fine."""

    code = "helper"


class NotEnoughSpace(HelperError):
    """A volume of the Pod is full; nothing was written."""


class Unreachable(MoorageError):
    """The API server gave no answer for as long as was waited. What was wished stays on record."""

    code = "unreachable"


class WaitTimeout(MoorageError):
    """A wait with a limit ended before what it waited for came."""

    code = "timeout"
    exit_code = 6


class CommandTimeout(WaitTimeout):
    """A command in a Pod ran longer than it was given, and was killed. ``stdout``, ``stderr``: what it had
    said until then."""

    timed_out = True

    def __init__(self, message: str, *, stdout: str = "", stderr: str = "", hint: str = ""):
        super().__init__(message, hint=hint)
        self.stdout = stdout
        self.stderr = stderr


class CommandExit(MoorageError):
    """A command in a Pod ended otherwise than with 0. ``exit_code`` is what a shell would report; ``error``
    says why, where it was not the command itself that chose it (a signal, no such program)."""

    code = "command_exit"
    timed_out = False

    def __init__(
        self,
        message: str,
        *,
        exit_code: int,
        stdout: str = "",
        stderr: str = "",
        error: str = "",
        hint: str = "",
    ):
        super().__init__(message, hint=hint, details={"exit_code": exit_code})
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr
        self.error = error


class DocumentError(MoorageError):
    """A template or configuration file is invalid; ``problems`` lists every fault found."""

    code = "invalid_document"

    def __init__(self, message: str, problems: list[Problem], *, hint: str = ""):
        super().__init__(message, hint=hint)
        self.problems = problems


@dataclass(frozen=True)
class Problem:
    """One fault in a document. ``line`` and ``column`` count from 1; 0 where unknown."""

    field: str
    code: str
    message: str
    hint: str = ""
    line: int = 0
    column: int = 0


class SessionFailed(MoorageError):
    """A session could not start or go on; ``details['category']`` is the diagnosis category."""

    code = "session_failed"


class WorkspaceLost(SessionFailed):
    """The only copy of a workspace is gone (an emptyDir whose Pod went, a claim someone deleted)."""

    code = "workspace_lost"


class LinkError(MoorageError):
    """The stream to agentctl broke, or the other side is not who it should be."""

    code = "link"


class IntegrityError(MoorageError):
    """Bytes arrived, but not the ones that were sent: wrong length or SHA-256."""

    code = "integrity"


class StoreError(MoorageError):
    """The data folder, its database or its key cannot be used as they are; nothing was changed."""

    code = "store"


@dataclass(frozen=True)
class ApiProblem:
    """What a Kubernetes API call answered instead of success.

    ``kind``: ``status`` (a real ``Status`` object), ``http`` (an answer that is no Status, e.g. a proxy's
    HTML page), ``transport`` (no answer). ``sent`` tells whether the request may have been carried out:
    ``no`` (never left us, or refused by a Status), ``maybe`` (timeout, reset, 5xx: ambiguous).
    """

    kind: str
    http_status: int = 0
    reason: str = ""
    message: str = ""
    sent: str = "maybe"
    retry_after: float | None = None
    details_kind: str = ""
    details_name: str = ""
    causes: tuple[tuple[str, str, str], ...] = field(default=())  # (field, reason, message)


class ApiError(MoorageError):
    """A Kubernetes API call failed; ``problem`` is what is known. Raised by ``ports.cluster`` calls."""

    code = "api"

    def __init__(self, problem: ApiProblem, *, hint: str = ""):
        super().__init__(problem.message or problem.reason or problem.kind, hint=hint)
        self.problem = problem
