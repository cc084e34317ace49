"""How people and programs show who they are. Implements ``ports.service.People``.

Passwords come as hashes, tokens and sign-ins as digests: nothing here ever knew a value.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from moorage.core.errors import NotFound
from moorage.core.service.records import Role, SignIn, Token, User
from moorage.store.database import Database, database_now
from moorage.store.service import tables
from moorage.store.service.kinds import TOKENS, USERS
from moorage.store.service.rows import SqlRows, storable
from moorage.store.service.uses import sign_out

NOTED_EVERY: Final = 60.0
"""Seconds between two notes of a token's use: a program that asks often writes no row a request."""
FAILURES_KEPT: Final = 24 * 3600.0

_users = tables.users.c
_tokens = tables.tokens.c
_signs = tables.sign_ins.c


class SqlPeople:
    """Sign-ins and tokens of one database."""

    def __init__(self, database: Database, tokens: SqlRows[Token]):
        self._database = database
        self._rows = tokens

    async def set_password(self, user_id: str, password_hash: str) -> None:
        """Ends every sign-in of that person. NotFound."""

        async def work(connection: AsyncConnection) -> None:
            update = sa.update(tables.users).where(_users.id == user_id).values(password_hash=password_hash)
            if not (await connection.execute(update)).rowcount:
                raise NotFound(f"there is no user {user_id}", field="user")
            await sign_out(connection, user_id)

        await self._database.write("people.set_password", work)

    async def password_hash(self, name: str) -> tuple[User, str] | None:
        """None when nobody enabled has this name; "" when there is no password."""
        if not storable(name):
            return None
        row = await self._one(_users.name == name)
        return None if row is None else (USERS.row(row), row.password_hash)

    async def by_subject(self, issuer: str, subject: str) -> User | None:
        """Who signed in through that provider before, also when disabled."""
        if not issuer or not storable(issuer + subject):
            return None
        row = await self._one(_users.issuer == issuer, _users.subject == subject, enabled=False)
        return None if row is None else USERS.row(row)

    async def add_token(self, token: Token, digest: bytes) -> Token:
        """As ``Rows.add``."""
        return await self._rows.add_with(token, {"digest": digest})

    async def by_token(self, digest: bytes) -> tuple[User, Token] | None:
        """None for one that is not there, is over, or whose person is disabled. Notes its use."""

        async def work(connection: AsyncConnection) -> tuple[User, Token, bool] | None:
            now = database_now()
            valid = sa.or_(_tokens.expires_at == 0, _tokens.expires_at > now)
            query = sa.select(tables.tokens, (_tokens.last_used_at < now - NOTED_EVERY).label("note"))
            row = (await connection.execute(query.where(_tokens.digest == digest, valid))).one_or_none()
            user = row and await _user(connection, _users.id == row.user_id)
            return (USERS.row(user), TOKENS.row(row), bool(row.note)) if row and user else None

        found = await self._database.read(work)
        if found is None:
            return None
        user, token, note = found
        if note:
            await self._note_use(token.id)
        return user, token

    async def sign_in(self, row: SignIn, digest: bytes) -> None:
        """For as long as ``row`` lasts, by the database's clock. NotFound: no such person. What is over of
        anybody's is removed with it."""
        now = database_now()
        values = {"id": row.id, "user_id": row.user_id, "csrf": row.csrf, "digest": digest, "created_at": now}

        async def work(connection: AsyncConnection) -> None:
            if await _user(connection, _users.id == row.user_id) is None:
                raise NotFound(f"there is no user {row.user_id}", field="user")
            await connection.execute(sa.delete(tables.sign_ins).where(_signs.expires_at <= now))
            until = now + (row.expires_at - row.created_at)
            await connection.execute(sa.insert(tables.sign_ins).values(**values, expires_at=until))

        await self._database.write("people.sign_in", work)

    async def by_sign_in(self, digest: bytes) -> tuple[User, SignIn] | None:
        """None for one that is not there, is over, or whose person is disabled."""

        async def work(connection: AsyncConnection) -> tuple[User, SignIn] | None:
            valid = sa.and_(_signs.digest == digest, _signs.expires_at > database_now())
            row = (await connection.execute(sa.select(tables.sign_ins).where(valid))).one_or_none()
            user = row and await _user(connection, _users.id == row.user_id)
            if not row or not user:
                return None
            return USERS.row(user), SignIn(row.id, row.user_id, row.csrf, row.created_at, row.expires_at)

        return await self._database.read(work)

    async def sign_out(self, digest: bytes) -> None:
        """Repeatable."""

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(sa.delete(tables.sign_ins).where(_signs.digest == digest))

        await self._database.write("people.sign_out", work)

    async def offer_link(self, user_id: str, digest: bytes, seconds: float) -> None:
        """NotFound: no such person."""
        values = {"digest": digest, "user_id": user_id, "expires_at": database_now() + seconds}

        async def work(connection: AsyncConnection) -> None:
            if await _user(connection, _users.id == user_id) is None:
                raise NotFound(f"there is no user {user_id}", field="user")
            over = tables.links.c.expires_at <= database_now()
            await connection.execute(sa.delete(tables.links).where(over))
            await connection.execute(sa.insert(tables.links).values(values))

        await self._database.write("people.offer_link", work)

    async def take_link(self, digest: bytes) -> User | None:
        """The person, the first time only."""
        columns = tables.links.c

        async def work(connection: AsyncConnection) -> User | None:
            mine = sa.and_(columns.digest == digest, columns.expires_at > database_now())
            taken = sa.delete(tables.links).where(mine).returning(columns.user_id)
            user_id = (await connection.execute(taken)).scalar_one_or_none()
            user = None if user_id is None else await _user(connection, _users.id == user_id)
            return None if user is None else USERS.row(user)

        return await self._database.write("people.take_link", work)

    async def failures(self, key: str, seconds: float) -> int:
        """Sign-ins that failed under ``key`` in the last ``seconds``."""
        columns = tables.failures.c
        recent = sa.and_(columns.key == _hidden(key), columns.at > database_now() - seconds)
        return await self._count(sa.select(sa.func.count()).select_from(tables.failures).where(recent))

    async def note_failure(self, key: str) -> None:
        """What is older than a day is removed with it."""
        now = database_now()

        async def work(connection: AsyncConnection) -> None:
            old = tables.failures.c.at < now - FAILURES_KEPT
            await connection.execute(sa.delete(tables.failures).where(old))
            await connection.execute(sa.insert(tables.failures).values(key=_hidden(key), at=now))

        await self._database.write("people.note_failure", work)

    async def count(self, role: Role | None = None) -> int:
        """Enabled people."""
        query = sa.select(sa.func.count()).select_from(tables.users).where(sa.not_(_users.disabled))
        return await self._count(query if role is None else query.where(_users.role == role.value))

    async def _count(self, query: sa.Select[Any]) -> int:
        async def work(connection: AsyncConnection) -> int:
            number: int = (await connection.execute(query)).scalar_one()
            return number

        return await self._database.read(work)

    async def _one(self, *where: sa.ColumnElement[bool], enabled: bool = True) -> sa.Row[Any] | None:
        return await self._database.read(lambda connection: _user(connection, *where, enabled=enabled))

    async def _note_use(self, token_id: str) -> None:
        async def work(connection: AsyncConnection) -> None:
            used = sa.update(tables.tokens).where(_tokens.id == token_id)
            await connection.execute(used.values(last_used_at=database_now()))

        await self._database.write("people.note_use", work)


async def _user(
    connection: AsyncConnection, *where: sa.ColumnElement[bool], enabled: bool = True
) -> sa.Row[Any] | None:
    query = sa.select(tables.users).where(*where)
    if enabled:
        query = query.where(sa.not_(_users.disabled))
    return (await connection.execute(query)).one_or_none()


def _hidden(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="surrogatepass")).digest()
