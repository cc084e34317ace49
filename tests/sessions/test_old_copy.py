"""An old copy of the data folder (a backup, a snapshot put back): what it does not know it does not end, and
it does not say that it did."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.errors import SessionFailed
from moorage.core.kinds import PODS
from moorage.core.session import Phase
from moorage.engine.link.failures import remote_error
from moorage.ports.link import ExitStatus

from .fake_link import FakeLink
from .stage import Stage


async def copied_before_the_agent_was_started_anew(stage: Stage) -> None:
    await stage.running()
    stage.agent.start_id = "started from the newer folder"


async def fenced(*args: Any) -> ExitStatus:
    raise remote_error("fenced", "a newer owner has commanded this agent")


async def test_a_stop_of_an_agent_that_a_newer_folder_started_fails_and_names_the_old_copy(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await copied_before_the_agent_was_started_anew(stage)
    monkeypatch.setattr(FakeLink, "drain", fenced)
    with pytest.raises(SessionFailed, match="a newer owner has commanded this agent") as refusal:
        await stage.verbs.stop("calm-cove", stage.said.append)
    assert "an old copy" in refusal.value.hint
    assert "MOORAGE_DATA_DIR" in refusal.value.hint
    assert stage.agent.state == "running"
    assert (await stage.record()).state.phase is Phase.FAILED


async def test_a_stop_that_agentctl_allows_ends_whatever_agent_runs(stage: Stage) -> None:
    await copied_before_the_agent_was_started_anew(stage)
    view = await stage.verbs.stop("calm-cove", stage.said.append)
    assert view.session.state.phase is Phase.PRESERVED
    assert stage.agent.state == "exited"
    assert len(stage.cluster.of(PODS)) == 1


async def test_how_a_run_on_record_ended_is_unknown_once_another_agent_has_ended(stage: Stage) -> None:
    await copied_before_the_agent_was_started_anew(stage)
    stage.agent.end(ExitStatus(code=0))
    view = await stage.verbs.stop("calm-cove", stage.said.append)
    assert view.session.run is not None
    assert view.session.run.exit is not None
    assert view.session.run.exit.code is None
