"""What passes the check of shapes can be judged: wherever a real object is spoilt, it is refused or read."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from moorage.core.diagnosis import deletion, diagnose_pod, interruption_cause, start_steps
from moorage.core.errors import ApiError
from moorage.core.kinds import CLAIMS, EVENTS, PODS, Json, Resource
from moorage.core.observed import Unknown
from moorage.core.owned_fields import claim_conflicts, pod_conflicts
from moorage.core.pod_view import own_events
from moorage.kube.shapes import checked, checked_item

FIXTURES = Path(__file__).parents[1] / "core/fixtures"
SPOILT: tuple[Any, ...] = (None, True, 7, "x", [], [None], [7], {}, {"x": 7})


def recorded(name: str) -> Any:
    return json.loads((FIXTURES / f"{name}.json").read_text())


def spoilt(value: Any, whole: Any, path: tuple[Any, ...] = ()) -> Iterator[Any]:
    """``whole`` once for each place in it and each value that may stand there instead."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        for other in SPOILT:
            made = copy.deepcopy(whole)
            at = made
            for step in path:
                at = at[step]
            at[key] = other
            yield made
        yield from spoilt(inner, whole, (*path, key))


@pytest.mark.parametrize("name", ["pod_oom", "pod_init_exit", "pod_claim_missing", "pod_gated"])
def test_a_pod_with_one_wrong_value_is_refused_or_diagnosed(name: str) -> None:
    case = recorded(name)
    pod, events = case["pod"], case["events"]
    understood = 0
    for changed in spoilt(pod, pod):
        try:
            checked(changed, PODS, name=pod["metadata"]["name"])
        except ApiError:
            continue
        understood += 1
        diagnose_pod(changed, "agent", events, 2e9)
        interruption_cause(changed, "agent", None)
        start_steps(changed, "agent", events)
        deletion(changed, Unknown("not asked for"), 2e9)
    assert understood


@pytest.mark.parametrize("name", ["pod_oom", "pod_claim_missing"])
def test_an_event_with_one_wrong_value_is_refused_or_understood(name: str) -> None:
    case = recorded(name)
    understood = 0
    for event in case["events"]:
        for changed in spoilt(event, event):
            try:
                checked_item(changed, EVENTS)
            except ApiError:
                continue
            understood += 1
            assert len(own_events(case["pod"], [changed])) <= 1
            diagnose_pod(case["pod"], "agent", [changed], 2e9)
            start_steps(case["pod"], "agent", [changed])
    assert understood


@pytest.mark.parametrize(
    ("name", "resource", "conflicts"),
    [
        ("admitted_exec", PODS, pod_conflicts),
        ("admitted_image", PODS, pod_conflicts),
        ("admitted_claim", CLAIMS, claim_conflicts),
    ],
)
def test_an_object_of_ours_with_one_wrong_value_is_refused_or_judged(
    name: str, resource: Resource, conflicts: Callable[[Json, Json], Any]
) -> None:
    ours = recorded(name)
    understood = 0
    for changed in spoilt(ours, ours):
        try:
            checked(changed, resource, name=ours["metadata"]["name"])
        except ApiError:
            continue
        understood += 1
        conflicts(ours, changed)
    assert understood
