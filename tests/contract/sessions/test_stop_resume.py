"""Output is live, stop ends the agent and nothing else, resume goes on at the very next byte."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from testcluster.audit import Judge, count

from .commands import Moorage, Running
from .conftest import Template
from .observed import Objects, identity, pod_name

pytestmark = pytest.mark.node

# Each run prints three lines, waits at the gate for a word, prints three more. SIGTERM is put on record.
STORY = """
n=$(($(cat runs 2>/dev/null || echo 0) + 1)); echo $n > runs
[ -p gate ] || mkfifo gate
exec 3<> gate
trap 'echo "SIGTERM $$" >> record; exit 7' TERM
for i in 1 2 3; do echo "run $n line $i"; done
read -r word <&3
for i in 4 5 6; do echo "run $n line $i"; done
"""


def lines(run: int, first: int, last: int) -> bytes:
    return b"".join(b"run %d line %d\n" % (run, i) for i in range(first, last + 1))


@pytest.fixture
def story(moorage: Moorage, template: Template) -> Callable[..., Running]:
    """Start the story under the name ``story``."""

    def start(*flags: str) -> Running:
        args = moorage.run_args("--name", "story", *flags, template=template(), command=["sh", "-c", STORY])
        return moorage.start(*args)

    return start


def open_gate(moorage: Moorage) -> None:
    moorage("exec", "story", "--", "sh", "-c", "echo on > gate")


def test_stop_ends_the_agent_alone_and_resume_goes_on_at_the_next_byte(
    moorage: Moorage, story: Callable[..., Running], objects: Objects, audit: Judge
) -> None:
    run = story("--workspace", "empty_dir")
    run.until(lines(1, 1, 3))  # live: the second half does not exist before the gate opens
    pod = pod_name(moorage, "story")
    before = objects.pod(pod)
    (agent,) = objects.pids(pod, "trap 'echo")
    audit.forget()

    moorage("stop", "story")
    assert run.end().code == 7
    assert run.out == lines(1, 1, 3)
    assert objects.inside(pod, "cat /workspace/record") == f"SIGTERM {agent}\n"
    assert objects.pids(pod, "trap 'echo") == []
    assert identity(objects.pod(pod)) == identity(before)
    assert moorage.session("story")["status"] == "Stopped"

    moorage("resume", "story")
    follower = moorage.start("attach", "story")
    open_gate(moorage)
    done = follower.end()
    assert done.code == 0
    assert moorage("logs", "story").out == lines(1, 1, 3) + lines(2, 1, 6)
    assert lines(2, 1, 6).endswith(done.out)
    assert identity(objects.pod(pod)) == identity(before)
    changed = count(audit.writes(agent="moorage", namespace=objects.namespace))
    assert {(verb, what) for _, verb, what in changed} == {("get", "pods/portforward")}

    moorage("rm", "-y", "story")
    assert objects.names() == []


def test_a_killed_client_costs_no_byte(
    moorage: Moorage, story: Callable[..., Running], objects: Objects
) -> None:
    first = story("--workspace", "empty_dir")
    first.until_said("schedule")  # before there is an agent
    first.kill()
    second = moorage.start("attach", "story")
    second.until(lines(1, 1, 3))  # while the agent waits
    second.kill()
    open_gate(moorage)  # it ends unseen
    third = moorage("attach", "story")
    assert (first.out + second.out + third.out, third.code) == (lines(1, 1, 6), 0)

    resuming = moorage.start("resume", "story")
    resuming.until_said("agent  ")
    resuming.kill()
    fourth = moorage.start("attach", "story")
    fourth.until(lines(2, 1, 3))
    fourth.kill()
    stopping = moorage.start("stop", "story")
    stopping.until_said("drain")
    stopping.kill()
    moorage("stop", "story")
    assert moorage("logs", "story").out == lines(1, 1, 6) + lines(2, 1, 3)
    assert "SIGTERM" in objects.inside(pod_name(moorage, "story"), "cat /workspace/record")
    moorage("rm", "-y", "story")
    assert objects.names() == []


def test_a_client_killed_amid_a_flood_leaves_every_byte_once(moorage: Moorage, template: Template) -> None:
    command = ["/bin/testagent", "output", "8"]
    args = moorage.run_args(
        "--name", "flood", "--workspace", "empty_dir", template=template(), command=command
    )
    first = moorage.start(*args)
    first.until(b"000000001000")
    first.kill()
    second = moorage.start("attach", "flood")
    second.until_true("some output", lambda: len(second.out) > 0)
    second.kill()
    third = moorage("attach", "flood")
    whole = b"".join(b"%012d %s\n" % (i, b"." * 50) for i in range(8 << 20 >> 6))
    assert moorage("logs", "flood").out == whole
    assert whole.startswith(first.out)
    assert second.out in whole
    assert whole.endswith(third.out)
