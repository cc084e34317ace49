"""The store: versions, the log behind watches, and what outlives the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moorage.embedded.storage.journal import KEPT
from moorage.embedded.storage.store import Expired, Store


def obj(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "n"}, "data": data}


def names(objects: list[dict[str, Any]]) -> list[str]:
    return [found["metadata"]["name"] for found in objects]


def test_every_write_gets_the_next_version_over_all_kinds() -> None:
    store = Store()
    versions = [
        store.put(kind, ("n", "a"), obj("a"))["metadata"]["resourceVersion"] for kind in ("x", "y", "x")
    ]
    assert versions == ["1", "2", "3"]


def test_a_list_can_be_seen_as_it_was() -> None:
    store = Store()
    store.put("x", ("n", "a"), obj("a", v="old"))
    store.put("x", ("n", "b"), obj("b"))
    store.put("x", ("n", "a"), obj("a", v="new"))
    store.remove("x", ("n", "b"))
    then = store.at("x", 2)
    assert names(then) == ["a", "b"]
    assert then[0]["data"] == {"v": "old"}
    assert names(store.items("x")) == ["a"]


def test_a_compacted_log_says_what_it_no_longer_has() -> None:
    store = Store()
    store.put("x", ("n", "a"), obj("a"))
    store.forget()
    with pytest.raises(Expired) as expired:
        store.since("x", 0)
    assert (expired.value.version, expired.value.oldest) == (0, 1)
    assert store.since("x", 1) == []


def test_a_kind_that_begins_later_knows_nothing_from_before() -> None:
    store = Store()
    store.put("x", ("n", "a"), obj("a"))
    store.introduce("y")
    with pytest.raises(Expired):
        store.since("y", 0)


def test_objects_versions_and_the_log_are_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "objects.db"
    first = Store(path)
    first.put("x", ("n", "a"), obj("a", v="1"))
    first.put("x", ("n", "gone"), obj("gone"))
    first.remove("x", ("n", "gone"))
    first.close()
    again = Store(path)
    assert again.items("x") == [
        {"metadata": {"name": "a", "namespace": "n", "resourceVersion": "1"}, "data": {"v": "1"}}
    ]
    assert again.version == 3
    assert [(change.version, change.type) for change in again.since("x", 1)] == [(2, "ADDED"), (3, "DELETED")]
    assert again.put("x", ("n", "b"), obj("b"))["metadata"]["resourceVersion"] == "4"
    again.close()


def test_the_log_is_kept_short(tmp_path: Path) -> None:
    store = Store(tmp_path / "objects.db")
    for number in range(KEPT + 1000):
        store.put("x", ("n", "a"), obj("a", v=str(number)))
    store.close()
    again = Store(tmp_path / "objects.db")
    assert KEPT <= len(again.since("x", again.version - KEPT)) < KEPT + 1000
    with pytest.raises(Expired):
        again.since("x", 1)
    again.close()
