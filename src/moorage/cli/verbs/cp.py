"""``moorage cp``: copy files into or out of a session."""

from __future__ import annotations

import posixpath
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import click

from moorage.cli.command import Call, verb
from moorage.cli.naming import suggest
from moorage.cli.places import Local, Remote, parse_pair
from moorage.cli.streams import ByteWriter, stdin_reader, stdout_writer
from moorage.cli.text import plain, shell_line
from moorage.cli.transfer import download, packed
from moorage.cli.unpack import Omitted
from moorage.cli.verbs import VERBS
from moorage.core.errors import Conflict, HelperError, MoorageError, NotFound, UsageError
from moorage.ports.link import LeftOut
from moorage.ports.sessions import SessionVerbs

MOST_NAMES = 10
"""So many names of what was left out are said."""


@verb(
    "cp",
    help=VERBS["cp"].summary
    + """

    One side is NAME:/path; a path without / is below /workspace. An existing directory is copied into; a
    trailing /. means the contents. - is a tar stream on stdin or stdout. Modes are kept, links stay links;
    links that lead out of the copy, sockets, pipes and devices are left out, said, and end with 1.""",
    examples=(
        "moorage cp NAME:/workspace/report.html .",
        "moorage cp ./data NAME:/workspace/",
        "moorage cp NAME:/workspace - | tar t",
    ),
)
@click.argument("source", metavar="SOURCE")
@click.argument("target", metavar="TARGET")
async def command(call: Call, source: str, target: str) -> int:
    origin, goal = parse_pair(source, target)
    if isinstance(origin, Local) and not origin.is_stream and not Path(origin.path).exists():
        raise NotFound(f"there is no {origin.path} on this machine", field="SOURCE", hint="check the path")
    async with call.sessions() as sessions:
        try:
            if isinstance(origin, Remote) and isinstance(goal, Local):
                return await _from_session(call, sessions, origin, goal)
            assert isinstance(origin, Local)
            assert isinstance(goal, Remote)
            return await _to_session(call, sessions, origin, goal)
        except MoorageError as error:
            if error.details.get("code") in ("denied", "not_found", "failed"):
                error.hint = error.hint or _who_may(origin, goal)
            if not _about_path(error):
                await suggest(sessions, error, _session_of(origin, goal))
            raise
        except OSError as error:
            raise MoorageError(f"cannot copy: {error.strerror}: {error.filename or ''}") from error


def _session_of(origin: Remote | Local, goal: Remote | Local) -> str:
    place = origin if isinstance(origin, Remote) else goal
    assert isinstance(place, Remote)
    return place.session


async def _from_session(call: Call, sessions: SessionVerbs, origin: Remote, goal: Local) -> int:
    left_out = LeftOut()
    if goal.is_stream:
        if call.terminal.stdout_tty:
            raise UsageError("a tar stream would fill your terminal", hint="redirect it, or name a file")
        await _copy(sessions.get_tar(origin.session, origin.path, left_out), stdout_writer())
        return _said(call, left_out)
    kind = await _kind(sessions, origin)
    if kind == "none":
        raise NotFound(
            f"there is no {origin.path} in session {origin.session}",
            field="SOURCE",
            hint=_how_to_look(origin),
        )
    if origin.into and kind == "file":
        raise UsageError(f"{origin.path} is a file, not a directory", hint="leave out the trailing slash")
    target = _local_target(goal.path, "" if origin.contents else posixpath.basename(origin.path))
    single = posixpath.basename(origin.path) if kind == "file" else ""
    counted = _counted(call, sessions.get_tar(origin.session, origin.path, left_out))
    done = await download(counted, target, single=single)
    _say_links(call, done.skipped)
    call.terminal.note(f"copied {_files(done.files)}, {_amount(done.size)}, to {target}")
    return max(_said(call, left_out), 1 if done.skipped else 0)


def _say_links(call: Call, links: Sequence[str]) -> None:
    for name in links:
        call.terminal.say(f"left out, leads out of the copy: {plain(name)}")


def _how_to_look(place: Remote) -> str:
    """What shows a person the name they meant."""
    folder = posixpath.dirname(place.path.rstrip("/")) or "/"
    return f"see what is there: {shell_line(['moorage', 'exec', place.session, '--', 'ls', folder])}"


