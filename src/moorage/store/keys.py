"""The key that secrets are encrypted with: a file of mode 0600, or bytes from the environment.

Called by ``open_store``. The key is never logged, shown by ``repr`` or named in an error.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

from moorage.core.errors import StoreError, UsageError
from moorage.store.folder import sync_folder

KEY_BYTES = 32
FILE_NAME = "secret.key"


@dataclass(frozen=True)
class SecretKey:
    """An AES-256 key; ``id`` names it beside each value without giving anything of it away."""

    material: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.material) != KEY_BYTES:
            raise UsageError(
                f"the secret key has {len(self.material)} bytes, {KEY_BYTES} are needed",
                field="MOORAGE_SECRET_KEY",
                hint="make one with: openssl rand -hex 32",
            )

    @property
    def id(self) -> str:
        return hashlib.sha256(b"moorage secret key id\0" + self.material).hexdigest()[:16]


def read_key(path: Path) -> SecretKey | None:
    """The key in ``path``; None when there is no such file.

    StoreError when anybody else may read or replace it, or when it does not hold a key.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise StoreError(
            f"the secret key {path} cannot be read: {problem.strerror}",
            hint="it must be a plain file of yours with mode 0600",
        ) from problem
    try:
        _check_private(path, os.fstat(descriptor))
        text = os.read(descriptor, 4 * KEY_BYTES).strip()
    finally:
        os.close(descriptor)
    try:
        material = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        material = b""
    if len(material) != KEY_BYTES:
        raise StoreError(
            f"{path} does not hold a key ({2 * KEY_BYTES} hex digits)",
            hint="restore it from a backup; without it the stored secrets are lost",
        )
    return SecretKey(material)


def _check_private(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"{path} is not a plain file", hint="it must be a plain file with mode 0600")
    if status.st_uid != os.geteuid():
        raise StoreError(
            f"{path} belongs to user {status.st_uid}, not to you ({os.geteuid()})",
            hint=f"chown {os.geteuid()} {path}",
        )
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise StoreError(
            f"{path} has mode {mode:04o}: others may use the key", hint=f"chmod 600 {path}", field=str(path)
        )


def discard_unfinished(path: Path) -> None:
    """Remove what a crash in ``make_key`` left beside ``path``. Under the folder's lock only."""
    _unfinished(path).unlink(missing_ok=True)


def _unfinished(path: Path) -> Path:
    return path.with_name(path.name + ".new")


def make_key(path: Path) -> SecretKey:
    """Make a key file; it appears whole or not at all. Under the folder's lock only."""
    key = SecretKey(secrets.token_bytes(KEY_BYTES))
    new = _unfinished(path)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key.material.hex().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    os.link(new, path)  # unlike a rename, never replaces a key
    new.unlink()
    sync_folder(path.parent)
    return key
