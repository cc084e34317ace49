"""What of a source URL is kept, and which URLs are refused because they would carry a secret along."""

from __future__ import annotations

import pytest

from moorage.core.errors import UsageError
from moorage.core.source_url import parse_git_url

KEPT = [
    ("https://git.test/r.git", "https://git.test/r.git", "", ""),
    ("https://me:p%40w@git.test:8443/r.git", "https://git.test:8443/r.git", "me", "p@w"),
    ("https://token@git.test/r.git#part", "https://git.test/r.git", "token", ""),
    ("ssh://git:pw@git.test/r.git", "ssh://git@git.test/r.git", "", ""),
    ("https://git.test/r%3Fa.git", "https://git.test/r%3Fa.git", "", ""),
]


@pytest.mark.parametrize(("text", "clean", "user", "password"), KEPT)
def test_the_login_is_taken_out_of_the_url(text: str, clean: str, user: str, password: str) -> None:
    url = parse_git_url(text)
    assert url is not None
    assert (url.clean, url.user, url.password) == (clean, user, password)


@pytest.mark.parametrize(
    "text",
    [
        "https://git.test/r.git?private_token=planted",
        "ssh://git@git.test/r.git?private_token=planted",
        "file:///r.git?private_token=planted",
        "https://git.test/r.git?",
        "https://me:planted@git.test/r\n.git",
        "https://git.test/\x1b[2Jplanted",
        "https://me:planted%0ahost=other@git.test/r.git",
        "https://planted%00@git.test/r.git",
    ],
)
def test_a_query_or_a_control_character_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_git_url(text)
    assert caught.value.field == "source"
    assert caught.value.hint
    assert "planted" not in caught.value.message + caught.value.hint
