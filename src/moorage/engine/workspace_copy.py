"""A copy of a workspace on its way from one Pod to another: spooled, bounded, and hashed as agentctl does it.

Called by ``engine.sources``. The hash is that of the bytes which were copied, so what is unpacked elsewhere
can be compared with it, whatever happens to the workspace they came from. Never unpacks anything here.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path

from moorage.core.errors import HelperError, StoreError
from moorage.engine.bounded_tar import Entry, entries

LIMIT = 16 << 30
"""Bytes of one copy."""
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Copied:
    """``marker``: of the tar file, as a filled workspace bears it. ``tree``: what ``hash_tree`` must say of
    the workspace that it is unpacked into. ``size``: bytes of the tar file."""

    marker: str
    tree: str
    size: int


async def spool_copy(chunks: AsyncIterator[bytes], path: Path, *, limit: int = LIMIT) -> Copied:
    """Write the tar to ``path`` (0600) and hash it. Raises HelperError, StoreError."""
    digest, size = await spool(chunks, path, limit=limit)
    return Copied(f"sha256:{digest}", await asyncio.to_thread(_tree_hash, path), size)


async def spool(chunks: AsyncIterator[bytes], path: Path, *, limit: int = LIMIT) -> tuple[str, int]:
    """Write the tar to ``path`` (0600): its SHA-256 and size. Raises HelperError, StoreError."""
    digest, size = hashlib.sha256(), 0
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        async for chunk in chunks:
            size += len(chunk)
            if size > limit:
                raise HelperError(
                    f"the workspace is larger than {limit >> 30} GiB, which is the most that is copied",
                    hint="--method clone lets the storage driver do it, where it can",
                    details={"code": "limit"},
                )
            digest.update(chunk)
            try:
                await asyncio.to_thread(file.write, chunk)
            except OSError as error:
                raise no_room(error, path) from error
        try:
            await asyncio.to_thread(file.flush)
        except OSError as error:
            raise no_room(error, path) from error
    return digest.hexdigest(), size


def no_room(error: OSError, path: Path) -> StoreError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    hint = "make room there, or name another data folder with --data-dir" if full else ""
    return StoreError(f"the copy cannot be kept in {path.parent}: {error.strerror}", hint=hint)


def _tree_hash(path: Path) -> str:
    with path.open("rb") as stream:
        return tree_hash(entries(stream))


def tree_hash(tree: Iterable[Entry]) -> str:
    """What agentctl's ``hash_tree`` says of a directory with these entries (agentctl/internal/files/read.go):
    they come in the order in which both walk it."""
    total = hashlib.sha256()
    for entry in tree:
        content = _file_hash(entry) if entry.kind == "f" else entry.target
        total.update(entry.kind.encode() + entry.mode.to_bytes(4, "big"))
        for part in (entry.name, content):
            total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()


def _file_hash(entry: Entry) -> bytes:
    digest = hashlib.sha256()
    assert entry.content is not None
    while chunk := entry.content.read(_CHUNK):
        digest.update(chunk)
    return digest.digest()
