"""Random bytes that go into a workspace, and what is known of them outside: names and SHA-256.

Used by the stories. A file is on the books once its write was acknowledged, and not before.
"""

from __future__ import annotations

import hashlib
import io
import random
import tarfile
from collections.abc import AsyncIterator, Mapping

CHUNK = 1 << 16


def content(seed: int, size: int) -> bytes:
    """The same bytes for the same seed."""
    return random.Random(seed).randbytes(size)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def packed(name: str, data: bytes) -> AsyncIterator[bytes]:
    """A tar stream of one file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(data), 0o644
        tar.addfile(info, io.BytesIO(data))
    whole = buffer.getvalue()
    for at in range(0, len(whole), CHUNK):
        yield whole[at : at + CHUNK]


def unpacked(archive: bytes) -> dict[str, str]:
    """SHA-256 of each file of a tar archive, by its last name."""
    found: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.isfile() and (stream := tar.extractfile(member)) is not None:
                found[member.name.rpartition("/")[2]] = digest(stream.read())
    return found


def missing(books: Mapping[str, str], found: Mapping[str, str], where: str) -> list[str]:
    """What is on the books and not found as it is there."""
    return [
        f"{name} is {'of other bytes' if name in found else 'gone'} ({where})"
        for name, known in books.items()
        if found.get(name) != known
    ]
