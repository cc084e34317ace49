"""The laws themselves: a log in, a verdict out. What a machine cannot see it cannot hold anybody to."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.kinds import Json
from moorage.ports.link import Gap, Output
from tests.faults.machine import laws

UID, VERSION = "u1", "7"


def event(verb: str, plural: str, name: str = "p", code: int = 200, **more: Any) -> Json:
    """One event of an API server's log."""
    where = {"resource": plural, "name": name, "namespace": "n"}
    uri = more.pop("uri", f"/api/v1/namespaces/n/{plural}/{name}")
    return {
        "verb": verb,
        "objectRef": where,
        "requestURI": uri,
        "responseStatus": {"code": code},
        **more,
    }


def seen(plural: str, uid: str = UID, version: str = VERSION) -> Json:
    return event("get", plural, responseObject={"metadata": {"uid": uid, "resourceVersion": version}})


def delete(plural: str, **preconditions: str) -> Json:
    return event("delete", plural, requestObject={"preconditions": preconditions})


HERE = event("get", "namespaces", "n")
GONE = event("get", "pods", code=404, responseObject={"details": {"kind": "pods", "name": "p"}})
NAMELESS = event("get", "pods", code=404, responseObject={"details": {}})
FAILED = event("get", "pods", code=500)
PROVED = delete("pods", uid=UID, resourceVersion=VERSION)
CLAIM = seen("persistentvolumeclaims")
OF_CLAIM = delete("persistentvolumeclaims", uid=UID, resourceVersion=VERSION)
OURS = event("get", "pods", responseObject={"metadata": {"uid": UID, "annotations": {laws.NONCE: "n"}}})
VERDICTS: dict[str, tuple[list[Json], str]] = {
    "seen, and exactly that": ([HERE, seen("pods"), PROVED], ""),
    "seen again after a failed look": ([HERE, FAILED, seen("pods"), PROVED], ""),
    "without a UID": ([HERE, seen("pods"), delete("pods", resourceVersion=VERSION)], "without a UID"),
    "of another UID": ([HERE, seen("pods", uid="u2"), PROVED], "is not the one seen last"),
    "of an older version": ([HERE, seen("pods", version="8"), PROVED], "version 7"),
    "without a version": ([HERE, seen("pods"), delete("pods", uid=UID)], "version None"),
    "never looked at": ([HERE, PROVED], "on Unknown"),
    "the last look failed": ([HERE, seen("pods"), FAILED, PROVED], "on Unknown"),
    "the last look found nothing": ([HERE, seen("pods"), GONE, PROVED], "on Unknown"),
    "the last look was cut": ([HERE, seen("pods"), event("get", "pods", code=0), PROVED], "on Unknown"),
    "in a namespace nobody has read": ([seen("pods"), PROVED], "recorded namespace"),
    "in a namespace that was not answered for": (
        [event("get", "namespaces", "n", code=500), seen("pods"), PROVED],
        "recorded namespace",
    ),
    "in a namespace that may not be read": (
        [event("get", "namespaces", "n", code=403), seen("pods"), PROVED],
        "",
    ),
    "a whole collection": ([HERE, event("deletecollection", "pods")], "collection"),
    "a claim after its Pod": ([HERE, GONE, CLAIM, OF_CLAIM], ""),
    "a claim whose Pod is Unknown": ([HERE, NAMELESS, CLAIM, OF_CLAIM], "last look at its Pod"),
    "a claim whose Pod is there": ([HERE, OURS, CLAIM, OF_CLAIM], "last look at its Pod"),
    "a claim beside somebody else's Pod": ([HERE, seen("pods"), CLAIM, OF_CLAIM], ""),
    "a claim whose Pod nobody looked at": ([HERE, CLAIM, OF_CLAIM], "nobody had looked"),
    "a claim on Unknown": (
        [HERE, delete("persistentvolumeclaims", uid=UID, resourceVersion=VERSION)],
        "on Unknown",
    ),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_delete_is_proved_by_the_last_look(name: str) -> None:
    log, verdict = VERDICTS[name]
    broken = "; ".join(laws.deletes_are_proved(laws.read(log)))
    assert verdict in broken if verdict else not broken


def test_where_no_namespace_is_on_record_the_server_stands_for_it() -> None:
    log = laws.read([event("get", "namespaces", "n", code=500), seen("pods"), PROVED])
    assert not list(laws.deletes_are_proved(log, by_server=True))
    assert list(laws.deletes_are_proved(log))


def test_the_answer_of_our_own_create_is_removed_by_its_uid() -> None:
    made = event("create", "pods", code=201, responseObject={"metadata": {"uid": UID}})
    now = event("delete", "pods", requestObject={"preconditions": {"uid": UID}, "gracePeriodSeconds": 0})
    assert not list(laws.deletes_are_proved(laws.read([HERE, made, now])))


def test_a_dry_run_proves_nothing() -> None:
    tried = event("create", "pods", code=201, uri="/pods?dryRun=All", responseObject=seen("pods"))
    assert list(laws.deletes_are_proved(laws.read([HERE, tried, PROVED])))


def test_a_read_that_allows_an_old_answer_is_told() -> None:
    log = laws.read([seen("pods"), event("get", "pods", uri="/api/v1/pods/p?resourceVersion=0")])
    assert len(list(laws.reads_are_recent(log))) == 1


def pod(uid: str, session: str = "s1", phase: str = "Running") -> Json:
    return {
        "metadata": {"uid": uid, "labels": {"moorage.dev/session-id": session}},
        "status": {"phase": phase},
    }


def test_a_session_has_one_live_pod() -> None:
    both = {"a": pod("1"), "b": pod("2")}
    assert list(laws.one_live_pod(both, set()))
    assert not list(laws.one_live_pod(both, {"2"}))
    assert not list(laws.one_live_pod({"a": pod("1"), "b": pod("2", phase="Failed")}, set()))
    assert not list(laws.one_live_pod({"a": pod("1"), "b": pod("2", session="s2")}, set()))


def test_what_is_somebody_elses_stays_as_it_is() -> None:
    strangers = [("pods", "f", "9")]

    def broken(pods: dict[str, Json], log: list[Json]) -> list[str]:
        stored = {"pods": pods, "persistentvolumeclaims": {}}
        return list(laws.strangers_are_left_alone(strangers, stored, laws.read(log)))

    there = {"f": {"metadata": {"uid": "9"}}}
    assert not broken(there, [])
    assert broken({}, [])
    assert broken({"f": {"metadata": {"uid": "other"}}}, [])
    assert broken({"f": {"metadata": {"uid": "9", "deletionTimestamp": "now"}}}, [])
    assert broken(there, [event("patch", "pods", "f", responseObject={"metadata": {"uid": "9"}})])
    assert not broken(there, [event("delete", "pods", "f", code=409)])


def test_a_claim_goes_only_when_somebody_wished_it() -> None:
    claims = {"c": {"metadata": {"uid": "5"}}}
    dying = {"c": {"metadata": {"uid": "5", "deletionTimestamp": "now"}}}
    tried = laws.read([delete("persistentvolumeclaims", uid="5")])
    assert not list(laws.claims_are_kept({"5"}, claims, [], removal_wished=False))
    assert list(laws.claims_are_kept({"5"}, {}, [], removal_wished=False))
    assert list(laws.claims_are_kept({"5"}, dying, [], removal_wished=False))
    assert list(laws.claims_are_kept(set(), claims, tried, removal_wished=False))
    assert not list(laws.claims_are_kept({"5"}, {}, tried, removal_wished=True))


def test_a_second_look_that_writes_is_told() -> None:
    log = laws.read([seen("pods"), event("create", "pods", code=409), event("get", "namespaces")])
    assert len(laws.writes(log)) == 1


MISSING = Gap(0, None)
TOLD: dict[str, tuple[list[Output | Gap], str]] = {
    "each once": ([Output(0, b"start 1\nx\nsta"), Output(0, b"rt 2\n")], ""),
    "one is missing, and that is told": ([Output(0, b"start 1\n"), MISSING, Output(0, b"start 3\n")], ""),
    "the first is missing, and that is told": ([MISSING, Output(0, b"start 2\nstart 3\n")], ""),
    "one is missing": ([Output(0, b"start 1\nstart 3\n")], "in silence between start 1 and 3"),
    "the first is missing": ([Output(0, b"start 2\n")], "in silence between start 0 and 2"),
    "one more is missing than is told": (
        [Output(0, b"start 1\n"), MISSING, Output(0, b"start 3\nstart 5\n")],
        "in silence between start 3 and 5",
    ),
    "one stands twice": ([Output(0, b"start 1\nstart 1\n")], "twice or in disorder"),
    "two are in disorder": ([Output(0, b"start 1\n"), MISSING, Output(0, b"start 3\nstart 2\n")], "disorder"),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_start_that_is_missing_is_told(name: str) -> None:
    items, verdict = TOLD[name]
    broken = "; ".join(laws.output_is_whole(items))
    assert verdict in broken if verdict else not broken
