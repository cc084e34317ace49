"""Logins in the files of git repositories that are packed as they are. Called by ``engine.tree_tar``. Pure.

A repository inside a source, or one without a work tree, keeps its remotes with whatever login a person
once wrote there; some tools add headers with tokens. Content and history are never looked at.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import PurePosixPath

LARGEST = 64 * 1024 * 1024
"""Bytes of a file that is looked through; git writes none that comes near."""

_CONFIGURATION = frozenset({"config", "config.worktree"})
_WITH_URLS = frozenset({"FETCH_HEAD", *_CONFIGURATION})
_FOLDERS_WITH_URLS = frozenset({"logs", "remotes", "branches"})
_ANY = rb"(?:\\\r?\n|[^\n])"  # a backslash at the end of a line joins the next one to it
_URL_LOGIN = re.compile(rb"(?P<scheme>[A-Za-z0-9+.-]{0,20})://(?P<login>(?:\\\r?\n|[^/\s])*)@")
_SECRET_VALUE = re.compile(
    rb"^(?P<before>[ \t]*(?:\[[^\n]*\][ \t]*)?)"
    rb"(?:(?:[\w-]*(?:extraheader|pass|password|token|secret))[ \t]*=" + _ANY + rb"*"
    rb"|helper[ \t]*=[ \t]*[\"']?!" + _ANY + rb"*)",  # a helper that is shell text may print its password
    re.IGNORECASE | re.MULTILINE,
)


def is_repository(names: Collection[str]) -> bool:
    """Does a directory with these entries look like git's own: that of a bare repository or a module?"""
    return {"HEAD", "objects", "refs"} <= set(names)


def may_hold_logins(path: PurePosixPath) -> bool:
    """Is ``path``, relative to git's own directory, a file where git or its tools write addresses?

    Directories of modules and work trees (``modules/x/config``) lie inside and count like the outer one.
    """
    return path.name in _WITH_URLS or not _FOLDERS_WITH_URLS.isdisjoint(path.parts[:-1])


def without_logins(path: PurePosixPath, content: bytes) -> bytes:
    """``content`` of a file for which ``may_hold_logins`` holds, without logins of URLs; of a
    configuration also without headers, passwords and helpers made of shell text."""
    if path.name in _CONFIGURATION:
        content = _SECRET_VALUE.sub(rb"\g<before># removed by Moorage", content)
    return _URL_LOGIN.sub(_without_login, content)


def _without_login(url: re.Match[bytes]) -> bytes:
    scheme, login = url["scheme"], url["login"]
    # ssh needs its user, which is no secret; for http a lone user name may itself be a token.
    user = login.partition(b":")[0] + b"@" if b"ssh" in scheme.lower() else b""
    return scheme + b"://" + user
