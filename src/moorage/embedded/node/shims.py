"""Starts, finds and asks the shims, one per Pod (``node.shim``). Called by ``node.worker`` and
``node.streams``.

The protocol stands in ``shim.server``. A socket is reached through a descriptor of its folder, so that no
path is too long for it.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from moorage.embedded.seam import NodeError

START = "import sys; sys.path.append(sys.argv.pop(1)); from shim.main import main; main()"
"""The shim's program: our folder on the path of an interpreter that loads nothing else."""

HEADER = struct.Struct(">BI")
STDIN, STDOUT, STDERR, END_OF_INPUT, SIZE, EXIT = 0, 1, 2, 3, 4, 5
_LINE = 16 << 20
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class ShimGone(Exception):
    """The shim does not answer: it was killed, and its containers with it."""


async def connect_unix(path: Path) -> Streams:
    """Connect to a unix socket at a path of any length. OSError when nobody listens."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        return await asyncio.open_unix_connection(f"/proc/self/fd/{folder}/{path.name}", limit=_LINE)
    finally:
        os.close(folder)


class Shim:
    """One Pod's shim; ``folder`` is the Pod's."""

    def __init__(self, folder: Path, mode: str) -> None:
        self.folder, self._mode = folder, mode

    async def start(self) -> None:
        """Start it unless it runs. Raises NodeError when it cannot."""
        if await self.answers():
            return
        log = os.open(self.folder / "shim.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", "-c", START, str(Path(__file__).parent), str(self.folder),
                self._mode, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, env={},
                start_new_session=True, )  # fmt: skip
        finally:
            os.close(log)
        if await process.wait():
            said = (self.folder / "shim.log").read_text(errors="replace").strip().splitlines()
            raise NodeError(f"the Pod's shim did not start: {said[-1] if said else 'it said nothing'}")

    def seen(self, path: Path) -> Path:
        """A path as the shim sees it, which has mounts of its own. Raises OSError when it does not run."""
        if self._mode == "plain":
            return path
        pid = int((self.folder / "shim.pid").read_text())
        return Path(f"/proc/{pid}/root{path.resolve()}")

    async def answers(self) -> bool:
        try:
            _, writer = await connect_unix(self.folder / "shim.sock")
        except OSError:
            return False
        writer.close()
        return True

    async def ask(self, op: str, **what: Any) -> dict[str, Any]:
        """One question, one answer. Raises ShimGone."""
        answer, (_, writer) = await self.open(op, **what)
        writer.close()
        return answer

    async def open(self, op: str, **what: Any) -> tuple[dict[str, Any], Streams]:
        """The first line of the answer, and the connection it came on. Raises ShimGone."""
        try:
            reader, writer = await connect_unix(self.folder / "shim.sock")
        except OSError as error:
            raise ShimGone(str(error)) from error
        try:
            writer.write(json.dumps({"op": op, **what}).encode() + b"\n")
            await writer.drain()
            line = await reader.readline()
        except OSError as error:
            writer.close()
            raise ShimGone(str(error)) from error
        except BaseException:  # cancelled: the connection is nobody's
            writer.close()
            raise
        if not line:
            writer.close()
            raise ShimGone("the shim ended")
        answer: dict[str, Any] = json.loads(line)
        return answer, (reader, writer)

    async def changes(self) -> AsyncGenerator[dict[str, Any], None]:
        """``{"records": […]}`` first, then ``{"record"}`` and ``{"log"}`` as they come; ends with the
        shim.
        """
        first, (reader, writer) = await self.open("watch")
        try:
            yield first
            while line := await reader.readline():
                yield json.loads(line)
        except OSError:
            return
        finally:
            writer.close()

    async def end(self) -> None:
        """Kill what runs and end it; one that is gone is no error."""
        try:
            _, (reader, writer) = await self.open("end")
        except ShimGone:
            return
        try:
            await reader.read()  # it closes the connection last
        except OSError:
            return
        finally:
            writer.close()
