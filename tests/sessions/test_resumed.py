"""An agent of a preset: the prompt is said once; each later start in its workspace goes on from there."""

from __future__ import annotations

import dataclasses
import io
import json
import tarfile
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from moorage.core.errors import LinkError, UsageError
from moorage.core.kinds import PODS
from moorage.core.presets import Applied
from moorage.core.session import Session
from moorage.ports.link import AgentStatus, ExitStatus, ProcessSpec
from moorage.ports.sessions import Exited, Happening, Progress

from .fake_link import FakeLink
from .stage import Stage

BOT = Applied(
    preset="bot",
    argv=("agent",),
    resume_argv=("agent", "--again"),
    input="do it",
    resume_input="go on",
    state_dirs=("bot",),
)
FIRST = (("agent",), "do it")
AGAIN = (("agent", "--again"), "go on")
DONE = ExitStatus(code=0)
NOT_FOUND = ExitStatus(error="not_found: agent is not on PATH")
STATE = "/workspace/.moorage-state"


def starts(stage: Stage) -> list[tuple[tuple[str, ...], str]]:
    """Command and first input of each start, in all Pods there were."""
    specs: list[ProcessSpec] = [spec for agent in stage.agents.values() for spec in agent.starts]
    return [(tuple(spec.argv), spec.input) for spec in specs]


def running_again(happening: Happening) -> bool:
    return isinstance(happening, Progress) and happening.step == "agent"


async def stopped(stage: Stage) -> None:
    await stage.verbs.stop("calm-cove", stage.said.append)
    await stage.verbs.resume("calm-cove", stage.said.append)


async def paused(stage: Stage) -> None:
    await stage.verbs.pause("calm-cove", stage.said.append)
    await stage.verbs.resume("calm-cove", stage.said.append)


async def reset(stage: Stage) -> None:
    await stage.verbs.reset("calm-cove", stage.said.append)


async def ended(stage: Stage, how: ExitStatus = DONE) -> None:
    stage.agent.end(how)
    await stage.attend(lambda happening: isinstance(happening, Exited))
    await stage.verbs.resume("calm-cove", stage.said.append)


async def interrupted(stage: Stage) -> None:
    stage.cluster.drop(PODS, (await stage.record()).inventory.pod_name)
    await stage.attend(running_again)


@pytest.mark.parametrize("what", [stopped, paused, reset, ended, interrupted])
async def test_whatever_ended_it_the_next_start_goes_on_from_there(
    stage: Stage, what: Callable[[Stage], Awaitable[None]]
) -> None:
    await stage.running(preset=BOT)
    await what(stage)
    assert starts(stage) == [FIRST, AGAIN]


async def test_a_first_start_that_did_not_arrive_is_still_the_first(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, calls = FakeLink.start_agent, 0

    async def broken_once(link: FakeLink, spec: ProcessSpec, **more: Any) -> AgentStatus:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise LinkError("cut")
        return await start(link, spec, **more)

    monkeypatch.setattr(FakeLink, "start_agent", broken_once)
    await stage.running(preset=BOT)
    assert (calls, starts(stage)) == (2, [FIRST])


async def test_a_program_that_was_not_there_left_nothing_to_go_on_from(stage: Stage) -> None:
    await stage.running(preset=BOT)
    for _ in range(2):
        await ended(stage, NOT_FOUND)
    assert starts(stage) == [FIRST, FIRST, FIRST]
    await ended(stage)
    await ended(stage, NOT_FOUND)
    assert starts(stage)[3:] == [AGAIN, AGAIN]


async def test_in_another_empty_dir_there_is_nothing_to_go_on_from(stage: Stage) -> None:
    await stage.running("empty_dir", preset=BOT)
    await stopped(stage)
    await stage.verbs.pause("calm-cove", stage.said.append, discard_workspace=True)
    await stage.verbs.resume("calm-cove", stage.said.append)
    assert starts(stage) == [FIRST, AGAIN, FIRST]


async def test_a_command_of_ones_own_is_the_same_each_time(stage: Stage) -> None:
    await stage.running()
    await paused(stage)
    assert starts(stage) == [(("agent",), ""), (("agent",), "")]
    assert not any(agent.put for agent in stage.agents.values())


async def test_its_folder_is_there_before_each_start_and_git_leaves_it_out(stage: Stage) -> None:
    await stage.running(preset=BOT)
    await paused(stage)
    assert [line for line in stage.log if line.startswith(("put", "start"))][::2] == [f"put {STATE}"] * 2
    with tarfile.open(fileobj=io.BytesIO(stage.agent.put[STATE])) as packed:
        found = {member.name: (member.isdir(), member.mode) for member in packed}
        ignored = packed.extractfile(".gitignore")
        assert ignored is not None
        assert ignored.read() == b"*\n"
    assert found == {".gitignore": (False, 0o644), "bot": (True, 0o700)}


async def test_input_that_is_given_with_the_start_is_not_closed_under_it(stage: Stage) -> None:
    await stage.running(preset=BOT)
    assert "close input" not in stage.log
    await paused(stage)
    assert "close input" not in stage.log


async def test_a_prompt_that_does_not_fit_is_refused_before_anything_is_recorded(stage: Stage) -> None:
    with pytest.raises(UsageError, match="its prompt"):
        await stage.launch(preset=dataclasses.replace(BOT, input="x" * 70_000))
    assert await stage.store.sessions.list_all() == []


async def test_a_record_from_before_presets_is_read(stage: Stage) -> None:
    session = await stage.launch()
    fields = json.loads(msgspec.json.encode(session))
    for name in ("preset", "input", "resume_argv", "resume_input", "state_dirs"):
        del fields["agent"][name]
    del fields["ran_in"]
    assert msgspec.json.decode(json.dumps(fields), type=Session) == session
