"""A command in a container that ended without an answer: what waiting mends, and what it does not."""

from __future__ import annotations

import pytest

from moorage.core.errors import LinkError
from moorage.core.exec_failure import exec_ended

NOEXEC = 'exec failed: unable to start container process: exec: "/opt/moorage/agentctl": permission denied'


@pytest.mark.parametrize(
    ("said", "category"),
    [
        (NOEXEC, "noexec"),
        ("exec /opt/moorage/agentctl: Operation not permitted", "noexec"),
        ("exec /opt/moorage/agentctl: exec format error", "platform"),
    ],
)
def test_what_no_try_will_mend_has_a_category_and_a_hint(said: str, category: str) -> None:
    error = exec_ended(said, 126)
    assert not isinstance(error, LinkError)
    assert error.details["category"] == category
    assert error.hint
    assert said in error.message


@pytest.mark.parametrize("said", ["", "container not running", "stat /opt/moorage/agentctl: no such file"])
def test_the_rest_is_tried_again(said: str) -> None:
    assert isinstance(exec_ended(said, None), LinkError)
