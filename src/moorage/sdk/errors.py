"""The one tree of errors under the names that E2B's users catch. Every class is of ``core.errors``: each
error has ``message``, ``reason`` (a stable word), ``hint`` (what to do next), ``field`` and ``details``."""

from __future__ import annotations

from moorage.core.errors import (
    AccessDenied,
    CommandExit,
    CommandTimeout,
    Conflict,
    FileNotFound,
    LinkError,
    MoorageError,
    NotEnoughSpace,
    NotFound,
    NotRunning,
    SessionFailed,
    SessionNotFound,
    Unreachable,
    UsageError,
    WaitTimeout,
)

SandboxException = MoorageError
TimeoutException = WaitTimeout
CommandTimeoutException = CommandTimeout
NotFoundException = NotFound
FileNotFoundException = FileNotFound
SandboxNotFoundException = SessionNotFound
SandboxNotRunningException = NotRunning
SandboxUnreachableException = Unreachable
InvalidArgumentException = UsageError
NotEnoughSpaceException = NotEnoughSpace
AuthenticationException = AccessDenied
CommandExitException = CommandExit
ConflictException = Conflict
SandboxFailedException = SessionFailed
ConnectionLostException = LinkError


class NotOffered(UsageError, AttributeError):
    """E2B has it and this SDK has not; the message says why, the hint what to use instead."""

    code = "not_offered"
