"""agentctl in a variable, speaking the real link protocol: one for each Pod of the scripted node.

The other end of ``engine.link``: hello, frames, tags and windows are real, processes and files are not. An
agent is its output; it ends when it is drained, signalled or told to by ``end``. What lies in the workspace
belongs to the claim (or the Pod), not to this process.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Frames = Callable[[bytes], None]
NO_EXIT = None
TERM = 143
MOMENT = 1.0
"""Seconds for which what ends takes to end, and says nothing."""


class Refused(Exception):
    """An operation that agentctl refuses, by its stable code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Workspace:
    """What survives a Pod on a claim: its marker and its files."""

    marker: str = ""
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass
class Agentctl:
    """The helper in one container. ``nonce`` None: nothing was delivered, nobody listens. ``quits``: the
    agent ends by itself, with this code, a moment after its start. ``count`` numbers the starts of all
    agents of its session."""

    pod_uid: str
    workspace: Workspace
    count: Iterator[int]
    quits: int | None = None
    nonce: bytes | None = None
    installed: bool = False
    fence: int = 0
    epoch: str = field(default_factory=lambda: secrets.token_hex(8))
    state: str = "none"
    start_id: str = ""
    exit: dict[str, Any] | None = None
    base: int = 0
    held: bytearray = field(default_factory=bytearray)
    starts: list[str] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def end(self) -> int:
        return self.base + len(self.held)

    def notify(self) -> None:
        """Something is new: whoever follows looks again."""
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def write(self, data: bytes) -> None:
        self.held += data
        self.notify()

    def ended(self, code: int | None = None, signal: int | None = None) -> None:
        """The agent is over, unless it was before."""
        if self.state in ("running", "draining"):
            self.state = "exited"
            self.exit = {"code": code, "signal": signal, "oom": False, "error": ""}
            self.notify()

    def status(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "pid": 7 if self.state == "running" else 0,
            "started_at": 1.0,
            "exit": self.exit,
            "oldest": self.base,
            "end": self.end,
            "start_id": self.start_id,
        }

    def start(self, start_id: str, base: int) -> dict[str, Any]:
        """Idempotent by its id; refused while another runs."""
        if start_id == self.start_id:
            return self.status()
        if self.state in ("running", "draining"):
            raise Refused("conflict", "an agent runs already")
        if self.state == "none":
            self.base, self.held = base, bytearray()
        self.state, self.start_id, self.exit = "running", start_id, None
        self.starts.append(start_id)
        self.write(f"start {next(self.count)}\n".encode())
        if self.quits is not None:
            self.ends_later(self.quits)
        return self.status()

    def ends_later(self, code: int) -> None:
        """This run of the agent ends in a moment, whoever still listens then."""

        def end(start_id: str = self.start_id) -> None:
            if start_id == self.start_id:
                self.ended(code=code)

        asyncio.get_running_loop().call_later(MOMENT, end)

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self.changed.wait()


class Request:
    """One stream of one connection, as an operation sees it."""

    def __init__(self, asked: dict[str, Any], say: Callable[[int, bytes], None]) -> None:
        self.asked, self.say = asked, say
        self.inbox: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue()

    async def bytes_in(self) -> AsyncIterator[tuple[int, bytes]]:
        while (part := await self.inbox.get()) is not None:
            yield part


COMMANDS = frozenset({"start", "drain", "signal", "materialize", "ack"})
"""Refused from a connection with an older fence."""


async def perform(agent: Agentctl, fence: int, request: Request) -> dict[str, Any]:
    """One operation to its result. Raises Refused."""
    asked = request.asked
    if asked["op"] in COMMANDS and fence and fence < agent.fence:
        raise Refused("fenced", "another process commands this session by now")
    match asked["op"]:
        case "status":
            return agent.status()
        case "start":
            return agent.start(asked["start_id"], asked["base_offset"])
        case "output":
            return await _output(agent, request, asked["offset"])
        case "input":
            async for _, data in request.bytes_in():
                agent.write(data)
        case "signal":
            agent.ended(signal=asked["signal"])
        case "wait_exit":
            await agent.until(lambda: agent.state not in ("running", "draining"))
            if agent.exit is None:
                raise Refused("not_running", "no agent was started")
            return agent.exit
        case "drain":
            if agent.state == "running":
                agent.write(b"bye\n")
                agent.state = "draining"
                agent.ends_later(TERM)
            await agent.until(lambda: agent.state != "draining")
            return agent.exit or {"code": None, "signal": None, "oom": False, "error": ""}
        case "run":
            return await _run(request)
        case "put_tar":
            return {"bytes": await _received(agent, request, asked["path"])}
        case "materialize":
            count = await _received(agent, request, asked["path"])
            agent.workspace.marker = asked["marker"]
            return {"filled": count >= 0}
        case "marker":
            return {"marker": agent.workspace.marker}
        case "get_tar":
            return _sent(agent, request, asked["path"])
        case "list":
            names = sorted(agent.workspace.files)
            entries = [{"path": n, "kind": "file", "size": 1, "mode": 0o644, "mtime": 1.0} for n in names]
            if entries:
                request.say(0, json.dumps(entries[: asked["limit"]]).encode())
        case "hash_tree":
            return {"sha256": hashlib.sha256(repr(sorted(agent.workspace.files)).encode()).hexdigest()}
        case "dial":
            raise Refused("unreachable", "nothing listens there")
        case "ack" | "close_input" | "resize" | "run_signal" | "run_resize":
            pass
        case other:
            raise Refused("unknown_operation", str(other))
    return {}


async def _output(agent: Agentctl, request: Request, offset: int) -> dict[str, Any]:
    at = max(offset, agent.base)
    request.say(0, json.dumps({"offset": offset, "gap": at - offset}).encode())
    while True:
        if at < agent.end:
            request.say(1, bytes(agent.held[at - agent.base :]))
            at = agent.end
        if agent.state not in ("running", "draining"):
            return {"offset": at}
        await agent.changed.wait()


async def _run(request: Request) -> dict[str, Any]:
    """``cat`` with an exit code: says what it is told; the last word of its command is its code."""
    request.say(0, b'{"pid":9}')
    async for _, data in request.bytes_in():
        request.say(1, data)
    await asyncio.sleep(MOMENT)  # sleep: a command that says nothing for a while; it takes no time here
    request.say(1, b"done\n")
    word = request.asked["spec"]["argv"][-1]
    return {"code": int(word) if word.isdigit() else 0, "signal": None, "oom": False, "error": ""}


async def _received(agent: Agentctl, request: Request, path: str) -> int:
    digest, data, receipt = hashlib.sha256(), b"", None
    async for channel, chunk in request.bytes_in():
        if channel == 0:
            receipt = json.loads(chunk)
        else:
            digest.update(chunk)
            data += chunk
    if receipt != {"sha256": digest.hexdigest(), "bytes": len(data)}:
        raise Refused("integrity", "the bytes that arrived are not those that were sent")
    agent.workspace.files[f"{path}#{digest.hexdigest()[:8]}"] = data
    return len(data)


def _sent(agent: Agentctl, request: Request, path: str) -> dict[str, Any]:
    data = b"".join(agent.workspace.files.values())[:200_000] or b"empty"
    for start in range(0, len(data), 60_000):
        request.say(1, data[start : start + 60_000])
    return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "left_out": 0}
