"""What a story does inside a session: bytes in and out by exec and copies, and the final comparison.

Every method is one try: it returns once all was acknowledged, and raises what the verb raised. Bytes that
come back other than they were are told to ``lost``.
"""

from __future__ import annotations

import asyncio
import random

from moorage.ports.link import ProcessSpec, RemoteProcess
from moorage.ports.sessions import SessionVerbs
from tools.soak.files import CHUNK, content, digest, missing, packed, unpacked
from tools.soak.schedule import Step
from tools.soak.trying import Again

WORKSPACE = "/workspace"


class Inside:
    """One session's workspace. ``books``: SHA-256 of every file whose write was acknowledged."""

    def __init__(self, verbs: SessionVerbs, name: str, lost: list[str]) -> None:
        self._verbs, self._name, self._lost = verbs, name, lost
        self.books: dict[str, str] = {}
        self.moved = 0

    async def run(self, *argv: str, data: bytes = b"") -> bytes:
        """``exec``: standard output. Raises Again where the command did not end with 0."""
        process = await self._verbs.exec(self._name, ProcessSpec(argv))
        sending = asyncio.create_task(self._send(process, data))
        out, err = bytearray(), bytearray()
        try:
            while (piece := await process.read()) is not None:
                (out if piece[0] == 1 else err).extend(piece[1])
            status = await process.wait()
            await sending
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            await process.close()
        if status.code != 0:
            raise Again(f"{argv[0]} ended with {status}: {err.decode(errors='replace')[-200:]}")
        self.moved += len(data) + len(out)
        return bytes(out)

    async def _send(self, process: RemoteProcess, data: bytes) -> None:
        for at in range(0, len(data), CHUNK):
            await process.write(data[at : at + CHUNK])
        await process.close_stdin()

    async def echo(self, step: Step) -> None:
        """Bytes in, the same bytes out."""
        data = content(step.seed, step.size)
        back = await self.run("cat", data=data)
        if back != data:
            self._lost.append(f"exec gave back {len(back)} bytes, not the {len(data)} it was given")

    async def write(self, step: Step) -> None:
        """A file written by a command from its standard input."""
        data, name = content(step.seed, step.size), f"written-{step.seed:08x}"
        await self.run("sh", "-c", f"cat > {WORKSPACE}/{name}", data=data)
        self.books[name] = digest(data)

    async def copy_in(self, step: Step) -> None:
        """``cp`` of a file into the workspace."""
        data, name = content(step.seed, step.size), f"copied-{step.seed:08x}"
        await self._verbs.put_tar(self._name, WORKSPACE, packed(name, data))
        self.books[name] = digest(data)
        self.moved += len(data)

    async def copy_out(self, step: Step) -> None:
        """``cp`` of a known file out of it; of everything where none is known yet."""
        if not self.books:
            await self._archive(WORKSPACE)
            return
        name = random.Random(step.seed).choice(sorted(self.books))
        found = await self._archive(f"{WORKSPACE}/{name}")
        self._lost += missing({name: self.books[name]}, found, "copied out")

    async def check(self) -> None:
        """Every file on the books: as the container sees it, and as it is copied out."""
        if not self.books:
            return
        listed = await self.run(
            "sh", "-c", f"cd {WORKSPACE} && sha256sum written-* copied-* 2>/dev/null; true"
        )
        lines = [line.split() for line in listed.decode(errors="replace").splitlines()]
        self._lost += missing(self.books, {name: known for known, name in lines}, "in the container")
        self._lost += missing(self.books, await self._archive(WORKSPACE), "copied out at the end")

    async def _archive(self, path: str) -> dict[str, str]:
        parts = [chunk async for chunk in self._verbs.get_tar(self._name, path)]
        self.moved += sum(map(len, parts))
        return unpacked(b"".join(parts))
