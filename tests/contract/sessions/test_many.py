"""Many sessions at once, and many hands on one session: everything ends, and nothing is left."""

from __future__ import annotations

import pytest

from .commands import Moorage, Running
from .conftest import Template
from .observed import Objects, pod_name

pytestmark = pytest.mark.node

MANY = 20


def start(moorage: Moorage, template: Template, *command: str, flags: tuple[str, ...] = ()) -> Running:
    args = moorage.run_args(
        "--name", "s", "--workspace", "empty_dir", *flags, template=template(), command=list(command)
    )
    return moorage.start(*args)


def test_twenty_sessions_at_once_all_end_and_all_go(
    moorage: Moorage, template: Template, objects: Objects
) -> None:
    path = template()
    modes = ("empty_dir", "managed_pvc")
    runs = [
        moorage.start(
            *moorage.run_args(
                "--name",
                f"s{i}",
                "--workspace",
                modes[i % 2],
                template=path,
                command=["sh", "-c", f"echo {i}; exit {i}"],
            )
        )
        for i in range(MANY)
    ]
    ended = [run.end() for run in runs]
    assert [(done.code, done.out) for done in ended] == [(i, b"%d\n" % i) for i in range(MANY)], ended
    listed = moorage("ls", "-o", "json").json()["items"]
    assert sorted((s["name"], s["status"]) for s in listed) == sorted(
        (f"s{i}", "Stopped") for i in range(MANY)
    )
    assert len(objects.names()) == MANY + MANY // 2
    removals = [moorage.start("rm", "-y", f"s{i}", f"s{i + 1}") for i in range(0, MANY, 2)]
    assert [removal.end().code for removal in removals] == [0] * len(removals)
    assert objects.names() == []
    assert moorage("ls", "-a", "-o", "json").json()["items"] == []


def test_two_stops_at_once_while_run_drives(moorage: Moorage, template: Template, objects: Objects) -> None:
    run = start(moorage, template, "testagent", "term", "/workspace/record", "5")
    run.until(b"ready")
    stops = [moorage.start("stop", "s") for _ in range(2)]
    assert [stop.end().code for stop in stops] == [0, 0]
    assert run.end().code == 5
    record = objects.inside(pod_name(moorage, "s"), "cat /workspace/record")
    assert record.count("SIGTERM") == 1
    assert moorage.session("s")["status"] == "Stopped"
    moorage("stop", "s")  # once more: nothing to do
    moorage("rm", "-y", "s")


def test_removed_while_run_drives(moorage: Moorage, template: Template, objects: Objects) -> None:
    run = start(moorage, template, "testagent", "term", "/workspace/record", "6")
    run.until(b"ready")
    moorage("rm", "-y", "s")
    assert objects.names() == []
    done = run.end()
    assert (done.code, "is kept" in done.err, "was removed" in done.err) == (6, False, True)
    assert moorage("ls", "-a", "-o", "json").json()["items"] == []


def test_a_second_client_reads_along_and_takes_over(moorage: Moorage, template: Template) -> None:
    run = start(moorage, template, "sh", "-c", "mkfifo gate; echo one; cat gate; read x < gate; exit 9")
    run.until(b"one\n")
    along = moorage.start("attach", "--from-start", "s")
    along.until(b"one\n")
    moorage("exec", "s", "--", "sh", "-c", "echo two > gate")
    run.until(b"one\ntwo\n")
    along.until(b"one\ntwo\n")
    run.kill()
    moorage("exec", "s", "--", "sh", "-c", "echo end > gate")
    done = along.end()
    assert (done.code, done.out) == (9, b"one\ntwo\n")
    moorage("rm", "-y", "s")
