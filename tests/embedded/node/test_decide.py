"""Which container starts when: what is known in, verdict out."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.kinds import Json
from moorage.embedded.node.decide import Backoff, Waiting, decide, deleted_phase
from moorage.embedded.node.records import Attempt

NOW = 1000.0
BACKOFF = Backoff()


def pod(policy: str = "Always", init: list[Json] | None = None, *names: str) -> Json:
    containers = [{"name": name, "image": "i"} for name in names or ("main",)]
    spec = {"restartPolicy": policy, "initContainers": init or [], "containers": containers}
    return {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": spec}


def ran(name: str, *codes: int | None, finished: float = NOW - 1, lasted: float = 1.0) -> list[Attempt]:
    """Starts of a container by exit code; None still runs. All ended at ``finished``."""
    return [
        Attempt(
            id=f"{name}{number}",
            name=name,
            number=number,
            state="running" if code is None else "exited",
            created=finished - lasted,
            started=finished - lasted,
            finished=0.0 if code is None else finished,
            code=code or 0,
        )
        for number, code in enumerate(codes)
    ]


INIT = [{"name": "first"}, {"name": "side", "restartPolicy": "Always"}, {"name": "second"}]
CASES: list[tuple[str, Json, dict[str, list[Attempt]], list[str]]] = [
    ("a fresh Pod starts all its containers", pod("Always", None, "a", "b"), {}, ["a", "b"]),
    ("init containers come first, one at a time", pod("Always", INIT), {}, ["first"]),
    ("while one runs nothing else starts", pod("Always", INIT), {"first": ran("first", None)}, []),
    ("after it the sidecar", pod("Always", INIT), {"first": ran("first", 0)}, ["side"]),
    (
        "a sidecar that has started lets the next one begin",
        pod("Always", INIT),
        {"first": ran("first", 0), "side": ran("side", None)},
        ["second"],
    ),
    (
        "then the main containers",
        pod("Always", INIT),
        {"first": ran("first", 0), "side": ran("side", None), "second": ran("second", 0)},
        ["main"],
    ),
    (
        "a failed init container is tried again",
        pod("OnFailure", INIT),
        {"first": ran("first", 1)},
        ["first"],
    ),
    (
        "an init container that failed before it succeeded is done",
        pod("Always", INIT),
        {"first": ran("first", 1, 0)},
        ["side"],
    ),
    ("Always starts what ended well", pod("Always"), {"main": ran("main", 0)}, ["main"]),
    ("OnFailure does not", pod("OnFailure"), {"main": ran("main", 0)}, []),
    ("OnFailure starts what failed", pod("OnFailure"), {"main": ran("main", 1)}, ["main"]),
    ("Never starts nothing again", pod("Never"), {"main": ran("main", 1)}, []),
    ("what ended twice waits", pod("Always"), {"main": ran("main", 1, 1)}, []),
    (
        "a sidecar that ended starts again beside the main container",
        pod("Always", [{"name": "side", "restartPolicy": "Always"}]),
        {"side": ran("side", 1), "main": ran("main", None)},
        ["side"],
    ),
]


@pytest.mark.parametrize(("what", "given", "attempts", "start"), CASES, ids=[case[0] for case in CASES])
def test_what_starts_now(what: str, given: Json, attempts: dict[str, Any], start: list[str]) -> None:
    assert decide(given, attempts, lambda _: True, NOW, BACKOFF).start == start


@pytest.mark.parametrize(
    ("ends", "wait"), [(1, 0), (2, 10), (3, 20), (4, 40), (5, 80), (6, 160), (7, 300), (50, 300)]
)
def test_each_end_doubles_the_wait_up_to_five_minutes(ends: int, wait: float) -> None:
    attempts = ran("main", *[1] * ends)
    assert BACKOFF.wait(attempts) == wait
    due = attempts[-1].finished + wait
    before = decide(pod(), {"main": attempts}, lambda _: True, due - 0.5, BACKOFF)
    assert decide(pod(), {"main": attempts}, lambda _: True, due, BACKOFF).start == ["main"]
    if wait:
        assert before.start == []
        assert before.look_at == due
        assert before.waiting["main"].reason == "CrashLoopBackOff"


def test_a_long_run_clears_the_wait() -> None:
    attempts = [*ran("main", 1, 1, 1), *ran("main", 1, lasted=601)[:1], *ran("main", 1)]
    assert BACKOFF.wait(attempts) == 0


def test_a_sidecar_that_is_not_started_holds_the_rest_back() -> None:
    given = pod("Always", [{"name": "side", "restartPolicy": "Always"}])
    decision = decide(given, {"side": ran("side", None)}, lambda _: False, NOW, BACKOFF)
    assert decision.start == []
    assert decision.waiting["main"] == Waiting("PodInitializing")


@pytest.mark.parametrize(
    ("policy", "codes", "phase"),
    [
        ("Never", (0, 0), "Succeeded"),
        ("Never", (0, 3), "Failed"),
        ("Never", (0, None), ""),
        ("OnFailure", (0, 0), "Succeeded"),
        ("OnFailure", (0, 3), ""),
        ("Always", (0, 0), ""),
    ],
)
def test_a_pod_is_over_when_nothing_will_start_again(
    policy: str, codes: tuple[int | None, int | None], phase: str
) -> None:
    attempts = {"a": ran("a", codes[0]), "b": ran("b", codes[1])}
    assert decide(pod(policy, None, "a", "b"), attempts, lambda _: True, NOW, BACKOFF).phase == phase


def test_an_init_container_that_fails_under_never_fails_the_pod_and_starts_nothing() -> None:
    decision = decide(pod("Never", INIT), {"first": ran("first", 1)}, lambda _: True, NOW, BACKOFF)
    assert (decision.phase, decision.start) == ("Failed", [])
    assert decision.waiting["main"] == Waiting("PodInitializing")


@pytest.mark.parametrize(("codes", "phase"), [((0, 0), "Succeeded"), ((0, 143), "Failed"), ((0,), "Failed")])
def test_a_deleted_pods_last_phase(codes: tuple[int, ...], phase: str) -> None:
    attempts = {name: ran(name, code) for name, code in zip(("a", "b"), codes, strict=False)}
    assert deleted_phase(pod("Always", None, "a", "b"), attempts) == phase
