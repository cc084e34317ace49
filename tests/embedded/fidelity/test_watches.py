"""A watch of the embedded cluster tells the same story as a real API server's: event by event."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from .conftest import Pair
from .masks import Masks, left_out
from .sides import Side, Step

pytestmark = [pytest.mark.cluster, pytest.mark.newest]
MERGE = "application/merge-patch+json"
STEP = Step("GET", "configmaps")


def script(side: Side, path: str) -> str:
    """What happens to three ConfigMaps; the version before the last three changes."""
    for name, labels in (("a", {"app": "x"}), ("b", {"app": "y"}), ("c", {})):
        side.json("POST", path, {"metadata": {"name": name, "labels": labels}})
    side.json("PATCH", f"{path}/a", {"data": {"k": "v"}}, MERGE)
    side.json("PATCH", f"{path}/a", {"data": {"k": "v"}}, MERGE)  # changes nothing, and nobody hears of it
    side.json("PATCH", f"{path}/a", {"metadata": {"finalizers": ["example.com/hold"]}}, MERGE)
    middle = str(side.json("GET", path).body["metadata"]["resourceVersion"])
    side.json("DELETE", f"{path}/a")
    side.json("PATCH", f"{path}/b", {"metadata": {"labels": {"app": "x"}}}, MERGE)
    side.json("PATCH", f"{path}/a", {"metadata": {"finalizers": None, "labels": {"app": "z"}}}, MERGE)
    side.json("PATCH", f"{path}/b", {"metadata": {"labels": None}}, MERGE)
    return middle


SELECTED = ("", "&labelSelector=app%3Dx", "&fieldSelector=metadata.name%3Da", "&labelSelector=!app")
INITIAL = ("now", "any version", "a list that is streamed")
FROM = {
    "the beginning": "&resourceVersion=START",
    "the middle": "&resourceVersion=MIDDLE",
    "now": "",
    "any version": "&resourceVersion=0",
    "a list that is streamed": "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    "&allowWatchBookmarks=true",
    "no version": "&resourceVersion=nonsense",
}


def events(side: Side, path: str, prefix: str) -> dict[tuple[str, str], Any]:
    """All watches of the script's objects, each until its time is up."""
    start = str(side.json("GET", path).body["metadata"]["resourceVersion"])
    middle = script(side, path)

    def watched(which: tuple[str, str]) -> Any:
        begin, selected = which
        query = FROM[begin].replace("START", start).replace("MIDDLE", middle)
        connection, answer = side.open(f"{path}?watch=true&timeoutSeconds=2{query}{selected}")
        lines = [json.loads(line) for line in answer.read().splitlines() if line.strip()]
        connection.close()
        masks, mine = Masks(prefix), [line for line in lines if not left_out(line)]
        if begin in INITIAL:  # what is there comes in any order
            mine.sort(
                key=lambda line: (line["type"] == "BOOKMARK", line["object"]["metadata"].get("name", ""))
            )
        return answer.status, [masks.event(STEP, line) for line in mine]

    every = [(begin, selected) for begin in FROM for selected in SELECTED]
    with ThreadPoolExecutor(8) as at_once:
        return dict(zip(every, at_once.map(watched, every), strict=True))


def test_every_watch_tells_the_same_story(pair: Pair) -> None:
    path = f"/api/v1/namespaces/{pair.quiet}/configmaps"
    real, embedded = (events(side, path, pair.prefix) for side in (pair.real, pair.embedded))
    for which, wanted in real.items():
        assert embedded[which] == wanted, which
    assert [event["type"] for event in real["the beginning", ""][1]] == [
        *("ADDED", "ADDED", "ADDED", "MODIFIED", "MODIFIED"),
        *("MODIFIED", "MODIFIED", "DELETED", "MODIFIED"),
    ]
