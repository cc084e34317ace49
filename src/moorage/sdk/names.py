"""Every public name of the SDK, as ``moorage`` gives it out. Loads both faces; holds nothing of its own."""

from __future__ import annotations

from moorage.core.session import WorkspaceMode, WorkspaceSpec
from moorage.ports.sessions import Progress
from moorage.sdk.blocking.commands import Commands
from moorage.sdk.blocking.filesystem import Filesystem
from moorage.sdk.blocking.handle import CommandHandle
from moorage.sdk.blocking.listing import SandboxPaginator
from moorage.sdk.blocking.pty import Pty
from moorage.sdk.blocking.sandbox import Sandbox
from moorage.sdk.blocking.watching import WatchHandle
from moorage.sdk.commands import AsyncCommands
from moorage.sdk.errors import (
    AuthenticationException,
    CommandExitException,
    CommandTimeoutException,
    ConflictException,
    ConnectionLostException,
    FileNotFoundException,
    InvalidArgumentException,
    NotEnoughSpaceException,
    NotFoundException,
    NotOffered,
    SandboxException,
    SandboxFailedException,
    SandboxNotFoundException,
    SandboxNotRunningException,
    SandboxUnreachableException,
    TimeoutException,
)
from moorage.sdk.filesystem import AsyncFilesystem
from moorage.sdk.handle import AsyncCommandHandle
from moorage.sdk.listing import AsyncSandboxPaginator
from moorage.sdk.opening import Place
from moorage.sdk.pty import AsyncPty
from moorage.sdk.sandbox import AsyncSandbox
from moorage.sdk.values import (
    CommandResult,
    EntryInfo,
    FilesystemEvent,
    FilesystemEventType,
    FileType,
    ProcessInfo,
    PtySize,
    SandboxInfo,
    SandboxMetrics,
    SandboxQuery,
    SandboxState,
    WriteEntry,
    WriteInfo,
)
from moorage.sdk.watching import AsyncWatchHandle

__all__ = [
    "AsyncCommandHandle",
    "AsyncCommands",
    "AsyncFilesystem",
    "AsyncPty",
    "AsyncSandbox",
    "AsyncSandboxPaginator",
    "AsyncWatchHandle",
    "AuthenticationException",
    "CommandExitException",
    "CommandHandle",
    "CommandResult",
    "CommandTimeoutException",
    "Commands",
    "ConflictException",
    "ConnectionLostException",
    "EntryInfo",
    "FileNotFoundException",
    "FileType",
    "Filesystem",
    "FilesystemEvent",
    "FilesystemEventType",
    "InvalidArgumentException",
    "NotEnoughSpaceException",
    "NotFoundException",
    "NotOffered",
    "Place",
    "ProcessInfo",
    "Progress",
    "Pty",
    "PtySize",
    "Sandbox",
    "SandboxException",
    "SandboxFailedException",
    "SandboxInfo",
    "SandboxMetrics",
    "SandboxNotFoundException",
    "SandboxNotRunningException",
    "SandboxPaginator",
    "SandboxQuery",
    "SandboxState",
    "SandboxUnreachableException",
    "TimeoutException",
    "WatchHandle",
    "WorkspaceMode",
    "WorkspaceSpec",
    "WriteEntry",
    "WriteInfo",
]
