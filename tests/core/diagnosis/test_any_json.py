"""Whatever JSON a Pod or event is: looking at it never fails, and what is not there is not guessed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core import pod_view

SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
WORDS = st.sampled_from(["running", "waiting", "terminated", "reason", "exitCode", "startedAt", "x"])
ANY = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


def part(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A mapping with any of these fields, or anything at all."""
    return st.fixed_dictionaries({}, optional=fields) | ANY


STATE = part(running=ANY, waiting=part(reason=ANY, message=ANY), terminated=part(exitCode=ANY, reason=ANY))
STATUS = part(name=st.just("agent") | ANY, state=STATE, lastState=STATE, restartCount=ANY, image=ANY)
CONDITION = part(type=st.just("Ready") | ANY, status=ANY)
METADATA = part(uid=st.just("u1") | ANY, deletionTimestamp=ANY, creationTimestamp=ANY)
STATUSES = st.lists(STATUS, max_size=2) | ANY
POD = st.fixed_dictionaries(
    {},
    optional={
        "metadata": METADATA,
        "status": part(
            containerStatuses=STATUSES,
            initContainerStatuses=STATUSES,
            conditions=st.lists(CONDITION, max_size=2) | ANY,
        ),
    },
)
EVENT = st.fixed_dictionaries(
    {},
    optional={
        "metadata": METADATA,
        "involvedObject": part(uid=st.just("u1") | ANY),
        "series": ANY,
        "lastTimestamp": ANY,
        "eventTime": ANY,
    },
)


@settings(max_examples=150, deadline=None)
@given(POD, st.lists(EVENT, max_size=3))
def test_any_json_can_be_looked_at(pod: Any, events: list[Any]) -> None:
    main = pod_view.main_status(pod, "agent")
    assert main.state in ("running", "waiting", "terminated", "unknown")
    assert pod_view.pod_ready(pod) in (True, False, None)
    for event in pod_view.own_events(pod, events):
        first, last = pod_view.first_time(event), pod_view.event_time(event)
        assert (first is None) == (last is None) or first is not None


@pytest.mark.parametrize("state", ["running", ["running"], {"running": "yes"}, {"running": True}, 7, None])
def test_a_state_of_another_type_is_unknown_not_running(state: Any) -> None:
    pod = {"status": {"containerStatuses": [None, 7, {"name": "agent", "state": state}]}}
    assert pod_view.main_status(pod, "agent").state == "unknown"