def _who_may(origin: Remote | Local, goal: Remote | Local) -> str:
    """What to do where the Pod refuses a path."""
    if isinstance(origin, Remote):
        return _how_to_look(origin)
    assert isinstance(goal, Remote)
    folder = posixpath.dirname(goal.path.rstrip("/")) or "/"
    look = shell_line(["moorage", "exec", goal.session, "--", "ls", "-ld", folder])
    return f"/workspace can be written; see who may write there: {look}"


def _said(call: Call, left_out: LeftOut) -> int:
    """Say what a copy does not hold, by count and first names; the exit code that stands for it."""
    if not left_out.count:
        return 0
    names = ", ".join(plain(name) for name in left_out.names[:MOST_NAMES])
    more = left_out.count - min(len(left_out.names), MOST_NAMES)
    those = "1 entry that is" if left_out.count == 1 else f"{left_out.count} entries that are"
    rest = f", and {more} more" if more and names else ""
    call.terminal.say(f"left out {those} neither file, directory nor link: {names}{rest}")
    return 1


def _local_target(path: str, name: str) -> Path:
    """Where a copy goes: into an existing directory under its own name, else exactly there."""
    target = Path(path)
    if target.is_dir():
        target = target / name if name else target
    elif path.endswith("/"):
        raise NotFound(f"there is no directory {path} on this machine", hint=f"mkdir -p {path}")
    if not target.absolute().parent.is_dir():
        raise NotFound(
            f"there is no directory {target.parent} on this machine", hint=f"mkdir -p {target.parent}"
        )
    return target.absolute()


async def _to_session(call: Call, sessions: SessionVerbs, origin: Local, goal: Remote) -> int:
    if origin.is_stream:
        if call.terminal.stdin_tty:
            raise UsageError("a tar stream is expected on stdin", hint="moorage cp - NAME:/path < a.tar")
        size = await sessions.put_tar(goal.session, goal.path, _counted(call, _stdin()))
        call.terminal.note(f"copied {_amount(size)} to {goal.session}:{goal.path}")
        return 0
    source = Path(origin.path)
    base, kind = source.absolute().name, await _kind(sessions, goal)
    contents = origin.path.endswith("/.") or origin.path in (".", "/")
    if source.is_dir():
        if kind == "file":
            raise Conflict(f"{goal.path} is a file in the Pod, and {source} is a directory")
        folder = posixpath.join(goal.path, base) if kind == "dir" and not contents else goal.path
        name = ""
    elif kind == "dir" or goal.into:
        folder, name = goal.path, base
    else:
        folder, name = posixpath.split(goal.path)
    omitted = Omitted()
    chunks = _counted(call, packed(source, name, omitted))
    size = await sessions.put_tar(goal.session, folder, chunks)
    call.terminal.note(f"copied {_amount(size)} to {goal.session}:{posixpath.join(folder, name)}")
    _say_links(call, omitted.links)
    return max(_said(call, LeftOut(len(omitted.special), omitted.special)), 1 if omitted.links else 0)


async def _kind(sessions: SessionVerbs, place: Remote) -> str:
    """What stands at a path in the Pod: file, dir or none."""
    try:
        entries = await sessions.list_files(place.session, place.path)
    except NotFound as error:
        if not _about_path(error):
            raise
        return "none"
    except HelperError as error:
        if error.details.get("code") == "limit":  # only a directory has too many entries
            return "dir"
        raise
    only = entries[0] if len(entries) == 1 else None
    return "file" if only is not None and only.path == place.path and only.kind != "dir" else "dir"


def _about_path(error: MoorageError) -> bool:
    """Did agentctl say this, of a path, rather than the store of a session?"""
    return bool(error.details.get("code"))


async def _stdin() -> AsyncIterator[bytes]:
    reader = stdin_reader()
    while chunk := await reader.read():
        yield chunk


async def _copy(chunks: AsyncIterator[bytes], writer: ByteWriter) -> None:
    async for chunk in chunks:
        await writer.write(chunk)


async def _counted(call: Call, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pass chunks on; on a terminal say once a second how far it is."""
    size, said = 0, time.monotonic()
    async for chunk in chunks:
        yield chunk
        size += len(chunk)
        if call.terminal.stderr_tty and time.monotonic() - said >= 1:
            said = time.monotonic()
            call.terminal.note(f"  {_amount(size)}")


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _amount(size: int) -> str:
    if size < 1024:
        return f"{size} B"
    return f"{size / 1024:.1f} KiB" if size < 1024 * 1024 else f"{size / 1024 / 1024:.1f} MiB"
