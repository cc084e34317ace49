"""The table of status words: a word for every phase, and never a state that was not observed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.session import AgentSpec, Desired, Identity, Intent, Inventory, Phase, Session, State
from moorage.core.status import session_word

Make = Callable[..., Inventory]
WORDS = {"Starting", "Running", "Paused", "Unhealthy", "Stopping", "Stopped", "Failed", "Unknown"}
RECORDED = {Phase.CONFIGURED, Phase.FAILED, Phase.LOST, Phase.ARCHIVED, Phase.DELETED}


def session(make: Make, phase: Phase, pod: str = "", reason: str = "") -> Session:
    return Session(
        identity=Identity("i", "e", "p", "t", "s"),
        name="calm-ferry",
        created_at=0.0,
        agent=AgentSpec(("true",)),
        state=State(phase, 0.0, reason=reason, pod=pod),
        inventory=make(),
        intent=Intent(Desired.RUNNING),
    )


TABLE: list[tuple[Phase, str, bool | None, bool | None, str]] = [
    (Phase.CONFIGURED, "", None, None, "Starting"),
    (Phase.PROVISIONING_STORAGE, "", None, None, "Starting"),
    (Phase.SCHEDULING, "", None, None, "Starting"),
    (Phase.BOOTSTRAPPING, "", True, None, "Starting"),
    (Phase.RUNNING, "", True, True, "Running"),
    (Phase.RUNNING, "", True, None, "Running"),
    (Phase.RUNNING, "", False, True, "Running"),
    (Phase.RUNNING, "", None, True, "Running"),
    (Phase.RUNNING, "", False, None, "Unhealthy"),
    (Phase.RUNNING, "", True, False, "Unhealthy"),
    (Phase.RUNNING, "", False, False, "Unhealthy"),
    (Phase.RUNNING, "", None, False, "Unhealthy"),
    (Phase.RUNNING, "", None, None, "Unknown"),
    (Phase.INTERRUPTED, "", None, None, "Unhealthy"),
    (Phase.DRAINING, "", True, True, "Stopping"),
    (Phase.CLEANING, "", None, None, "Stopping"),
    (Phase.PRESERVED, "kept", True, None, "Stopped"),
    (Phase.PRESERVED, "released", None, None, "Paused"),
    (Phase.FAILED, "", None, None, "Failed"),
    (Phase.LOST, "", None, None, "Failed"),
    (Phase.ARCHIVED, "", None, None, "Stopped"),
    (Phase.DELETED, "", None, None, "Stopped"),
]


@pytest.mark.parametrize(("phase", "pod", "ready", "link", "word"), TABLE)
def test_each_phase_has_its_word(
    make_inventory: Make, phase: Phase, pod: str, ready: bool | None, link: bool | None, word: str
) -> None:
    observed = session_word(
        session(make_inventory, phase, pod),
        pod_ready=ready,
        link_ok=link,
        observed_at=99,
        now=100,
        stale_after=30,
    )
    assert observed[0] == word


def test_the_table_covers_every_phase() -> None:
    assert {row[0] for row in TABLE} == set(Phase)


@pytest.mark.parametrize("phase", sorted(set(Phase) - RECORDED))
@pytest.mark.parametrize("observed_at", [0.0, 69.0])
def test_without_a_recent_look_a_session_is_unknown(
    make_inventory: Make, phase: Phase, observed_at: float
) -> None:
    word, reason = session_word(
        session(make_inventory, phase, "kept"),
        pod_ready=True, link_ok=True, observed_at=observed_at, now=100, stale_after=30,
    )  # fmt: skip
    assert word == "Unknown"
    assert reason


def test_the_reason_of_the_state_comes_along(make_inventory: Make) -> None:
    stopping = session(make_inventory, Phase.DRAINING, reason="NodeLost")
    observed = session_word(stopping, pod_ready=None, link_ok=None, observed_at=99, now=100, stale_after=30)
    assert observed == ("Stopping", "NodeLost")


def test_a_running_session_whose_pod_and_link_were_not_looked_at_is_unknown(make_inventory: Make) -> None:
    running = session(make_inventory, Phase.RUNNING)
    word, why = session_word(running, pod_ready=None, link_ok=None, observed_at=99, now=100, stale_after=30)
    assert (word, why) == ("Unknown", "neither Pod nor link was observed")


FLAGS = st.sampled_from([None, True, False])


@given(
    st.sampled_from(list(Phase)), st.sampled_from(["", "kept", "released"]), FLAGS, FLAGS, st.floats(0, 200)
)
def test_every_observation_has_exactly_one_word_and_running_is_never_assumed(
    phase: Phase, pod: str, ready: bool | None, link: bool | None, observed_at: float
) -> None:
    state = State(phase, 0.0, pod=pod)
    identity = Identity("i", "e", "p", "t", "s")
    inventory: Inventory = None  # type: ignore[assignment]
    record = Session(identity, "n", 0.0, AgentSpec(("x",)), state, inventory, Intent(Desired.RUNNING))
    word, _ = session_word(
        record, pod_ready=ready, link_ok=link, observed_at=observed_at, now=200.0, stale_after=30.0
    )
    assert word in WORDS
    if word == "Running":
        assert phase is Phase.RUNNING
        assert ready or link
        assert observed_at >= 170.0
