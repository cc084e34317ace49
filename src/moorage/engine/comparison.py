"""A work tree compared with a commit, by git, in a repository of our own. Called by ``sessions.changes``.

The tree may be hostile. Git sees an empty repository that borrows the objects of the commit; no
configuration but ours, hence no filter, diff driver, text conversion, hook or monitor: their names in
``.gitattributes`` mean nothing here. Neither the repository that the objects belong to nor its work tree is
touched, but for a branch that ``Comparison.to_branch`` is asked to make there.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import IO

from moorage.core.errors import Conflict, HelperError, NotFound, UsageError
from moorage.engine.git import GitError, git
from moorage.ports.changes import ChangedFile

PATCH_LIMIT = 256 << 20
"""Bytes of one patch: it is kept in memory."""
_SHA1 = 40
"""Hexadecimal digits of a commit in most repositories."""
_OURS = (
    *("-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "core.fileMode=true"),
    *("-c", "core.symlinks=true", "-c", "core.attributesFile=/dev/null", "-c", "core.excludesFile=/dev/null"),
    *("-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", "-c", "gc.auto=0"),
)
_AUTHOR = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Moorage"), ("EMAIL", "moorage@localhost"))
}
_DIFF = ("--no-renames", "--no-ext-diff", "--no-textconv")


class Comparison:
    """``tree`` is the work tree as git's object, once ``made``."""

    def __init__(self, repository: Path, commit: str, tree: str) -> None:
        self._repository = repository
        self._commit = commit
        self.tree = tree

    @classmethod
    async def made(cls, work: Path, objects: Path, commit: str, checkout: Path) -> Comparison:
        """``work``: an empty directory for the repository; ``objects``: where ``commit`` is. Raises NotFound
        when it is there no more."""
        repository = work / "repository"
        kind = "sha256" if len(commit) > _SHA1 else "sha1"
        await git(
            "init",
            "--quiet",
            "--bare",
            "--template=",
            f"--object-format={kind}",
            str(repository),
            env=_alone(),
        )
        if "\n" in str(objects) or '"' in str(objects):
            raise UsageError(f"git cannot borrow objects from a path like {str(objects)!r}")
        (repository / "objects/info").mkdir(exist_ok=True)
        (repository / "objects/info/alternates").write_bytes(os.fsencode(objects) + b"\n")
        (repository / "info").mkdir(exist_ok=True)
        (repository / "info/exclude").write_text(".moorage-*\n")
        made = cls(repository, commit, "")
        try:
            await made._git("read-tree", f"{commit}^{{tree}}")
        except GitError as error:
            raise NotFound(
                f"commit {commit[:12]} is not in the repository any more",
                field="source",
                hint="the files themselves: moorage cp NAME:/workspace DIR",
            ) from error
        await made._git("add", "--all", "--", ".", tree=checkout)
        made.tree = (await made._git("write-tree")).decode().strip()
        return made

    async def _git(self, *args: str, tree: Path | None = None, stdin: IO[bytes] | None = None) -> bytes:
        where = {"GIT_DIR": str(self._repository), **({"GIT_WORK_TREE": str(tree)} if tree else {})}
        return await git(*_OURS, *args, cwd=tree, env={**_alone(), **where}, stdin=stdin)

    async def files(self) -> tuple[ChangedFile, ...]:
        """What differs, by path."""
        names = (await self._diff("--name-status", "-z")).split(b"\0")[:-1]
        sizes = (await self._diff("--numstat", "-z")).split(b"\0")[:-1]
        lines = [size.split(b"\t", 2)[:2] for size in sizes]
        return tuple(
            ChangedFile(path.decode(errors="replace"), status.decode(), _count(added), _count(deleted))
            for status, path, (added, deleted) in zip(names[::2], names[1::2], lines, strict=True)
        )

    async def _diff(self, *args: str) -> bytes:
        return await self._git("diff-tree", "-r", *_DIFF, *args, f"{self._commit}^{{tree}}", self.tree)

    async def patch(self, work: Path) -> bytes:
        """What ``git apply`` takes onto the commit, binary files too. HelperError beyond PATCH_LIMIT."""
        path = work / "patch"
        await self._diff("-p", "--binary", "--full-index", "--no-color", f"--output={path}")
        size = path.stat().st_size
        if size > PATCH_LIMIT:
            raise HelperError(
                f"the changes make a patch of {size >> 20} MiB, more than {PATCH_LIMIT >> 20}",
                hint="take them as a branch: moorage export NAME --branch BRANCH",
                details={"code": "limit"},
            )
        return await asyncio.to_thread(path.read_bytes)

    async def to_branch(self, work: Path, repository: Path, branch: str, message: str) -> str:
        """Make ``branch`` in the repository at this path: one commit on top of the one compared with. Returns
        its id. Its work tree, index and HEAD stay as they are. Conflict when there is such a branch."""
        ref = f"refs/heads/{branch}"
        await check_branch(repository, branch)
        env = {**_alone(), **_AUTHOR, "GIT_DIR": str(self._repository)}
        made = await git("commit-tree", self.tree, "-p", self._commit, "-m", message, env=env)
        commit = made.decode().strip()
        wanted = work / "wanted"
        wanted.write_text(f"{commit}\n^{self._commit}\n")
        with wanted.open("rb") as revisions:
            await self._git("pack-objects", "--quiet", "--revs", str(work / "new"), stdin=revisions)
        for pack in work.glob("new-*.pack"):
            with pack.open("rb") as objects:
                await git("index-pack", "--stdin", cwd=repository, stdin=objects)
        try:
            await git(
                "update-ref", ref, commit, "0" * len(commit), cwd=repository
            )  # only where there is none
        except GitError as error:
            raise Conflict(
                f"branch {branch} could not be made in {repository}: {error.message}", field="branch"
            ) from error
        return commit


async def check_branch(repository: Path, branch: str) -> None:
    """Raises UsageError for what is no name of a branch, Conflict for one that is there, NotFound without a
    repository."""
    if not (repository / ".git").exists():
        raise _no_repository(repository)
    try:
        await git("check-ref-format", f"refs/heads/{branch}", cwd=repository)
        if branch.startswith("-") or branch == "HEAD":
            raise GitError("a branch is not called so")
    except GitError:
        raise UsageError(f"{branch!r} is no name for a branch", field="branch") from None
    try:
        await git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", cwd=repository)
    except GitError:
        return
    raise Conflict(
        f"there is a branch {branch} in {repository} already", field="branch", hint="give another name"
    )


async def objects_of(repository: Path) -> Path:
    """Where a repository with a work tree keeps its objects. NotFound when there is none."""
    if not (repository / ".git").exists():
        raise _no_repository(repository)
    found = await git("rev-parse", "--git-path", "objects", cwd=repository)
    return (repository / os.fsdecode(found.rstrip(b"\n"))).resolve()


def _no_repository(repository: Path) -> NotFound:
    hint = "the files themselves: moorage cp NAME:/workspace DIR"
    return NotFound(f"there is no git repository {repository} any more", field="source", hint=hint)


def _count(number: bytes) -> int | None:
    return None if number == b"-" else int(number)


def _alone() -> dict[str, str]:
    """Git without the configuration of this machine and its people."""
    return {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_COUNT": "0",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
    }
