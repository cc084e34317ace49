"""The few git commands that sources need, as subprocesses. Called by ``engine.sources`` only.

Passwords go through the environment to a credential helper, never through argv; nothing prompts; hooks,
filters and monitors that a repository's own configuration names never run here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
from collections.abc import Collection
from pathlib import Path, PurePath
from typing import IO
from urllib.parse import urlsplit

from moorage.core.errors import MoorageError, UsageError
from moorage.core.source_url import parse_git_url

SAFE = (
    *("-c", "protocol.ext.allow=never", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    *("-c", "advice.detachedHead=false"),
)
_HELPER = '!f() { printf "username=%s\\npassword=%s\\n" "$MOORAGE_GIT_USER" "$MOORAGE_GIT_PASSWORD"; }; f'
_EXCLUDED = b"# Moorage\n.moorage-*\n"
_SECRET = re.compile(r"(?<=://)[^/@\s]+@")


class GitError(MoorageError):
    """git said no; its last line, without anything that looks like a credential, is the message."""

    code = "source"


async def git(
    *args: str, cwd: Path | None = None, env: dict[str, str] | None = None, stdin: IO[bytes] | None = None
) -> bytes:
    """Standard output of one git command; ``stdin``: a file (default: nothing). Raises GitError."""
    base = {
        k: v for k, v in os.environ.items() if not k.startswith(("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX"))
    }
    try:
        process = await asyncio.create_subprocess_exec(
            "git",
            *SAFE,
            *args,
            cwd=cwd,
            stdin=stdin or asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**base, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **(env or {})},
        )
    except FileNotFoundError:
        raise GitError("git is not installed here", hint="install git, or leave out --source") from None
    try:
        out, err = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        said = _SECRET.sub("", err.decode(errors="replace")).strip().splitlines()
        raise GitError(f"git {args[0]}: {said[-1] if said else 'failed'}", hint=_hint(err))
    return out


def _hint(err: bytes) -> str:
    if b"dubious ownership" in err:
        return "the directory belongs to another user: git config --global --add safe.directory DIR"
    if b"URL returned error: 30" in err:
        return "the server redirects, and a password goes to no other address: give the final URL"
    if b"Authentication" in err or b"could not read Username" in err or b"Permission denied" in err:
        return "give credentials by git's credential helper or ssh agent on this machine"
    return "check the source with: git ls-remote SOURCE"


async def clone(location: str, tree: Path, *, ref: str = "", user: str = "", password: str = "") -> None:
    """Clone all history of ``location`` into ``tree`` and check out ``ref`` (default: its HEAD)."""
    if ref.startswith("-"):
        raise UsageError(
            f"{ref!r} is not a branch, tag or commit",
            field="source_ref",
            hint="see: git ls-remote SOURCE",
        )
    env: dict[str, str] = {}
    extra: tuple[str, ...] = ()
    if user or password:
        env = {"MOORAGE_GIT_USER": user, "MOORAGE_GIT_PASSWORD": password}
        extra = _only_for(location)
    await git(*extra, "clone", "--quiet", "--no-local", "--", location, str(tree), env=env)
    if ref:
        await git("checkout", "--quiet", ref, "--", cwd=tree)


def _only_for(location: str) -> tuple[str, ...]:
    """Options by which the password is answered to this scheme, host and port, and to no other.

    A server that wants it may redirect: git would ask the helper for the other host too, and some releases
    of curl send what they have to another port. So redirects are not followed.
    """
    parts = urlsplit(location)
    scope = f"credential.{parts.scheme}://{parts.netloc}.helper"
    return (
        *("-c", "http.followRedirects=false"),
        *("-c", "credential.helper="),  # empties the list: no other helper is asked, none stores it
        *("-c", f"{scope}={_HELPER}"),
    )


async def head_commit(tree: Path) -> str:
    """The commit that is checked out; "" in a repository without one."""
    try:
        return (await git("rev-parse", "--verify", "--quiet", "HEAD", cwd=tree)).decode().strip()
    except GitError:
        return ""


async def keep_commit(tree: Path, commit: str, kept: Path) -> None:
    """Keep the files of a commit of ``tree``, without its history, in a repository of their own."""
    kind = "sha256" if len(commit) > 40 else "sha1"
    await git("init", "--quiet", "--bare", "--template=", f"--object-format={kind}", str(kept))
    source = tree.absolute().as_uri()
    await git("fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", source, "HEAD", cwd=kept)


async def is_top_level(path: Path) -> bool:
    """Is ``path`` the top of a git work tree?"""
    if not (path / ".git").exists():
        return False
    top = (await git("rev-parse", "--show-toplevel", cwd=path)).decode().rstrip("\n")
    return Path(top).resolve() == path.resolve()


async def set_origin(source: Path, tree: Path) -> None:
    """Point the clone's origin where the source's points, without credentials; else at nothing."""
    try:
        origin = (await git("remote", "get-url", "origin", cwd=source)).decode().strip()
        url = parse_git_url(origin)
    except (GitError, UsageError):
        url = None
    if url is None:
        await git("remote", "remove", "origin", cwd=tree)
    else:
        await git("remote", "set-url", "origin", url.clean, cwd=tree)


def exclude_ours(tree: Path, more: Collection[str] = ()) -> None:
    """Keep what agentctl leaves in a workspace (its marker, copies under way), and what matches ``more``, out
    of ``git status`` and ``git add`` of the clone, by the list that belongs to this clone alone."""
    info = tree / ".git/info"
    exclude = info / "exclude"
    kept = exclude.read_bytes() if exclude.is_file() else b""
    if info.is_symlink():  # a person's template for new repositories may be made of links to elsewhere
        info.unlink()
    info.mkdir(exist_ok=True)
    exclude.unlink(missing_ok=True)
    added = "".join(f"{pattern}\n" for pattern in more).encode()
    exclude.write_bytes(kept + (b"\n" if kept and not kept.endswith(b"\n") else b"") + _EXCLUDED + added)


async def overlay_dirty(source: Path, tree: Path) -> int:
    """Carry over what is changed, new or deleted in the source and not ignored. Returns how many files."""
    off, nothing = await _without_filters(source)
    listed = await git(
        *off, "ls-files", "-z", "-m", "-o", "-d", "--exclude-standard", cwd=source, env=nothing
    )
    staged = (
        await git("diff", "-z", "--name-only", "--no-renames", "--cached", "HEAD", cwd=source)
        if await head_commit(tree)
        else b""
    )
    names = {os.fsdecode(raw) for raw in (listed + staged).split(b"\0") if raw}
    await asyncio.to_thread(_copy_all, source, tree, sorted(names))
    return len(names)


async def _without_filters(source: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    """Options and environment by which git compares files as they are: filters are commands, and those that
    the source's own configuration names are not ours to run. A file that differs only by its filter then
    counts as changed, and is copied as it is in the source."""
    try:
        listed = await git("config", "-z", "--name-only", "--get-regexp", r"^filter\.", cwd=source)
    except GitError:  # there are none
        return (), {}
    keys = {os.fsdecode(raw) for raw in listed.split(b"\0")}
    filters = sorted({key[: key.rindex(".")] for key in keys if key.count(".") > 1})
    # By the environment, since a filter's name may hold what would end a name in -c NAME=VALUE.
    values = (
        ("clean", "MOORAGE_GIT_NOTHING"),
        ("process", "MOORAGE_GIT_NOTHING"),
        ("required", "MOORAGE_GIT_NO"),
    )
    options = tuple(f"--config-env={name}.{key}={value}" for name in filters for key, value in values)
    return options, {"MOORAGE_GIT_NOTHING": "", "MOORAGE_GIT_NO": "false"}


def _copy_all(source: Path, tree: Path, names: list[str]) -> None:
    # All removals first: what was a file may be a directory now, and the other way round.
    for name in names:
        _remove(tree, name)
    for name in names:
        _copy(source, tree, name)


def _remove(tree: Path, name: str) -> None:
    target = tree / name
    if not target.is_symlink() and not target.is_file():
        return
    target.unlink()
    with contextlib.suppress(OSError):  # not empty: other files are still there
        for parent in PurePath(name).parents[:-1]:
            (tree / parent).rmdir()


def _copy(source: Path, tree: Path, name: str) -> None:
    origin, target = source / name, tree / name
    if any((source / parent).is_symlink() for parent in PurePath(name).parents[:-1]):
        return  # its directory has become a link: git has the file as deleted
    if origin.is_symlink() or origin.is_file():  # else it was deleted, or is an embedded repository
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(origin, target, follow_symlinks=False)
