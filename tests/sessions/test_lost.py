"""An emptyDir goes with its Pod: who looks is told that the work is lost, and nobody is without proof."""

from __future__ import annotations

import pytest

from moorage.core.errors import ApiProblem, WorkspaceLost
from moorage.core.kinds import PODS
from moorage.core.session import Phase
from moorage.ports.sessions import SessionView

from .fake_cluster import FORBIDDEN, PROXY_404, TIMEOUT
from .stage import Stage

STATES = ("stopped", "running")


async def left(stage: Stage, state: str, workspace: str = "empty_dir") -> None:
    """A session that nobody drives, whose Pod somebody else then deletes."""
    session = await stage.running(workspace)
    if state == "stopped":
        await stage.verbs.stop("calm-cove", stage.said.append)
    stage.cluster.drop(PODS, session.inventory.pod_name)


async def seen(stage: Stage) -> SessionView:
    (listed,) = await stage.verbs.list_views()
    alone = await stage.verbs.view("calm-cove")
    assert (listed.word, listed.reason) == (alone.word, alone.reason)
    return alone


@pytest.mark.parametrize("state", STATES)
async def test_a_pod_that_somebody_deleted_took_the_workspace_along(stage: Stage, state: str) -> None:
    await left(stage, state)
    view = await seen(stage)
    assert (view.word, view.reason) == ("Failed", "workspace")
    assert view.session.state.phase is Phase.LOST
    assert view.diagnosis is not None
    assert (view.diagnosis.category, view.diagnosis.terminal) == ("workspace_lost", True)
    assert "its Pod is gone" in view.diagnosis.message
    assert (await stage.record()).state.phase is not Phase.LOST  # a look changes nothing


@pytest.mark.parametrize("state", STATES)
async def test_the_next_verb_puts_the_loss_on_record(stage: Stage, state: str) -> None:
    await left(stage, state)
    with pytest.raises(WorkspaceLost):
        await stage.verbs.resume("calm-cove", stage.said.append)
    assert (await stage.record()).state.phase is Phase.LOST
    assert stage.cluster.of(PODS) == []


@pytest.mark.parametrize("problem", [TIMEOUT, PROXY_404, FORBIDDEN], ids=["timeout", "proxy page", "denied"])
@pytest.mark.parametrize("state", STATES)
async def test_without_proof_nothing_is_called_lost(stage: Stage, state: str, problem: ApiProblem) -> None:
    await left(stage, state)
    stage.cluster.fail("get", PODS, problem)
    view = await stage.verbs.view("calm-cove")
    assert (view.word, view.session.state.phase is Phase.LOST) == ("Unknown", False)


@pytest.mark.parametrize("state", STATES)
async def test_a_claim_outlives_the_pod_that_somebody_deleted(stage: Stage, state: str) -> None:
    await left(stage, state, "managed_pvc")
    assert (await seen(stage)).session.state.phase is not Phase.LOST


async def test_a_workspace_given_up_on_purpose_is_not_lost(stage: Stage) -> None:
    await stage.running("empty_dir")
    await stage.verbs.pause("calm-cove", stage.said.append, discard_workspace=True)
    assert (await seen(stage)).word == "Paused"


async def test_a_session_that_never_had_work_has_lost_none(stage: Stage) -> None:
    await stage.launch("empty_dir")
    assert (await seen(stage)).word == "Starting"
