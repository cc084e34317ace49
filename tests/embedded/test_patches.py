"""The kinds of patch, on plain values; and who owns which field after each write."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.errors import ApiError
from moorage.embedded.patching import managed
from moorage.embedded.patching.fieldsets import paths_in, paths_of, tree
from moorage.embedded.patching.plain import PatchFailed, json_patch, merge_patch
from moorage.embedded.patching.strategic import strategic_patch

MERGES = {
    "replaces a value": ({"a": 1}, {"a": 2}, {"a": 2}),
    "null removes": ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
    "null of what is not there is nothing": ({}, {"a": {"b": None}}, {"a": {}}),
    "goes into mappings": ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3, "c": 2}}),
    "replaces lists": ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
    "a mapping replaces a value": ({"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}),
}


@pytest.mark.parametrize(("old", "patch", "new"), MERGES.values(), ids=MERGES.keys())
def test_a_merge_patch(old: Any, patch: Any, new: Any) -> None:
    assert merge_patch(old, patch) == new


OPERATIONS = {
    "add": ([{"op": "add", "path": "/b", "value": 1}], {"a": [1, 2], "b": 1}),
    "add into a list": ([{"op": "add", "path": "/a/1", "value": 9}], {"a": [1, 9, 2]}),
    "append": ([{"op": "add", "path": "/a/-", "value": 9}], {"a": [1, 2, 9]}),
    "replace": ([{"op": "replace", "path": "/a/0", "value": 9}], {"a": [9, 2]}),
    "remove": ([{"op": "remove", "path": "/a/0"}], {"a": [2]}),
    "move": ([{"op": "move", "from": "/a", "path": "/c"}], {"c": [1, 2]}),
    "copy": ([{"op": "copy", "from": "/a/0", "path": "/c"}], {"a": [1, 2], "c": 1}),
    "a test that holds": ([{"op": "test", "path": "/a/0", "value": 1}], {"a": [1, 2]}),
    "a name with a slash": ([{"op": "add", "path": "/x~1y", "value": 1}], {"a": [1, 2], "x/y": 1}),
}


@pytest.mark.parametrize(("patch", "new"), OPERATIONS.values(), ids=OPERATIONS.keys())
def test_a_json_patch(patch: Any, new: Any) -> None:
    old = {"a": [1, 2]}
    assert json_patch(old, patch) == new
    assert old == {"a": [1, 2]}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a/0", "value": 2},
        {"op": "test", "path": "/a/0", "value": True},
        {"op": "remove", "path": "/none"},
        {"op": "replace", "path": "/none", "value": 1},
        {"op": "add", "path": "/a/7", "value": 1},
        {"op": "fold", "path": "/a"},
        "nonsense",
    ],
)
def test_a_json_patch_that_does_not_fit_is_refused_whole(operation: Any) -> None:
    with pytest.raises(PatchFailed):
        json_patch({"a": [1, 2]}, [{"op": "add", "path": "/b", "value": 1}, operation])


def test_copies_that_double_a_document_end_in_a_refusal_before_memory_does() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": f"/a/{step}"} for step in range(2, 18)]
    with pytest.raises(PatchFailed, match="copies exceed"):
        json_patch({"a": {"0": "x" * 1000}}, doubling)


def test_an_index_of_more_digits_than_a_number_may_have_is_no_item() -> None:
    with pytest.raises(PatchFailed, match="no item"):
        json_patch({"a": [1, 2]}, [{"op": "remove", "path": "/a/" + "9" * 5000}])


CONTAINERS = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}
STRATEGIC = {
    "merges an item by its name": (
        CONTAINERS,
        {"containers": [{"name": "b", "image": "2"}]},
        {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]},
    ),
    "adds an item": (
        CONTAINERS,
        {"containers": [{"name": "c", "image": "3"}]},
        {"containers": [*CONTAINERS["containers"], {"name": "c", "image": "3"}]},
    ),
    "deletes an item": (
        CONTAINERS,
        {"containers": [{"name": "a", "$patch": "delete"}]},
        {"containers": [{"name": "b", "image": "1"}]},
    ),
    "replaces a list that has no keys": ({"args": ["a"]}, {"args": ["b"]}, {"args": ["b"]}),
    "orders as told": (
        CONTAINERS,
        {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]},
        {"containers": [{"name": "b", "image": "1"}, {"name": "a", "image": "1"}]},
    ),
    "adds to a set": ({"finalizers": ["a/a"]}, {"finalizers": ["b/b"]}, {"finalizers": ["a/a", "b/b"]}),
    "takes from a set": (
        {"finalizers": ["a/a", "b/b"]},
        {"$deleteFromPrimitiveList/finalizers": ["a/a"]},
        {"finalizers": ["b/b"]},
    ),
    "keeps only what it names": (
        {"volume": {"name": "v", "emptyDir": {}}},
        {"volume": {"$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}},
        {"volume": {"name": "v", "secret": {"secretName": "s"}}},
    ),
    "replaces a mapping": ({"m": {"a": 1}}, {"m": {"$patch": "replace", "b": 2}}, {"m": {"b": 2}}),
}


@pytest.mark.parametrize(("old", "patch", "new"), STRATEGIC.values(), ids=STRATEGIC.keys())
def test_a_strategic_merge_patch(old: Any, patch: Any, new: Any) -> None:
    assert strategic_patch(old, patch) == new


def pod(image: str, **container: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "main", "image": image, **container}]},
    }


def apply(live: Any, config: Any, manager: str, force: bool = False) -> dict[str, Any]:
    return managed.applied(
        live, config, manager=manager, api_version="v1", now="2026-01-01T00:00:00Z", force=force
    )


def test_a_set_of_fields_is_read_back_as_it_was_written() -> None:
    paths = set(paths_of(pod("1", env=[{"name": "A", "value": "b"}])))
    assert paths_in(tree(paths)) == paths


def test_an_apply_takes_back_what_its_manager_no_longer_says() -> None:
    first = apply(None, pod("1", args=["a"], env=[{"name": "A"}, {"name": "B"}]), "one")
    second = apply(first, pod("1", env=[{"name": "A"}]), "one")
    assert second["spec"]["containers"] == [{"name": "main", "image": "1", "env": [{"name": "A"}]}]


def test_an_apply_leaves_what_others_say_too() -> None:
    first = apply(None, pod("1", args=["a"]), "one")
    both = apply(first, pod("1", args=["a"]), "two")
    left = apply(both, pod("1"), "one")
    assert left["spec"]["containers"][0]["args"] == ["a"]


def test_a_conflict_names_the_field_and_its_owner_unless_it_is_forced() -> None:
    live = apply(None, pod("1"), "one")
    with pytest.raises(ApiError) as refused:
        apply(live, pod("2"), "two")
    assert refused.value.problem.causes == (
        ('.spec.containers[name="main"].image', "FieldManagerConflict", 'conflict with "one"'),
    )
    forced = apply(live, pod("2"), "two", force=True)
    assert forced["spec"]["containers"][0]["image"] == "2"
    owners = {entry["manager"]: paths_in(entry["fieldsV1"]) for entry in forced["metadata"]["managedFields"]}
    image = ("f:spec", "f:containers", 'k:{"name":"main"}', "f:image")
    assert image in owners["two"]
    assert image not in owners["one"]


def test_an_update_owns_what_it_changed_and_no_more() -> None:
    live = apply(None, pod("1", args=["a"]), "one")
    changed = {**live, "spec": {"containers": [{"name": "main", "image": "2", "args": ["a"]}]}}
    entries = managed.updated(live, changed, manager="two", api_version="v1", now="2026-01-02T00:00:00Z")
    fields = {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in entries}
    image: dict[str, Any] = {"f:spec": {"f:containers": {'k:{"name":"main"}': {"f:image": {}}}}}
    assert fields["two", "Update"] == image
    assert "f:image" not in fields["one", "Apply"]["f:spec"]["f:containers"]['k:{"name":"main"}']
