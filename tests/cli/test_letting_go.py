"""What a command says of a session that it lets go of: what is so, and commands that fit its state."""

from __future__ import annotations

import pytest

from moorage.core.errors import (
    MoorageError,
    NameBlocked,
    SessionFailed,
    StoreError,
    Unreachable,
    WorkspaceLost,
)
from moorage.core.session import AgentExit, AgentRun, Phase, State
from moorage.ports.sessions import Exited, Progress
from moorage.ports.store import RECORD_GONE
from tests.cli.harness import Cli
from tests.cli.scripted_views import make_view

FAILURES: list[tuple[MoorageError, set[str], set[str]]] = [
    (SessionFailed("image not found"), {"describe", "events", "resume", "rm"}, {"attach", "stop"}),
    (NameBlocked("pod agents/x is not ours"), {"describe", "events", "resume", "rm"}, {"attach", "stop"}),
    (WorkspaceLost("the emptyDir is gone"), {"describe", "logs", "rm"}, {"attach", "stop", "resume"}),
    (Unreachable("https://api does not answer"), {"attach", "rm"}, {"stop", "resume"}),
    (MoorageError("something else"), {"describe", "attach"}, {"stop"}),
]


@pytest.mark.parametrize(("error", "offered", "not_offered"), FAILURES, ids=[e.code for e, _, _ in FAILURES])
def test_after_a_failure_the_commands_fit_the_state(
    cli: Cli, error: MoorageError, offered: set[str], not_offered: set[str]
) -> None:
    cli.verbs.steps = [error]
    done = cli.run()
    assert done.code == 125
    assert "session brisk-otter is kept" in done.err
    assert all(f"moorage {verb} brisk-otter" in done.err for verb in offered)
    assert not [verb for verb in not_offered if f"moorage {verb} brisk-otter" in done.err]


def test_no_command_is_offered_for_a_record_that_is_gone(cli: Cli) -> None:
    hint = "find it with: kubectl get pods"
    cli.verbs.steps = [StoreError("the folder was removed", hint=hint, details={"state": RECORD_GONE})]
    done = cli.run()
    assert done.code == 125
    assert hint in done.err
    assert "moorage" not in done.err.replace("error:", "")


def test_with_rm_an_unreachable_server_leaves_the_session_and_says_so(cli: Cli) -> None:
    cli.verbs.steps = [Unreachable("https://api does not answer")]
    done = cli.run("--rm")
    assert done.code == 125
    assert "session brisk-otter is kept" in done.err
    assert cli.verbs.names("remove") == []


def test_with_rm_a_failed_session_is_removed_and_not_said_to_be_kept(cli: Cli) -> None:
    cli.verbs.steps = [SessionFailed("image not found")]
    done = cli.run("--rm")
    assert (done.code, cli.verbs.names("remove")) == (125, ["brisk-otter"])
    assert "kept" not in done.err
    said = done.err.index("session brisk-otter failed; removing it (--rm)")
    assert said < done.err.index("image not found")


def test_a_removal_that_fails_says_that_the_session_is_still_there(cli: Cli) -> None:
    cli.verbs.failures = {"remove": Unreachable("https://api does not answer")}
    done = cli.run("--rm")
    assert done.code == 125
    assert "session brisk-otter is not removed yet; to go on: moorage rm brisk-otter" in done.err


ENDED = AgentRun(start_id="s1", exit=AgentExit(code=3))
PAUSED = AgentRun(start_id="s1", exit=AgentExit(signal=15))
OVER = [
    (Phase.PRESERVED, "kept", ENDED, 3, "is stopped: its agent has ended (code 3)", "resume"),
    (Phase.PRESERVED, "released", PAUSED, 143, "is paused: its agent has ended (signal 15)", "resume"),
    (Phase.ARCHIVED, "", ENDED, 3, "is archived: its agent has ended (code 3)", "rm"),
]


@pytest.mark.parametrize(
    ("phase", "pod", "run", "code", "said", "next_verb"), OVER, ids=["stopped", "paused", "archived"]
)
def test_attach_to_an_ended_session_says_so_and_what_to_do(
    cli: Cli, phase: Phase, pod: str, run: AgentRun, code: int, said: str, next_verb: str
) -> None:
    assert run.exit is not None
    cli.verbs.views = [make_view(state=State(phase, 0.0, pod=pod), run=run, seen_intent=1)]
    cli.verbs.steps = [Exited(run.exit)]
    done = cli("attach", "brisk-otter")
    assert done.code == code
    assert f"session brisk-otter {said}" in done.err
    assert "moorage logs brisk-otter" in done.err
    assert f"moorage {next_verb} brisk-otter" in done.err


def test_attach_to_a_session_whose_agent_never_ran_says_how_to_start_it(cli: Cli) -> None:
    cli.verbs.views = [make_view(state=State(Phase.PRESERVED, 0.0, pod="released"), run=None, seen_intent=1)]
    done = cli("attach", "brisk-otter")
    assert done.code == 5
    assert "hint: start it with: moorage resume brisk-otter" in done.err


def test_attach_to_a_running_agent_that_ends_meanwhile_says_nothing_of_before(cli: Cli) -> None:
    cli.verbs.steps = [Exited(AgentExit(code=3))]
    done = cli("attach", "brisk-otter")
    assert (done.code, "has ended" in done.err) == (3, False)


@pytest.mark.parametrize(("pod", "noted"), [("kept", True), ("released", False)])
def test_stop_speaks_of_a_kept_pod_only_where_there_is_one(cli: Cli, pod: str, noted: bool) -> None:
    cli.verbs.views = [make_view(state=State(Phase.PRESERVED, 0.0, pod=pod))]
    done = cli("stop", "brisk-otter")
    assert (done.code, done.text) == (0, "brisk-otter\n")
    assert ("still reserve resources" in done.err) is noted


def test_events_that_are_missing_are_said_on_stderr(cli: Cli) -> None:
    cli.verbs.warnings = [Progress("warning", "events of Pod and claim are missing here: no answer")]
    done = cli("events", "brisk-otter", "-q")
    assert (done.code, done.err) == (
        0,
        "warning: events of Pod and claim are missing here: no answer\nno events of brisk-otter\n",
    )
