"""Encrypted values by reference: AES-256-GCM, a fresh nonce a value, bound to its reference.

Implements ``ports.store.Secrets``. Values and keys never stand in errors; references do.
"""

from __future__ import annotations

import os
from typing import Any

import sqlalchemy as sa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.core.errors import IntegrityError, NotFound
from moorage.store import tables
from moorage.store.database import Database, insert_or
from moorage.store.keys import SecretKey

_NONCE_BYTES = 12


class SqlSecrets:
    """``key`` is None when the folder holds secrets but its key file has gone: then none can be used."""

    def __init__(self, database: Database, key: SecretKey | None):
        self._database = database
        self._key = key

    async def put(self, ref: str, value: bytes) -> None:
        """Store ``value``, replacing what stood there. IntegrityError when our key has gone."""
        statement = self.statement(ref, value)

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(statement)

        await self._database.write("secrets.put", work)

    def statement(self, ref: str, value: bytes) -> Any:
        """What ``put`` executes, for a part of the store that writes more in the same transaction."""
        row = {"ref": ref, "key_id": self._require_key().id, "sealed": self.sealed(ref, value)}
        return insert_or(self._database.dialect, tables.secrets, row, replace=True)

    def sealed(self, ref: str, value: bytes) -> bytes:
        """``value`` encrypted and bound to ``ref``, for a part of the store that keeps it elsewhere."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + AESGCM(self._require_key().material).encrypt(nonce, value, _bound_to(ref))

    def opened(self, ref: str, sealed: bytes) -> bytes:
        """What ``sealed`` was made of; IntegrityError when it is not ``ref``'s or not of our key."""
        key = self._require_key()
        try:
            return AESGCM(key.material).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _bound_to(ref))
        except (InvalidTag, ValueError):
            raise IntegrityError(f"{ref} does not decrypt with our key", field=ref) from None

    async def get(self, ref: str) -> bytes:
        """NotFound when there is none; IntegrityError when it cannot be decrypted with our key."""

        async def work(connection: AsyncConnection) -> sa.Row[Any] | None:
            query = sa.select(tables.secrets).where(tables.secrets.c.ref == ref)
            return (await connection.execute(query)).one_or_none()

        row = await self._database.read(work)
        if row is None:
            raise NotFound(f"no stored secret is called {ref}", field=ref)
        key = self._require_key()
        try:
            return self.opened(ref, row.sealed)
        except IntegrityError:
            raise IntegrityError(
                _unreadable(ref, row.key_id, key.id), field=ref, hint="use the key it was stored with"
            ) from None

    async def delete(self, ref: str) -> None:
        """Repeatable."""

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(sa.delete(tables.secrets).where(tables.secrets.c.ref == ref))

        await self._database.write("secrets.delete", work)

    async def names(self, prefix: str) -> list[str]:
        """References that begin so, in order. Needs no key."""
        begins = tables.secrets.c.ref.startswith(prefix, autoescape=True)

        async def work(connection: AsyncConnection) -> list[str]:
            query = sa.select(tables.secrets.c.ref).where(begins).order_by(tables.secrets.c.ref)
            return list((await connection.execute(query)).scalars())

        return await self._database.read(work)

    def _require_key(self) -> SecretKey:
        if self._key is None:
            raise IntegrityError(
                "the stored secrets cannot be used: the key they were encrypted with is gone",
                hint="restore secret.key in the data folder, or set MOORAGE_SECRET_KEY",
            )
        return self._key


async def any_secret(database: Database) -> bool:
    """Whether the database holds a secret; asked before a new key is made."""

    async def work(connection: AsyncConnection) -> bool:
        return (await connection.execute(sa.select(tables.secrets.c.ref).limit(1))).first() is not None

    return await database.read(work)


def _bound_to(ref: str) -> bytes:
    """Authenticated with the value, so that a row moved to another reference does not decrypt."""
    return b"moorage secret v1\0" + ref.encode()


def _unreadable(ref: str, stored: str, ours: str) -> str:
    if stored != ours:
        return f"the secret {ref} was encrypted with key {stored}, ours is {ours}"
    return f"the secret {ref} was changed in the database: it does not decrypt with its key"
