"""``logs --all-containers``: whole lines, each with its container's name; none is stopped by another."""

from __future__ import annotations

import pytest

from moorage.cli.containers import LONGEST, PrefixedLines
from moorage.core.errors import AccessDenied, Conflict
from tests.cli.harness import Cli


def test_each_line_says_whose_it_is(cli: Cli) -> None:
    cli.verbs.kubelet = [b"one\ntw", b"o\nrest"]
    result = cli("logs", "brisk-otter", "--all-containers", "--tail", "5", "-p", "--timestamps")
    lines = ["one", "two", "rest"]
    assert result.text == "".join(f"[{name}] {line}\n" for name in ("agent", "side") for line in lines)
    assert cli.verbs.calls[1] == ("container_logs", "brisk-otter", "agent", True, False, 5, True)


def test_followed_all_are_read_at_once(cli: Cli) -> None:
    cli.verbs.kubelet = [b"line\n"]
    result = cli("logs", "brisk-otter", "--all-containers", "-f")
    assert sorted(result.text.splitlines()) == ["[agent] line", "[side] line"]


@pytest.mark.parametrize("follow", [[], ["-f"]], ids=["once", "followed"])
def test_one_that_has_no_log_is_said_and_keeps_no_other_from_being_read(cli: Cli, follow: list[str]) -> None:
    cli.verbs.kubelet = [b"line\n"]
    cli.verbs.no_log = {"agent": Conflict("is waiting to start")}
    result = cli("logs", "brisk-otter", "--all-containers", *follow)
    assert (result.code, result.text) == (0, "[side] line\n")
    assert "agent: is waiting to start" in result.err


@pytest.mark.parametrize("follow", [[], ["-f"]], ids=["once", "followed"])
@pytest.mark.parametrize(("error", "code"), [(Conflict("none"), 5), (AccessDenied("no right"), 4)])
def test_where_there_is_none_at_all_that_is_the_error(
    cli: Cli, error: Conflict | AccessDenied, code: int, follow: list[str]
) -> None:
    cli.verbs.failures = {"container_logs": error}
    result = cli("logs", "brisk-otter", "--all-containers", *follow)
    assert result.code == code
    assert f"error: {error.message}" in result.err


def test_one_and_all_exclude_each_other(cli: Cli) -> None:
    result = cli("logs", "brisk-otter", "--all-containers", "-c", "side")
    assert result.code == 2
    assert "exclude each other" in result.err


async def test_a_line_without_an_end_is_not_kept_for_ever() -> None:
    written: list[bytes] = []

    async def write(data: bytes) -> None:
        written.append(data)

    lines = PrefixedLines("a", write)
    await lines.add(b"x" * (LONGEST + 1))
    assert written == [b"[a] " + b"x" * (LONGEST + 1) + b"\n"]
    await lines.end()
    assert len(written) == 1
