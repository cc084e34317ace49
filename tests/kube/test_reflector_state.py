"""What a reflector does next: answers in, decision out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.kube.reflector_state import (
    INITIAL_END,
    MAX_BACKOFF,
    SHORT_LIMIT,
    End,
    List,
    ReflectorState,
    Watch,
)


def pod(name: str, version: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": version, **more}}


def bookmark(version: str, *, end: bool = False) -> dict[str, Any]:
    annotations = {INITIAL_END: "true"} if end else None
    # As the API server sends it: required fields of the kind are null or absent.
    return {
        "metadata": {"resourceVersion": version, "annotations": annotations, "creationTimestamp": None},
        "spec": None,
    }


def synced(*names: str, version: str = "10", watch_list: bool = False) -> ReflectorState:
    state = ReflectorState(watch_list=watch_list)
    assert state.listed([pod(name, "1") for name in names], version)
    return state


def test_without_watch_list_it_lists_and_watches_from_the_lists_version() -> None:
    state = ReflectorState(watch_list=False)
    assert state.request() == List()
    assert state.listed([pod("a", "7")], "10")
    assert state.request() == Watch("10")


def test_with_watch_list_the_first_stream_is_the_list() -> None:
    state = ReflectorState(watch_list=True)
    assert state.request() == Watch("", initial=True)
    assert not state.event("ADDED", pod("a", "7"))
    assert not state.event("ADDED", pod("b", "3"))
    assert not state.synced
    assert state.event("BOOKMARK", bookmark("12", end=True))
    assert state.synced
    assert set(state.objects) == {"a", "b"}
    assert state.request() == Watch("12")


def test_the_version_of_a_synthetic_event_is_never_used() -> None:
    state = ReflectorState(watch_list=True)
    state.request()
    state.event("ADDED", pod("a", "9999"))
    assert state.resource_version == ""
    state.ended(End.CLOSED, lasted=60, jitter=0)
    assert state.request() == Watch("", initial=True)
    assert not state.synced


def test_a_progress_mark_inside_the_initial_events_is_not_their_end() -> None:
    state = ReflectorState(watch_list=True)
    state.request()
    state.event("BOOKMARK", bookmark("5"))
    assert not state.synced
    assert state.resource_version == ""


def test_a_delete_inside_the_initial_events_counts() -> None:
    state = ReflectorState(watch_list=True)
    state.request()
    state.event("ADDED", pod("a", "1"))
    state.event("DELETED", pod("a", "2"))
    state.event("BOOKMARK", bookmark("3", end=True))
    assert state.objects == {}


@pytest.mark.parametrize(
    ("kind", "obj", "objects", "version"),
    [
        ("ADDED", pod("b", "11"), {"a", "b"}, "11"),
        ("MODIFIED", pod("a", "12"), {"a"}, "12"),
        ("DELETED", pod("a", "13"), set(), "13"),
        ("BOOKMARK", bookmark("14"), {"a"}, "14"),
        ("ADDED", {"metadata": {"name": "b"}}, {"a", "b"}, "10"),
        ("SOMETHING", pod("b", "15"), {"a"}, "10"),
    ],
    ids=["added", "modified", "deleted", "bookmark", "an event without a version", "an unknown kind"],
)
def test_events_after_the_sync_move_objects_and_version(
    kind: str, obj: dict[str, Any], objects: set[str], version: str
) -> None:
    state = synced("a")
    state.event(kind, obj)
    assert (set(state.objects), state.resource_version) == (objects, version)


def test_a_relist_removes_what_is_gone_and_says_so() -> None:
    state = synced("a", "b")
    state.ended(End.EXPIRED, lasted=60, jitter=0)
    assert state.listed([pod("b", "1")], "20")
    assert set(state.objects) == {"b"}


def test_a_relist_by_stream_keeps_the_old_view_until_it_is_complete() -> None:
    state = synced("a", "b", watch_list=True)
    state.ended(End.EXPIRED, lasted=60, jitter=0)
    assert state.request() == Watch("", initial=True)
    state.event("ADDED", pod("b", "1"))
    assert set(state.objects) == {"a", "b"}
    assert state.event("BOOKMARK", bookmark("20", end=True))
    assert set(state.objects) == {"b"}


def test_a_relist_that_finds_the_same_is_no_change() -> None:
    state = synced("a")
    assert not state.listed([pod("a", "1")], "20")


@pytest.mark.parametrize(
    ("status", "end"),
    [
        ({"code": 410, "reason": "Expired"}, End.EXPIRED),
        ({"code": 410, "reason": "Gone"}, End.EXPIRED),
        ({"reason": "Expired"}, End.EXPIRED),
        ({"code": 500, "reason": "InternalError"}, End.FAILED),
        ({}, End.FAILED),
    ],
)
def test_an_error_event_is_read_by_its_status(status: dict[str, Any], end: End) -> None:
    assert synced("a").event("ERROR", {"kind": "Status", **status}) is end


def test_an_expired_version_lists_again_at_once() -> None:
    state = synced("a")
    assert state.ended(End.EXPIRED, lasted=60, jitter=1) == 0
    assert state.request() == List()


def test_a_server_that_keeps_expiring_is_not_hammered() -> None:
    state = synced("a")
    waits = [state.ended(End.EXPIRED, lasted=0, jitter=1) for _ in range(4)]
    assert waits[0] == 0
    assert waits[1] > 0
    assert waits == sorted(waits)


def test_an_orderly_end_goes_on_where_it_was_at_once() -> None:
    state = synced("a")
    state.request()
    state.event("MODIFIED", pod("a", "11"))
    assert state.ended(End.CLOSED, lasted=300, jitter=1) == 0
    assert state.request() == Watch("11")


def test_a_short_watch_that_brought_something_is_no_fault() -> None:
    state = synced("a")
    state.request()
    state.event("MODIFIED", pod("a", "11"))
    assert state.ended(End.CLOSED, lasted=0.1, jitter=1) == 0


def test_watches_that_close_at_once_without_a_word_back_off_and_then_list() -> None:
    state = synced("a")
    waits = []
    for _ in range(SHORT_LIMIT):
        assert state.request() == Watch("10")
        waits.append(state.ended(End.CLOSED, lasted=0.1, jitter=1))
    assert waits == sorted(waits)
    assert all(wait > 0 for wait in waits)
    assert state.request() == List()


def test_an_unsupported_watch_list_is_remembered() -> None:
    state = ReflectorState(watch_list=True)
    state.request()
    state.event("ADDED", pod("a", "1"))
    assert state.ended(End.UNSUPPORTED, lasted=5, jitter=1) == 0
    assert state.request() == List()
    assert state.listed([], "3")
    assert state.objects == {}


def test_managed_fields_are_dropped() -> None:
    state = synced()
    state.event("ADDED", pod("a", "11", managedFields=[{"manager": "x"}]))
    assert "managedFields" not in state.objects["a"]["metadata"]


EVENTS = st.tuples(
    st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]), st.sampled_from("abc"), st.integers(1, 99)
)


@given(st.lists(st.one_of(EVENTS, st.sampled_from(list(End))), max_size=40), st.booleans())
def test_it_always_knows_what_to_do_and_never_waits_too_long(steps: list[Any], watch_list: bool) -> None:
    state = ReflectorState(watch_list=watch_list)
    for step in steps:
        request = state.request()
        assert isinstance(request, List) or request.initial == (request.resource_version == "")
        if isinstance(step, End):
            assert 0 <= state.ended(step, lasted=0, jitter=1) <= MAX_BACKOFF
        elif isinstance(request, List):
            state.listed([pod(step[1], "1")], str(step[2]))
            assert set(state.objects) == {step[1]}
        else:
            state.event(step[0], pod(step[1], str(step[2])))
            if request.initial:
                assert state.resource_version == ""  # synthetic: proves nothing


@given(st.lists(st.tuples(st.sampled_from(["ADDED", "MODIFIED", "DELETED"]), st.sampled_from("abcd"))))
def test_the_objects_are_what_the_events_add_up_to(events: list[tuple[str, str]]) -> None:
    state = synced()
    expected: set[str] = set()
    for number, (kind, name) in enumerate(events):
        state.event(kind, pod(name, str(number)))
        expected = expected - {name} if kind == "DELETED" else expected | {name}
    assert set(state.objects) == expected
