"""``moorage down``: it says what ends and what stays, and asks only where something runs."""

from __future__ import annotations

import pytest

from moorage.cli.app import run_cli
from tests.cli.scripted import Scripted
from tests.cli.wired import ScriptedOwn, ScriptedServer, ScriptedWiring

PODS = ("default/moorage-one", "default/moorage-two")
CASES: dict[str, tuple[tuple[str, ...] | None, list[str], int, bool]] = {
    "it does not run": (None, [], 0, False),
    "no Pod: nothing is asked": ((), [], 0, True),
    "Pods, and nobody can be asked": (PODS, [], 2, False),
    "Pods, and yes was said": (PODS, ["-y"], 0, True),
}


@pytest.mark.parametrize(("pods", "flags", "code", "ended"), CASES.values(), ids=CASES)
def test_it_ends_the_cluster_unless_pods_run_and_nobody_agreed(
    pods: tuple[str, ...] | None, flags: list[str], code: int, ended: bool
) -> None:
    wiring = ScriptedWiring(Scripted(), own=ScriptedOwn(pods))
    assert run_cli(["down", *flags], wiring) == code
    assert wiring.own.ended is ended


def test_before_it_asks_it_says_what_ends_and_what_stays(capfd: pytest.CaptureFixture[str]) -> None:
    run_cli(["--no-input", "down"], ScriptedWiring(Scripted(), own=ScriptedOwn(PODS)))
    err = capfd.readouterr().err.splitlines()
    assert err[:2] == [f"  ends   the containers of Pod {pod}" for pod in PODS]
    assert err[2].startswith("  stays  sessions, workspaces and output")
    assert err[-1] == "  hint: to do it, run: moorage down -y"


@pytest.mark.parametrize("pods", [None, PODS], ids=["alone", "and the cluster"])
def test_the_server_ends_first_and_agents_elsewhere_run_on(
    pods: tuple[str, ...] | None, capfd: pytest.CaptureFixture[str]
) -> None:
    wiring = ScriptedWiring(Scripted(), own=ScriptedOwn(pods), server=ScriptedServer("http://127.0.0.1:7410"))
    assert run_cli(["down", "-y"], wiring) == 0
    assert wiring.server.ended
    assert wiring.own.ended is (pods is not None)
    assert capfd.readouterr().err.startswith("the server http://127.0.0.1:7410 has ended; agents run on\n")


def test_a_server_is_not_ended_by_somebody_who_does_not_agree_to_the_rest() -> None:
    wiring = ScriptedWiring(Scripted(), own=ScriptedOwn(PODS), server=ScriptedServer("http://127.0.0.1:7410"))
    assert run_cli(["down"], wiring) == 2
    assert not wiring.server.ended


def test_run_says_in_words_that_nothing_is_isolated(capfd: pytest.CaptureFixture[str]) -> None:
    verbs = Scripted(where="the embedded cluster", isolated="not isolated (mode plain): …")
    assert run_cli(["run", "--", "true"], ScriptedWiring(verbs)) == 0
    assert verbs.request is not None
    assert verbs.request.template_text is None
    said = capfd.readouterr().err.splitlines()
    assert said[:2] == ["running on the embedded cluster", "not isolated (mode plain): …"]
