"""What a hostile agentctl answers: taken in the promised types and ranges, or a LinkError."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from moorage.core.errors import LinkError
from moorage.core.wire.mux import BYTES, MESSAGE
from moorage.engine.link import records
from moorage.ports.link import AgentStatus, ExitStatus, LeftOut

EXITED = {
    "state": "exited",
    "pid": 7,
    "started_at": 5,
    "exit": {"code": 3, "signal": None, "oom": False, "error": ""},
    "oldest": 0,
    "end": 10,
    "start_id": "s-1-0",
}


def test_an_honest_status_is_taken_as_it_is() -> None:
    assert records.agent_status(EXITED) == AgentStatus("exited", 7, 5.0, ExitStatus(3), 0, 10, "s-1-0")


def test_an_exit_that_says_nothing_is_unknown() -> None:
    assert records.exit_status({}) == ExitStatus()


WRONG_EXITS: dict[str, dict[str, Any]] = {
    "a code as text": {"code": "0"},
    "a code as truth": {"code": True},
    "a list of codes": {"code": [1]},
    "a broken number": {"code": 0.5},
    "a code below 0": {"code": -1},
    "a code beyond a byte": {"code": 256},
    "a code beyond 64 bits": {"code": 1 << 70},
    "a signal as text": {"signal": "9"},
    "no signal at all": {"signal": 0},
    "an oom as number": {"oom": 1},
    "an error as object": {"error": {}},
}


@pytest.mark.parametrize("name", WRONG_EXITS)
def test_an_exit_of_another_type_or_range_is_refused(name: str) -> None:
    with pytest.raises(LinkError):
        records.exit_status(WRONG_EXITS[name])
    with pytest.raises(LinkError):
        records.agent_status({**EXITED, "exit": WRONG_EXITS[name]})


WRONG_STATUS: dict[str, dict[str, Any]] = {
    "an unknown state": {"state": "asleep"},
    "a state as list": {"state": ["exited"]},
    "an offset as text": {"oldest": "0"},
    "an offset below 0": {"end": -1},
    "an end that no store reaches": {"end": (1 << 53) + 1},
    "a start as number": {"start_id": 5},
    "a time that is none": {"started_at": math.nan},
    "a time without end": {"started_at": math.inf},
    "an exit as text": {"exit": "0"},
}


@pytest.mark.parametrize("name", WRONG_STATUS)
def test_a_status_of_another_type_or_range_is_refused(name: str) -> None:
    with pytest.raises(LinkError) as refusal:
        records.agent_status({**EXITED, **WRONG_STATUS[name]})
    assert refusal.value.details["code"] == "malformed"


@pytest.mark.parametrize("name", EXITED)
def test_a_status_with_a_key_missing_is_refused(name: str) -> None:
    with pytest.raises(LinkError):
        records.agent_status({key: value for key, value in EXITED.items() if key != name})


def listing(**changed: Any) -> bytes:
    entry = {"path": "a", "kind": "file", "size": 1, "mode": 420, "mtime": 1.5, **changed}
    return json.dumps([entry]).encode()


OTHERS: dict[str, Callable[[], object]] = {
    "a marker as number": lambda: records.text({"marker": 5}, "marker"),
    "no marker": lambda: records.text({}, "marker"),
    "bytes as text": lambda: records.count({"bytes": "5"}, "bytes"),
    "filled as number": lambda: records.flag({"filled": 1}, "filled"),
    "no activity": lambda: records.activity({}),
    "no usage": lambda: records.usage({}),
    "a mark without offset": lambda: records.mark(b"{}"),
    "a mark that is no object": lambda: records.mark(b"[]"),
    "a mark below 0": lambda: records.mark(b'{"offset":-1}'),
    "a gap below 0": lambda: records.mark(b'{"offset":1,"gap":-1}'),
    "a gap of 70 bits": lambda: records.mark(b'{"offset":1,"gap":1180591620717411303424}'),
    "a mark nested too deep": lambda: records.mark(b"[" * 5000),
    "a listing of numbers": lambda: records.file_entries(MESSAGE, b"[1]", 9),
    "a listing with a surrogate": lambda: records.file_entries(MESSAGE, listing(path="\ud800"), 9),
    "a listing of an unknown kind": lambda: records.file_entries(MESSAGE, listing(kind="x"), 9),
    "a listing with a path without end": lambda: records.file_entries(MESSAGE, listing(path="x" * 5000), 9),
    "a listing of more than was asked for": lambda: records.file_entries(MESSAGE, listing(), 0),
    "a listing of nothing, which could go on for ever": lambda: records.file_entries(MESSAGE, b"[]", 9),
    "a listing as bytes": lambda: records.file_entries(BYTES, listing(), 9),
    "a mark that no store takes": lambda: records.mark(b'{"offset":4611686018427387904}'),
    "a gap that no store takes": lambda: records.mark(b'{"offset":1,"gap":9007199254740992}'),
}


@pytest.mark.parametrize("name", OTHERS)
def test_any_other_answer_that_the_protocol_does_not_allow_is_refused(name: str) -> None:
    with pytest.raises(LinkError):
        OTHERS[name]()


def test_marks_and_listings_are_read() -> None:
    assert records.mark(b'{"offset":5,"gap":3}') == (5, 3)
    assert records.mark(b'{"offset":5}') == (5, 0)
    (entry,) = records.file_entries(MESSAGE, listing(), 1)
    assert (entry.path, entry.mode, entry.mtime) == ("a", 420, 1.5)


WRONG_LEFT_OUT: dict[str, dict[str, Any]] = {
    "fewer than none": {"left_out": -1},
    "a count as text": {"left_out": "1"},
    "names as text": {"left_out": 1, "left_out_names": "ab"},
    "a name as number": {"left_out": 1, "left_out_names": [1]},
    "a name without end": {"left_out": 1, "left_out_names": ["x" * 1001]},
    "names without end": {"left_out": 1, "left_out_names": ["x"] * 101},
}


@pytest.mark.parametrize("name", WRONG_LEFT_OUT)
def test_what_was_left_out_is_taken_in_its_types_and_bounds_only(name: str) -> None:
    with pytest.raises(LinkError):
        records.left_out(WRONG_LEFT_OUT[name])


def test_an_older_agentctl_that_tells_nothing_left_nothing_out() -> None:
    assert records.left_out({"sha256": "0", "bytes": 1}) == LeftOut()
