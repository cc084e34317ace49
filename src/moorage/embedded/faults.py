"""Where a test can put a fault into the embedded API. Without one (``NoFaults``) nothing is changed.

Called by ``embedded.api`` at every seam between a client and the store. Not reachable over the network and
not from any command: a test passes its own ``Faults`` to ``EmbeddedCluster``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from moorage.core.kinds import Json
from moorage.embedded.api.calls import Call


class Dropped(Exception):
    """Raised by a fault: the connection is cut at this point, without an answer. ``reset``: with a TCP reset,
    so that bytes on their way are lost, too."""

    def __init__(self, *, reset: bool = False) -> None:
        super().__init__()
        self.reset = reset


class HungUp(Exception):
    """Raised by a fault of a stream: it is closed here in good order, with this code of a WebSocket's close
    frame. Of ``Faults.stream``: right after the upgrade, before anything is asked of the node."""

    def __init__(self, code: int = 1000) -> None:
        super().__init__()
        self.code = code


@dataclass(frozen=True)
class Answer:
    """An answer as it will be sent. ``body``: JSON or other bytes."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


class StreamFaults(Protocol):
    """Of one exec, attach or port-forward. Each raises Dropped to cut the connection, HungUp to close it."""

    def to_client(self, message: bytes) -> AsyncIterator[bytes]:
        """One binary message on its way out: what is sent in its place."""

    def from_client(self, message: bytes) -> AsyncIterator[bytes]:
        """One binary message that came in: what is taken in its place."""

    async def beside(self) -> None:
        """Begun with the stream, and ended with it: for what happens while nothing is sent."""


class NoStreamFaults:
    """A stream on which nothing goes wrong."""

    async def to_client(self, message: bytes) -> AsyncIterator[bytes]:
        yield message

    async def from_client(self, message: bytes) -> AsyncIterator[bytes]:
        yield message

    async def beside(self) -> None:
        return None


class Faults(Protocol):
    """Every seam. All may sleep, and raise ``Dropped`` or a ``Refusal``."""

    async def request(self, call: Call) -> Answer | None:
        """A request came in and was authenticated, nothing has been done: None to go on."""

    async def committed(self, call: Call, obj: Json) -> None:
        """A write is stored, nothing has been answered. Of a dry run, nothing is stored."""

    async def response(self, call: Call, answer: Answer) -> Answer:
        """Before an answer is sent."""

    async def watch_event(self, call: Call, event: Json) -> Iterable[Json]:
        """One event of a watch: what is sent in its place, in order."""

    def read_version(self, call: Call) -> int | None:
        """A version as of which a get, list or watch is answered, as a server that is behind would."""

    async def stream(
        self, call: Call, offered: tuple[str, ...]
    ) -> tuple[tuple[str, ...], StreamFaults | None]:
        """Before the upgrade of a stream: the subprotocols to see as offered, and faults of its messages.
        May raise ``HungUp``, too."""


class NoFaults:
    """Nothing ever goes wrong."""

    async def request(self, call: Call) -> Answer | None:
        return None

    async def committed(self, call: Call, obj: Json) -> None:
        return None

    async def response(self, call: Call, answer: Answer) -> Answer:
        return answer

    async def watch_event(self, call: Call, event: Json) -> Iterable[Json]:
        return (event,)

    def read_version(self, call: Call) -> int | None:
        return None

    async def stream(
        self, call: Call, offered: tuple[str, ...]
    ) -> tuple[tuple[str, ...], StreamFaults | None]:
        return offered, None
