"""Tar between an asynchronous stream and the local file system, through a pipe and one worker thread.

Used by ``cp``. A download shows under its final name only once all of it has arrived and was checked.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tarfile
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from moorage.cli.streams import CHUNK, ByteReader, ByteWriter
from moorage.cli.terminal import OutputClosed
from moorage.cli.unpack import Omitted, Unpacked, pack, unpack
from moorage.core.errors import Conflict, IntegrityError


async def download(chunks: AsyncIterator[bytes], target: Path, *, single: str) -> Unpacked:
    """Unpack ``chunks`` to ``target``. ``single``: the archive holds one file of this name, and ``target``
    is what it shall be called; "" for the contents of a directory. Raises HostileArchive, Conflict,
    IntegrityError, OSError, and what ``chunks`` raises; then nothing was changed, or entries replaced one
    by one where the directory existed and the disk failed."""
    staging = Path(tempfile.mkdtemp(prefix=".moorage-", dir=target.parent))
    try:
        root = staging / "tree"
        root.mkdir()
        done = await _unpack_stream(chunks, root)
        if single and not _is_regular(root / single):
            raise IntegrityError(f"the Pod sent no file {single!r}")
        source = root / single if single else root
        check_settle(source, target, named=True)
        settle(source, target)
        for name, mode in sorted(done.modes.items(), reverse=True):
            if not single:
                os.chmod(target / name, mode)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return done


async def _unpack_stream(chunks: AsyncIterator[bytes], root: Path) -> Unpacked:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    worker = asyncio.create_task(asyncio.to_thread(_unpack_from, read_end, root))
    try:
        writer = ByteWriter(write_end, size=CHUNK)
        async for chunk in chunks:
            await writer.write(chunk)
    except OutputClosed:
        pass  # the worker gave up; its own error says why
    except BaseException:
        os.close(write_end)
        await asyncio.gather(worker, return_exceptions=True)
        raise
    os.close(write_end)
    try:
        return await worker
    except tarfile.TarError as error:
        raise IntegrityError(f"the Pod sent no readable archive: {error}") from error


def _unpack_from(read_end: int, root: Path) -> Unpacked:
    with os.fdopen(read_end, "rb") as stream:
        return unpack(stream, root)


def check_settle(source: Path, target: Path, *, named: bool = False) -> None:
    """Can ``source`` be moved to ``target``? Raises Conflict where one is a directory and the other is not.

    A link to a directory is followed only where a person ``named`` it: below that, it would let a Pod
    write wherever it leads.
    """
    if not _is_dir(source):
        if _is_dir(target):
            raise Conflict(f"{target} is a directory, and the copy is a file", hint="move it away first")
    elif target.is_symlink() and not named:
        raise Conflict(f"{target} is a link, and the copy is a directory", hint="move it away first")
    elif target.is_dir():
        for entry in os.listdir(source):
            check_settle(source / entry, target / entry)
    elif os.path.lexists(target):
        raise Conflict(f"{target} is a file, and the copy is a directory", hint="move it away first")


def settle(source: Path, target: Path) -> None:
    """Move ``source`` to ``target`` after ``check_settle``; directories are merged, files replaced."""
    if _is_dir(source) and target.is_dir():
        for entry in sorted(os.listdir(source)):
            settle(source / entry, target / entry)
    else:
        os.replace(source, target)


def _is_regular(path: Path) -> bool:
    """Is it a file itself? A link would stand here under the name of the copy and lead where it likes."""
    return path.is_file() and not path.is_symlink()


def _is_dir(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


async def packed(source: Path, name: str, omitted: Omitted) -> AsyncIterator[bytes]:
    """``source`` as tar, see ``unpack.pack``; what was left out is added to ``omitted``."""
    read_end, write_end = os.pipe()
    worker = asyncio.create_task(asyncio.to_thread(_pack_to, write_end, source, name))
    try:
        reader = ByteReader(read_end)
        while chunk := await reader.read():
            yield chunk
    finally:
        os.close(read_end)
        result = (await asyncio.gather(worker, return_exceptions=True))[0]
    if isinstance(result, BaseException):
        raise result
    omitted.special += result.special
    omitted.links += result.links


def _pack_to(write_end: int, source: Path, name: str) -> Omitted:
    with os.fdopen(write_end, "wb") as stream:
        return pack(stream, source, name)
