"""One server for a data folder: the second is told where the first is; a SIGKILL leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from moorage.core.errors import Conflict
from moorage.own_server import LOCK, PLACE, OwnServer

URL = "http://127.0.0.1:7410"
HOLDS = """
import sys
from pathlib import Path
from moorage.own_server import OwnServer
own = OwnServer(Path(sys.argv[1]))
with own.held():
    if sys.argv[2:]:
        own.announce(sys.argv[2])
    print("held", flush=True)
    sys.stdin.read()
"""


def server(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(folder), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def gone(process: subprocess.Popen[bytes]) -> None:
    with process:
        process.kill()


def test_where_none_runs_there_is_none(tmp_path: Path) -> None:
    assert OwnServer(tmp_path).running() is None
    with OwnServer(tmp_path).held():
        pass
    assert OwnServer(tmp_path).running() is None


def test_the_second_is_told_where_the_first_is(tmp_path: Path) -> None:
    first = server(tmp_path, URL)
    try:
        found = OwnServer(tmp_path).running()
        assert found is not None
        assert (found.pid, found.url) == (first.pid, URL)
        with pytest.raises(Conflict, match=f"runs already at {URL}") as refused, OwnServer(tmp_path).held():
            pass
        assert "moorage down" in refused.value.hint
    finally:
        gone(first)


def test_one_that_has_not_said_yet_where_it_is_runs_all_the_same(tmp_path: Path) -> None:
    (tmp_path / PLACE).write_text('{"pid": 1, "url": "http://old:1"}')
    first = server(tmp_path)
    try:
        found = OwnServer(tmp_path).running()
        assert found is not None
        assert (found.pid, found.url) == (first.pid, "")
    finally:
        gone(first)


def test_after_a_sigkill_the_next_one_begins_at_once(tmp_path: Path) -> None:
    first = server(tmp_path, URL)
    first.send_signal(signal.SIGKILL)
    gone(first)
    assert (tmp_path / PLACE).exists()
    assert OwnServer(tmp_path).running() is None
    with OwnServer(tmp_path).held():
        assert os.access(tmp_path / LOCK, os.R_OK)


async def test_it_is_ended_by_its_own_signal_and_waited_for(tmp_path: Path) -> None:
    assert await OwnServer(tmp_path).end() is False
    first = server(tmp_path, URL)
    try:
        assert await OwnServer(tmp_path).end() is True
        assert first.wait() == -signal.SIGTERM
    finally:
        gone(first)
