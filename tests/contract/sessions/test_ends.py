"""However an agent ends, its code is ours, and what the kernel did to it is said."""

from __future__ import annotations

from typing import Any

import pytest

from .commands import Moorage
from .conftest import Template
from .observed import Objects

pytestmark = pytest.mark.node

SMALL = {"resources": {"limits": {"memory": "48Mi"}}}

ENDS: list[tuple[list[str], int, str]] = [
    (["sh", "-c", "exit 0"], 0, ""),
    (["sh", "-c", "exit 1"], 1, ""),
    (["sh", "-c", "exit 125"], 125, ""),
    (["testagent", "exit", "254"], 254, ""),
    (["testagent", "signal", "2"], 130, "SIGINT"),
    (["testagent", "signal", "9"], 137, "SIGKILL"),
    (["sh", "-c", "kill -SEGV $$"], 139, "SIGSEGV"),
    (["testagent", "signal", "15"], 143, "SIGTERM"),
    (["no-such-program"], 127, "could not be started"),
    (["/etc/passwd"], 126, "could not be started"),
]


def test_every_end_has_the_code_a_shell_would_give_it(
    moorage: Moorage, template: Template, objects: Objects
) -> None:
    path = template()
    flags = ("--rm", "--workspace", "empty_dir")
    runs = [moorage.start(*moorage.run_args(*flags, template=path, command=argv)) for argv, _, _ in ENDS]
    for (argv, code, said), run in zip(ENDS, runs, strict=True):
        done = run.end()
        assert done.code == code, (argv, done)
        assert said in done.err, (argv, done)
    assert objects.names() == []


def ended(moorage: Moorage, template: Template, name: str, *command: str) -> tuple[int, dict[str, Any]]:
    done = moorage(
        *moorage.run_args(
            "--name", name, "--workspace", "empty_dir", template=template(SMALL), command=list(command)
        ),
        code=None,
    )
    assert "memory" in done.err, done
    return done.code, moorage.session(name)


def test_an_agent_killed_for_its_memory_is_told_from_one_that_somebody_killed(
    moorage: Moorage, template: Template
) -> None:
    code, session = ended(moorage, template, "agent", "testagent", "alloc", "200")
    assert (code, session["agent"]["exit"]["signal"], session["agent"]["exit"]["oom"]) == (137, 9, True)
    assert (session["diagnosis"]["category"], session["diagnosis"]["reason"]) == ("oom", "AgentOOMKilled")
    assert session["diagnosis"]["hint"]
    assert session["pod"]["restarts"] == 0


def test_a_child_killed_for_its_memory_leaves_the_agent_its_own_code(
    moorage: Moorage, template: Template
) -> None:
    story = "testagent alloc 200 || echo child $?; exit 4"
    code, session = ended(moorage, template, "child", "sh", "-c", story)
    assert moorage("logs", "child").out == b"Killed\nchild 137\n"
    assert (code, session["agent"]["exit"]["code"], session["agent"]["exit"]["oom"]) == (4, 4, True)
    assert (session["diagnosis"]["category"], session["diagnosis"]["reason"]) == ("oom", "ChildOOMKilled")
    assert "child" in session["diagnosis"]["message"]
