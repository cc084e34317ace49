"""`moorage doctor --launch` on a real node: a Pod of the template for a moment, and nothing of it afterwards.

What it says of each fault, without a node: tests/sessions/test_launch_probe.py.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from testcluster.audit import Judge, count

from .commands import Moorage, Running
from .conftest import Template
from .observed import Objects, until

pytestmark = pytest.mark.node

STORAGE = ("--storage-class", "immediate", "--workspace-size", "1Mi")
NOWHERE = {"nodeSelector": {"no-such": "node"}}
"""Of a Pod that is never scheduled, so that there is time to interrupt it."""


def doctor(moorage: Moorage, *flags: str | Path) -> tuple[str | Path, ...]:
    return ("doctor", *moorage.place(), "-o", "json", "--launch", *flags)


def launched(moorage: Moorage, *flags: str | Path, code: int = 0) -> dict[str, Any]:
    """The step, which is the last, once all before it are shown to have passed."""
    answer = moorage(*doctor(moorage, *flags), code=code).json()
    *others, step = answer["steps"]
    assert {s["key"]: s["status"] for s in others if s["status"] != "ok"} == {}
    assert step["key"] == "launch"
    found: dict[str, Any] = step
    return found


def nothing_left(moorage: Moorage, objects: Objects) -> None:
    assert objects.names() == []
    assert moorage("ls", "-a", "-o", "json").json()["items"] == []


def test_the_helper_is_delivered_answers_and_is_removed_with_its_pod_by_uid(
    moorage: Moorage, template: Template, objects: Objects, audit: Judge
) -> None:
    audit.forget()
    step = launched(moorage, "--template", template(), *STORAGE)
    assert step["status"] == "ok", step
    assert "; a program ran in a Pod of the template" in step["detail"]
    nothing_left(moorage, objects)
    writes = audit.writes(agent="moorage", namespace=objects.namespace)
    whole = {"pods", "persistentvolumeclaims"}
    done = count([event for event in writes if event.resource in whole and not event.subresource])
    assert {(verb, what): n for (_, verb, what), n in done.items()} == {
        (verb, what): 1 for verb in ("create", "delete") for what in whole
    }
    for event in writes:
        if event.verb == "create" and event.resource in whole and not event.subresource:
            labels = event.raw["requestObject"]["metadata"]["labels"]
            assert labels["moorage.dev/task-id"].startswith("doctor-")
        if event.verb == "delete":
            assert event.raw["requestObject"]["preconditions"]["uid"]


def test_a_container_in_which_the_helper_cannot_live_fails_with_the_reason(
    moorage: Moorage, template: Template, objects: Objects
) -> None:
    path = template(main={"image": "localhost/noshell:test"})
    step = launched(moorage, "--workspace", "empty_dir", "--template", path, code=1)
    assert step["status"] == "failed"
    assert "/bin/sh" in step["detail"]
    assert "use --helper image" in step["fix"]
    nothing_left(moorage, objects)


def test_a_pod_that_is_not_scheduled_in_time_fails_with_the_schedulers_words(
    moorage: Moorage, template: Template, objects: Objects
) -> None:
    flags = ("--workspace", "empty_dir", "--start-timeout", "3s", "--template", template(spec=NOWHERE))
    step = launched(moorage, *flags, code=1)
    assert step["status"] == "failed"
    assert "node" in step["detail"]
    nothing_left(moorage, objects)


def begun(moorage: Moorage, template: Template, objects: Objects) -> Running:
    """A test whose Pod waits for a node."""
    flags = ("--workspace", "empty_dir", "--template", template(spec=NOWHERE))
    running = moorage.start(*doctor(moorage, *flags))
    running.until_true("its Pod", lambda: objects.names() != [])
    return running


def test_ctrl_c_leaves_nothing(moorage: Moorage, template: Template, objects: Objects) -> None:
    running = begun(moorage, template, objects)
    running.process.send_signal(signal.SIGINT)
    done = running.end()
    assert done.code == 130, done
    assert "removing the probe" in done.err
    nothing_left(moorage, objects)


def test_what_a_killed_one_leaves_is_listed_and_the_next_run_removes_it(
    moorage: Moorage, template: Template, objects: Objects
) -> None:
    begun(moorage, template, objects).kill()
    (session,) = moorage("ls", "-o", "json").json()["items"]
    assert session["name"].startswith("doctor-")
    (left,) = objects.names()
    moorage("doctor", *moorage.place())
    assert objects.names() == [left], "the dry test changes nothing"
    run = moorage.run_args("--workspace", "empty_dir", "--rm", template=template(), command=["echo", "hi"])
    assert moorage(*run).out == b"hi\n"
    until("the end of all Pods", lambda: objects.names() == [])
    nothing_left(moorage, objects)
