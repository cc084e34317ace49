"""What the embedded API and its node ask of each other, and nothing else.

``Objects`` is implemented by the API (``embedded.objects``) and used by the node and the controllers;
``Node`` is implemented by ``embedded.node`` and used by the API's streaming routes. Both live in one
process and one event loop. Nothing here does I/O.

Objects that come out of ``Objects`` belong to the caller: changing one changes nothing that is stored.
All of its calls raise ``core.errors.ApiError`` as a remote API would (404, 409, 422 …).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from moorage.core.kinds import Json, Resource

Change = tuple[str, Json]
"""``("ADDED" | "MODIFIED" | "DELETED", object)``; of a deleted object its last state."""


class Objects(Protocol):
    """All stored objects, as one of the cluster's own components sees them: in process, no authorization."""

    def get(self, resource: Resource, namespace: str, name: str) -> Json | None:
        """The newest state, or None. ``namespace`` is ``""`` for what has none."""

    def list(self, resource: Resource, namespace: str = "") -> list[Json]:
        """All objects, of one namespace or (``""``) of all."""

    def create(self, resource: Resource, obj: Json) -> Json:
        """Store a new object (defaulted, admitted); its namespace is that of its metadata."""

    def update(self, resource: Resource, obj: Json) -> Json:
        """Replace all but the status. ``metadata.resourceVersion``, where given, must be the newest (409)."""

    def update_status(self, resource: Resource, obj: Json) -> Json:
        """Replace the status alone; the same rule. Writing what is already there changes nothing."""

    def delete(
        self, resource: Resource, namespace: str, name: str, uid: str, grace_seconds: int | None = None
    ) -> None:
        """Ask for deletion as a client does: grace and finalizers count. 404 and 409 when not ``uid``."""

    def remove(self, resource: Resource, namespace: str, name: str, uid: str) -> None:
        """Take a Pod away at the end of its graceful deletion (a kubelet's DELETE with grace 0).

        Its finalizers still count. An object that is gone, or is another by now, is no error.
        """

    def watch(self, resource: Resource) -> AbstractAsyncContextManager[AsyncIterator[Change]]:
        """All that exists as ADDED, then each change in order. No change is left out or merged."""

    def event(self, about: Json, type_: str, reason: str, message: str) -> None:
        """Record an Event (``Normal`` or ``Warning``) on an object; a repeated one is counted."""


@dataclass(frozen=True)
class LogOptions:
    """Query of ``pods/log``; None: no limit."""

    previous: bool = False
    follow: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since_seconds: float | None = None


@dataclass(frozen=True)
class ExecExit:
    """How a command ended: its exit code (128 + n after signal n), or None and why it never ran."""

    code: int | None
    message: str = ""


class ExecSession(Protocol):
    """One command in a container."""

    async def read(self) -> tuple[int, bytes] | None:
        """The next output: channel 1 (stdout, or the terminal) or 2 (stderr); None when both have ended."""

    async def write(self, data: bytes) -> None:
        """Bytes for stdin; a process that no longer reads is no error."""

    async def close_stdin(self) -> None:
        """End of input; repeatable."""

    async def resize(self, columns: int, rows: int) -> None:
        """New size of the terminal; without one, nothing."""

    async def wait(self) -> ExecExit:
        """The command's end."""

    async def close(self) -> None:
        """The client went away: let go of the streams. Repeatable. The process is left as a kubelet would."""


class ByteStream(Protocol):
    """One TCP connection in the Pod (or agentctl's unix socket)."""

    async def read(self) -> bytes:
        """The next bytes; ``b""`` at the end. OSError when broken."""

    async def write(self, data: bytes) -> None:
        """Send all of ``data``. OSError when broken."""

    async def close(self) -> None:
        """Close both directions; repeatable."""


class NodeError(Exception):
    """The node cannot do what was asked; the message is the kubelet's own text."""

    def __init__(self, message: str, *, status: int = 500, reason: str = "InternalError") -> None:
        super().__init__(message)
        self.message, self.status, self.reason = message, status, reason


class CommandNotStarted(NodeError):
    """The container runs, but not this command. A client learns of it on the stream, after its upgrade."""


class Node(Protocol):
    """One node: runs the Pods whose ``spec.nodeName`` is its name and reports through ``Objects``.

    It registers its own Node object at start and keeps its Lease. The streaming calls get the Pod as
    stored; the API has checked that the Pod and the container's name exist.
    """

    name: str

    async def start(self, objects: Objects) -> None:
        """Begin; Pods that still run from before are taken over."""

    async def stop(self) -> None:
        """Stop looking after Pods. Containers go on."""

    def logs(self, pod: Json, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """A container's output. NodeError (400) when it has none yet, before the first bytes."""

    async def exec(
        self, pod: Json, container: str, command: list[str], *, tty: bool, stdin: bool
    ) -> ExecSession:
        """Start a command. NodeError when the container does not run, CommandNotStarted when the command
        cannot."""

    async def attach(self, pod: Json, container: str, *, tty: bool, stdin: bool) -> ExecSession:
        """The container's own streams from now on. NodeError when the container does not run."""

    async def dial(self, pod: Json, port: int) -> ByteStream:
        """Connect to a port in the Pod: 8765 is agentctl's socket. OSError when nobody listens."""
