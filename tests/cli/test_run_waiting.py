"""``run --wait`` and ``run --timeout``: for how long run stays, and what it leaves behind."""

from __future__ import annotations

import pytest

from moorage.core.errors import NotFound
from moorage.core.session import AgentExit
from moorage.ports.link import Output
from moorage.ports.sessions import Exited, Progress
from tests.cli.harness import Cli
from tests.cli.scripted_streams import Pause


def test_detached_and_waiting_it_returns_with_the_agents_code_and_shows_no_output(cli: Cli) -> None:
    cli.verbs.steps = (Progress("agent", "started"), Output(0, b"secret work\n"), Exited(AgentExit(code=3)))
    result = cli.run("-d", "--wait")
    assert (result.code, result.text) == (3, "brisk-otter\n")
    assert cli.verbs.names("watch") == ["brisk-otter"], "and none of it counts as delivered"


@pytest.mark.parametrize(
    ("form", "shown"),
    [("table", "brisk-otter\n"), ("json", '{\n  "kind": "Session",\n  "name": "brisk-otter"')],
)
def test_a_session_that_somebody_removes_meanwhile_does_not_cost_the_agents_code(
    cli: Cli, form: str, shown: str
) -> None:
    cli.verbs.steps = (Progress("agent", "started"), Exited(AgentExit(signal=15)))
    cli.verbs.failures["view"] = NotFound("there is no session brisk-otter")
    result = cli.run("-d", "--wait", "-o", form)
    assert result.code == 143, result.err
    assert result.text.startswith(shown)


def test_detached_alone_it_does_not_wait_for_the_end(cli: Cli) -> None:
    cli.verbs.steps = (Progress("agent", "started"), Exited(AgentExit(code=3)))
    assert cli.run("-d").code == 0


def test_following_it_waits_anyway(cli: Cli) -> None:
    result = cli.run("--wait")
    assert result.code == 2
    assert "belongs to -d" in result.err


@pytest.mark.parametrize("flags", [[], ["-d", "--wait"], ["--rm"]], ids=" ".join)
def test_at_the_limit_the_agent_is_left_running(cli: Cli, flags: list[str]) -> None:
    cli.verbs.steps = (Progress("agent", "started"), Pause())
    result = cli.run(*flags, "--timeout", "10ms")
    assert result.code == 6
    assert "session brisk-otter left running" in result.err
    assert cli.verbs.names("stop") == cli.verbs.names("remove") == []


def test_at_the_limit_a_session_whose_agent_never_ran_goes_with_rm(cli: Cli) -> None:
    cli.verbs.steps = (Progress("pull", "pulling"), Pause())
    assert cli.run("--rm", "--timeout", "10ms").code == 6
    assert cli.verbs.names("remove") == ["brisk-otter"]


def test_an_agent_that_ends_in_time_is_not_told_of_the_limit(cli: Cli) -> None:
    cli.verbs.steps = (Progress("agent", "started"), Exited(AgentExit(code=0)))
    assert cli.run("--timeout", "1h").code == 0


@pytest.mark.parametrize("limit", ["0", "-1s", "soon"])
def test_a_limit_that_is_none_is_refused_before_anything_is_made(cli: Cli, limit: str) -> None:
    assert cli.run("--timeout", limit).code == 2
    assert not cli.verbs.calls
