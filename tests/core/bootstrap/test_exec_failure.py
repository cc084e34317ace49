"""A command in a container that ended without an answer: what waiting mends, and what it does not."""

from __future__ import annotations

import pytest

from moorage.core.errors import LinkError
from moorage.core.exec_failure import cut_short, exec_ended

ENDED = 'failed to exec in container: failed to create exec "7156": {}'
WENT = "runc init error(s): nsexec-1[10565]: failed to open /proc/10458/ns/ipc: No such file or directory"
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


@pytest.mark.parametrize(
    ("code", "reason", "errors", "short"),
    [
        (None, "NoStatus", "", True),
        (None, "InternalError", WENT, True),
        (1, "NonZeroExitCode", WENT, True),
        (None, "Broken", "a banner", True),
        (None, "InternalError", "", False),  # the runtime's own word: it never started
        (None, "InternalError", ENDED.format("task 44dc65 not found"), True),
        (None, "InternalError", ENDED.format("cannot exec in a stopped container"), True),
        (None, "InternalError", "container is in CONTAINER_EXITED state", True),
        (None, "InternalError", ENDED.format("container not created: not found"), True),
        (None, "InternalError", ENDED.format('exec: "sh": executable file not found in $PATH'), False),
        (None, "InternalError", ENDED.format('exec: "/bin/sh": no such file or directory'), False),
        (0, "", "", True),  # it says how it went before it ends well
        (0, "", "a banner", True),
        (1, "NonZeroExitCode", "", True),  # as it does before it ends badly
        (1, "NonZeroExitCode", "sh: syntax error", False),
        (126, "NonZeroExitCode", "", False),
        (127, "NonZeroExitCode", "", False),
        (137, "NonZeroExitCode", "", True),
        (143, "NonZeroExitCode", "Terminated", True),
    ],
)
def test_an_upload_that_did_not_come_to_its_word_is_told_from_one_that_cannot_work(
    code: int | None, reason: str, errors: str, short: bool
) -> None:
    assert cut_short(code, reason, errors) is short
