"""Hostile text from a cluster is made one bounded, printable line, and holds no login."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.cleaning import MESSAGE_LIMIT, clean


@pytest.mark.parametrize(
    ("hostile", "cleaned"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://evil\x1b\\link", "link"),
        ("a\r\nb\tc\x00d", "a b c d"),
        ("safe\u202eevil", "safe evil"),
        ("zero\u200bwidth", "zero width"),
        ("pull https://bob:secret@registry/x", "pull https://***@registry/x"),
        ("Authorization: Bearer abcdefgh12345", "Authorization: Bearer ***"),
        ("GET https://h/?token=pw1&a=b failed", "GET https://h/?token=***&a=b failed"),
        ("MY_PASSWORD='two words', next", "MY_PASSWORD=***, next"),
        ("X-Amz-Signature=0a1b;x", "X-Amz-Signature=***;x"),
        ('secret "tls" not found; token: expired', 'secret "tls" not found; token: expired'),
        ("日本語 ok", "日本語 ok"),
        (None, ""),
        (7, ""),
    ],
)
def test_clean(hostile: object, cleaned: str) -> None:
    assert clean(hostile) == cleaned


def test_a_megabyte_is_cut() -> None:
    assert len(clean("x" * 2**20)) == MESSAGE_LIMIT
    assert clean("x" * 2**20).endswith("…")


@given(st.text())
def test_every_text_becomes_printable_and_stays_so(text: str) -> None:
    once = clean(text)
    assert once.isprintable()
    assert clean(once) == once


@given(st.text(alphabet="token=\"'*, &x"))
def test_what_was_masked_once_stays_as_it_is(text: str) -> None:
    assert clean(clean(text)) == clean(text)
