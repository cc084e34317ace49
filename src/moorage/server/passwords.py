"""Passwords: argon2id hashes, and limits on guessing.

Called by ``server.routes.signin``. Hashing costs a processor a while and so runs in a thread, a few at once.
A name that nobody has takes as long as a wrong password.
"""

from __future__ import annotations

import asyncio
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from moorage.core.errors import NotSignedIn, TooMany, UsageError
from moorage.core.service.records import User
from moorage.server.parts import ServerParts

SHORTEST: Final = 12
LONGEST: Final = 1024
WINDOW: Final = 900.0
BY_NAME: Final = 10
BY_ADDRESS: Final = 50
"""So many failed sign-ins of one name, or from one address, within the window; then it is waited for its
end."""
AT_ONCE: Final = 2
_hasher = PasswordHasher()
_NOBODY: Final = _hasher.hash("the password of nobody")


class Passwords:
    """Of one server."""

    def __init__(self) -> None:
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def hashed(self, password: str) -> str:
        """UsageError for one that is too short to be any use."""
        if not SHORTEST <= len(password) <= LONGEST:
            raise UsageError(
                f"a password has {SHORTEST} to {LONGEST} characters",
                field="password",
                hint="a sentence of a few words is easy to keep",
            )
        async with self._gate:
            return await asyncio.to_thread(_hasher.hash, password)

    async def signed_in(self, parts: ServerParts, name: str, password: str, address: str) -> User:
        """Whose password it is. NotSignedIn says neither whether there is such a person; TooMany after too
        many failures, also for the right password."""
        people = parts.service.people
        keys = {f"name:{name}": BY_NAME, f"address:{address}": BY_ADDRESS}
        for key, most in keys.items():
            if await people.failures(key, WINDOW) >= most:
                raise TooMany(
                    "too many sign-ins failed",
                    hint=f"wait {WINDOW / 60:.0f} minutes, or ask an administrator for a sign-in link",
                    details={"retry_after": WINDOW},
                )
        found = await people.password_hash(name)
        user, known = found if found else (None, "")
        async with self._gate:
            right = await asyncio.to_thread(_verified, known or _NOBODY, password)
        if user is None or not known or not right:
            for key in keys:
                await people.note_failure(key)
            raise NotSignedIn("the name or the password is wrong", field="password", hint="try again")
        return user


def _verified(known: str, password: str) -> bool:
    try:
        return _hasher.verify(known, password)
    except (VerificationError, InvalidHashError):
        return False
