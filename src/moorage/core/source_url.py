"""Is this source a git URL, and which part of it is secret? Called by ``engine.sources``. Pure.

Forms: ``https://host/path``, ``http://``, ``ssh://``, ``git://``, ``file://`` and git's short
``user@host:path``. Anything else is a local path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit, urlunsplit

from moorage.core.errors import UsageError

SCHEMES = ("https", "http", "ssh", "git", "file")
_SHORT = re.compile(r"^[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+:(?!//)[^\s]+$")
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)(::|://)")


@dataclass(frozen=True)
class GitUrl:
    """``clean`` holds no password; ``user`` and ``password`` go to git by another way."""

    clean: str
    user: str = ""
    password: str = field(default="", repr=False)


def parse_git_url(text: str) -> GitUrl | None:
    """None for a local path. UsageError for a scheme that git would take but we do not, and for a URL with
    a query (tokens stand there, and the URL is shown and recorded) or with control characters."""
    if _SHORT.match(text):
        return GitUrl(text)
    found = _SCHEME.match(text)
    if not found:
        return None
    if not text.isprintable():
        raise UsageError(
            "the source URL holds characters that cannot be printed",
            field="source",
            hint="write it on one line; percent-encode what is not a letter, digit or mark",
        )
    scheme = found.group(1).lower()
    if found.group(2) == "::" or scheme not in SCHEMES:
        raise UsageError(
            f"source scheme {found.group(1)!r} is not supported",
            field="source",
            hint="use https, ssh, git or file URLs, user@host:path, or a local directory",
        )
    return _split(text, scheme)


def _split(text: str, scheme: str) -> GitUrl:
    try:
        parts = urlsplit(text)
        port = f":{parts.port}" if parts.port else ""
    except ValueError as error:
        raise UsageError("the source is not a valid URL", field="source", hint=str(error)) from None
    if scheme != "file" and not parts.hostname:
        raise UsageError("the source URL names no host", field="source")
    if "?" in text.partition("#")[0]:
        raise UsageError(
            "the source URL has a query, which could hold a token and would be recorded",
            field="source",
            hint="leave out ?…; give credentials by git's credential helper",
        )
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if not (user + password).isprintable():
        raise UsageError(
            "the login in the source URL holds control characters",
            field="source",
            hint="give credentials by git's credential helper",
        )
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    # ssh needs its user in the URL; for http a lone user name may itself be a token, so it stays out.
    shown = f"{parts.username}@" if scheme == "ssh" and user else ""
    clean = urlunsplit((parts.scheme, f"{shown}{host}{port}", parts.path, "", ""))
    if scheme == "ssh":
        return GitUrl(clean)
    return GitUrl(clean, user, password)
