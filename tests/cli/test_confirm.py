"""Before something is destroyed: what goes and stays is listed, and off a terminal nothing is asked."""

from __future__ import annotations

import pytest

from moorage.core.errors import Conflict
from moorage.core.session import Phase, State
from tests.cli.harness import Cli
from tests.cli.scripted_views import make_view


@pytest.mark.parametrize("verb", ["rm", "archive"])
def test_off_a_terminal_it_is_refused_with_the_exact_command(cli: Cli, verb: str) -> None:
    cli.verbs.keeps = ("pvc/data (not created by us)",)
    result = cli(verb, "brisk-otter", "-n", "agents", "--context", "my context")
    assert result.code == 2
    assert result.out == b""
    assert result.err == (
        "session brisk-otter\n"
        "  deletes  pod/moorage-brisk-otter (uid pod-uid)\n"
        "  deletes  pvc/moorage-brisk-otter (uid claim-uid)\n"
        "  keeps    pvc/data (not created by us)\n"
        f"error: {verb} needs a confirmation, and nobody can be asked here\n"
        f"  hint: to do it, run: moorage --context 'my context' --namespace agents {verb} brisk-otter -y\n"
    )
    assert cli.verbs.names("remove") == cli.verbs.names("archive") == []


@pytest.mark.parametrize("flag", ["-y", "--yes", "--force"])
@pytest.mark.parametrize(("verb", "call"), [("rm", "remove"), ("archive", "archive")])
def test_yes_and_force_go_ahead_and_only_force_is_passed_on(
    cli: Cli, verb: str, call: str, flag: str
) -> None:
    result = cli(verb, "brisk-otter", flag)
    assert (result.code, result.out) == (0, b"brisk-otter\n")
    assert cli.verbs.calls == [(call, "brisk-otter", flag == "--force"), ("close",)]


def test_all_means_every_session_also_archived_ones(cli: Cli) -> None:
    cli.verbs.views = [make_view("one-a"), make_view("two-b")]
    assert cli("rm", "--all", "-y").text == "one-a\ntwo-b\n"
    assert cli.verbs.calls[0] == ("list_views", True)


def test_all_of_nothing_is_said_and_ends_well(cli: Cli) -> None:
    cli.verbs.views = []
    result = cli("rm", "--all")
    assert (result.code, result.out, result.err) == (0, b"", "no sessions\n")


def test_a_dry_run_lists_and_removes_nothing(cli: Cli) -> None:
    result = cli("rm", "brisk-otter", "--dry-run", "-o", "json")
    assert result.json["items"][0]["deletes"][0] == "pod/moorage-brisk-otter (uid pod-uid)"
    assert cli.verbs.names("remove") == []


@pytest.mark.parametrize("flag", [[], ["-y"], ["--force"], ["--dry-run"]], ids=" ".join)
def test_one_unknown_name_ends_it_before_anything_is_asked_or_removed(cli: Cli, flag: list[str]) -> None:
    result = cli("rm", *flag, "brisk-otter", "brisk-oter")
    assert result.code == 3
    assert "hint: did you mean brisk-otter?" in result.err
    assert cli.verbs.names("remove") == []


@pytest.mark.parametrize("flag", [[], ["-y"], ["--force"]], ids=" ".join)
def test_one_unknown_name_ends_it_before_anything_is_asked_or_archived(cli: Cli, flag: list[str]) -> None:
    assert cli("archive", *flag, "brisk-otter", "brisk-oter").code == 3
    assert cli.verbs.names("archive") == []


def test_a_failure_in_the_middle_does_not_keep_the_rest_and_is_the_code(cli: Cli) -> None:
    cli.verbs.views = [make_view("one-a"), make_view("two-b")]
    cli.verbs.failures["remove one-a"] = Conflict("x")
    result = cli("rm", "one-a", "two-b", "-y")
    assert (result.code, result.out) == (5, b"two-b\n")


@pytest.mark.parametrize("verb", ["pause", "reset"])
def test_a_workspace_is_discarded_only_when_asked(cli: Cli, verb: str) -> None:
    cli(verb, "brisk-otter")
    cli(verb, "brisk-otter", "--discard-workspace")
    assert [call[2] for call in cli.verbs.calls if call[0] == verb] == [False, True]


def test_stop_says_what_is_kept_and_what_it_costs(cli: Cli) -> None:
    cli.verbs.views = [
        make_view("brisk-otter", "Stopped", state=State(phase=Phase.PRESERVED, since=1.0, pod="kept"))
    ]
    assert "still reserve resources" in cli("stop", "brisk-otter").err
    assert cli("stop", "-q", "brisk-otter").err == ""
