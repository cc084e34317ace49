"""A command that does not fit one request, or cannot be told to a Pod as it is, is refused before anything is
recorded."""

from __future__ import annotations

import pytest

from moorage.core.command import LIMIT, check_command, is_utf8
from moorage.core.errors import UsageError
from moorage.core.wire.frames import MAX_PAYLOAD


@pytest.mark.parametrize(
    ("argv", "env"),
    [(["sh", "-c", "x" * LIMIT], {}), (["sh"], {"A": "x" * LIMIT}), (["sh", "\u00fc" * (LIMIT // 4)], {})],
    ids=["long word", "long variable", "many bytes a letter"],
)
def test_what_does_not_fit_is_told_with_its_size(argv: list[str], env: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=f"{LIMIT} fit") as told:
        check_command(argv, env)
    assert told.value.field == "command"


def test_what_is_accepted_leaves_room_in_the_frame() -> None:
    check_command(["sh", "-c", "x" * (LIMIT - 64)], {"A": "b"})
    assert LIMIT < MAX_PAYLOAD


@pytest.mark.parametrize(
    ("argv", "env", "cwd", "field"),
    [
        (["printf", "x\udcff"], {}, "", "command"),
        (["\ud800\udc00"], {}, "", "command"),
        (["sh"], {"A": "x\udcff"}, "", "env.A"),
        (["sh"], {"A\udcff": "x"}, "", "env"),
        (["sh"], {}, "/workspace/x\udcff", "cwd"),
    ],
    ids=["word", "halves of a character", "value", "name", "directory"],
)
def test_bytes_that_would_arrive_as_others_are_refused(
    argv: list[str], env: dict[str, str], cwd: str, field: str
) -> None:
    with pytest.raises(UsageError, match="is not UTF-8 text") as told:
        check_command(argv, env, cwd)
    assert told.value.field == field
    assert "x\udcff" not in told.value.message


def test_any_character_is_text() -> None:
    said = "\u00fc\u20ac\U0001f600\ufffd"
    check_command(["printf", said], {"A": said}, f"/{said}")
    assert is_utf8(said)
