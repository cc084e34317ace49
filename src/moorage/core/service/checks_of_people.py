"""The rules of the fields of people and of what is theirs: tasks and tokens.

Pure. Called before one is stored; each fault names its field as the API has it. Whether an id is somebody's
is the store's to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from moorage.core.command import is_utf8
from moorage.core.errors import Problem
from moorage.core.service.records import Task, Token, User

TITLE_LIMIT = 200
"""Characters."""
PROMPT_LIMIT = 128 * 1024
"""Bytes."""

_COLUMN = re.compile(r"[a-z0-9]([-a-z0-9_]{0,30}[a-z0-9])?")
_USER = re.compile(r"[a-z0-9]([-a-z0-9_.@+]{0,61}[a-z0-9])?")
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,189}")


def check_user(user: User) -> list[Problem]:
    """Small letters alone, so that two names that look alike are not two people."""
    return list(_user(user))


def _user(user: User) -> Iterator[Problem]:
    if not _USER.fullmatch(user.name):
        hint = "a-z, 0-9 and -_.@+, at most 63 characters, a letter or digit at both ends"
        yield Problem("name", "name", f"{user.name!r} cannot be a person's name", hint)
    if user.email and not (_EMAIL.fullmatch(user.email) and user.email.isprintable()):
        yield Problem("email", "email", f"{user.email!r} is no address", "write it like ann@example.org")
    if bool(user.issuer) is not bool(user.subject):
        field = "subject" if user.issuer else "issuer"
        yield Problem(field, "required", "issuer and subject belong together", "give both or neither")
    if user.issuer and not user.issuer.startswith("https://"):
        yield Problem("issuer", "url", f"{user.issuer!r} is no https address", "as the provider spells it")


def check_task(task: Task) -> list[Problem]:
    """What stands on the board, and what the agent is told."""
    return list(_task(task))


def _task(task: Task) -> Iterator[Problem]:
    title = task.title.strip()
    if not title or not title.isprintable() or len(title) > TITLE_LIMIT:
        said = "the title is empty, too long or no plain line"
        yield Problem("title", "text", said, f"one line of at most {TITLE_LIMIT} characters")
    if not is_utf8(task.prompt) or "\0" in task.prompt:
        yield Problem("prompt", "text", "the prompt is no text", "give UTF-8 without NUL")
    elif len(task.prompt.encode()) > PROMPT_LIMIT:
        said = f"the prompt is longer than {PROMPT_LIMIT} bytes"
        yield Problem("prompt", "size", said, "put what is long into a file of the repository")
    if not _COLUMN.fullmatch(task.column):
        hint = "a-z, 0-9, - and _, at most 32 characters"
        yield Problem("column", "name", f"{task.column!r} cannot name a column of the board", hint)


def check_token(token: Token, now: float) -> list[Problem]:
    """``now``: by the clock that will judge it."""
    return list(_token(token, now))


def _token(token: Token, now: float) -> Iterator[Problem]:
    name = token.name.strip()
    if not name or not name.isprintable() or len(name) > TITLE_LIMIT:
        yield Problem("name", "name", "a token needs a name to be known by", "say what uses it")
    if token.expires_at and not now < token.expires_at < float("inf"):
        yield Problem("expires_at", "range", "it would be over already", "a time to come, or 0 for never")
