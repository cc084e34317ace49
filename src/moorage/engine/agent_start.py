"""What an agent is started with: command, first input, and the folders it keeps its conversation in.

Called by ``engine.act``, at each start. The folders lie in the workspace, so that the next Pod has them; git
leaves them out of what it calls changed.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import AsyncIterator, Sequence

from moorage.core.owned import STATE_FOLDER, WORKSPACE_PATH
from moorage.core.session import Session
from moorage.ports.link import Link, ProcessSpec

IGNORED = b"*\n"
"""A .gitignore that ignores its own directory, itself too: also in a repository that the agent makes."""


def start_spec(session: Session, env: dict[str, str]) -> ProcessSpec:
    """The process of this start. ``env``: values of the session's variables."""
    agent, resumed = session.agent, session.run is not None and session.run.resumed
    return ProcessSpec(
        argv=agent.words(resumed=resumed),
        env=env,
        cwd=agent.cwd,
        tty=agent.tty,
        input=agent.first_input(resumed=resumed),
    )


async def make_state_dirs(link: Link, names: Sequence[str]) -> None:
    """Make them where they are not yet; what they hold stays. Raises what ``Link.put_tar`` raises."""
    packed = _folders(names)

    async def chunks() -> AsyncIterator[bytes]:
        yield packed

    await link.put_tar(f"{WORKSPACE_PATH}/{STATE_FOLDER}", chunks(), limit=len(packed), replace=True)


def _folders(names: Sequence[str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        ignore = tarfile.TarInfo(".gitignore")
        ignore.size, ignore.mode = len(IGNORED), 0o644
        archive.addfile(ignore, io.BytesIO(IGNORED))
        for name in names:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o700  # a sign-in may lie there
            archive.addfile(folder)
    return packed.getvalue()
