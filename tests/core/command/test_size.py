"""A command that does not fit one request is refused before anything is recorded."""

from __future__ import annotations

import pytest

from moorage.core.command import LIMIT, check_command_size
from moorage.core.errors import UsageError
from moorage.core.wire.frames import MAX_PAYLOAD


@pytest.mark.parametrize(
    ("argv", "env"),
    [(["sh", "-c", "x" * LIMIT], {}), (["sh"], {"A": "x" * LIMIT}), (["sh", "\u00fc" * (LIMIT // 4)], {})],
    ids=["long word", "long variable", "many bytes a letter"],
)
def test_what_does_not_fit_is_told_with_its_size(argv: list[str], env: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=f"{LIMIT} fit") as told:
        check_command_size(argv, env)
    assert told.value.field == "command"


def test_what_is_accepted_leaves_room_in_the_frame() -> None:
    check_command_size(["sh", "-c", "x" * (LIMIT - 64)], {"A": "b"})
    assert LIMIT < MAX_PAYLOAD
