"""``rm --keep-workspace``: the claim outlives its session, whoever ends the removal. And wishes left to
others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from moorage.core.errors import Conflict, NotFound, UsageError
from moorage.core.kinds import CLAIMS, PODS
from moorage.core.session import Desired, Phase, WorkspaceMode, WorkspaceSpec
from moorage.ports.sessions import LaunchRequest
from moorage.ports.store import Owner

from .stage import TEMPLATE, Stage
from .test_unreachable import given_up, lose


async def test_the_claim_stays_and_all_else_of_the_session_goes(stage: Stage) -> None:
    session = await stage.running()
    done = await stage.verbs.remove("calm-cove", stage.said.append, keep_workspace=True)
    claim = session.inventory.claim_name
    assert done.deletes == (f"pod/{session.inventory.pod_name} (uid {session.inventory.pod_uid})",)
    assert done.keeps == (
        f"pvc/{claim} (uid {session.inventory.claim_uid}): kept as asked, for: moorage run --claim {claim}",
    )
    assert stage.cluster.of(PODS) == []
    assert [one["metadata"]["name"] for one in stage.cluster.of(CLAIMS)] == [claim]
    with pytest.raises(NotFound):
        await stage.record()


async def test_another_session_can_work_on_it(stage: Stage) -> None:
    session = await stage.running()
    await stage.verbs.remove("calm-cove", stage.said.append, keep_workspace=True)
    workspace = WorkspaceSpec(WorkspaceMode.EXISTING_CLAIM, claim_name=session.inventory.claim_name)
    request = LaunchRequest(TEMPLATE, ["agent"], workspace, name="second")
    await stage.verbs.launch(request, stage.said.append)
    await stage.verbs.resume("second", stage.said.append)
    await stage.verbs.remove("second", stage.said.append)
    assert len(stage.cluster.of(CLAIMS)) == 1, "it is a given claim now, and no removal deletes it"


@pytest.mark.parametrize("verb", ["rm", "rm --force", "archive"])
async def test_whoever_goes_on_with_it_keeps_it_too(stage: Stage, verb: str) -> None:
    await stage.running()
    lose(stage)
    removal = stage.verbs.remove("calm-cove", stage.said.append, keep_workspace=True)
    await given_up(stage, removal, stage.parts.patience)
    stage.cluster.faults.clear()
    if verb == "archive":
        await stage.verbs.archive("calm-cove", stage.said.append)
    else:
        await stage.verbs.remove("calm-cove", stage.said.append, force="--force" in verb)
    assert stage.cluster.of(PODS) == []
    assert len(stage.cluster.of(CLAIMS)) == 1


async def test_resume_takes_the_word_back(stage: Stage) -> None:
    await stage.running()
    lose(stage)
    removal = stage.verbs.remove("calm-cove", stage.said.append, keep_workspace=True)
    await given_up(stage, removal, stage.parts.patience)
    stage.cluster.faults.clear()
    await stage.verbs.resume("calm-cove", stage.said.append)
    await stage.verbs.remove("calm-cove", stage.said.append)
    assert stage.cluster.of(CLAIMS) == []


@pytest.mark.parametrize("dry_run", [False, True])
async def test_what_goes_with_the_pod_cannot_be_kept_and_nothing_is_removed(
    stage: Stage, dry_run: bool
) -> None:
    await stage.running("empty_dir")
    with pytest.raises(UsageError, match="emptyDir"):
        await stage.verbs.remove("calm-cove", stage.said.append, keep_workspace=True, dry_run=dry_run)
    assert len(stage.cluster.of(PODS)) == 1


@pytest.mark.parametrize("verb", ["stop", "rm"])
async def test_a_wish_that_nobody_would_carry_out_is_not_left(stage: Stage, verb: str) -> None:
    before = await stage.running()
    wish: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
        "stop": lambda: stage.verbs.stop("calm-cove", stage.said.append, wait=False),
        "rm": lambda: stage.verbs.remove("calm-cove", stage.said.append, wait=False),
    }
    with pytest.raises(Conflict) as refused:
        await wish[verb]()
    assert refused.value.hint == f"leave out --no-wait: moorage {verb} calm-cove"
    assert (await stage.record()).intent == before.intent


@pytest.mark.parametrize(
    ("verb", "desired"), [("stop", Desired.STOPPED), ("rm", Desired.DELETED)], ids=["stop", "rm"]
)
async def test_who_does_not_wait_leaves_the_wish_to_whoever_drives(
    stage: Stage, verb: str, desired: Desired
) -> None:
    session = await stage.running()
    assert await stage.store.leases.acquire(session.id, Owner("elsewhere", 1, "1")) is not None
    if verb == "stop":
        await asyncio.wait_for(stage.verbs.stop("calm-cove", stage.said.append, wait=False), 60)
    else:
        await asyncio.wait_for(stage.verbs.remove("calm-cove", stage.said.append, wait=False), 60)
    current = await stage.record()
    assert (current.intent.desired, current.state.phase) == (desired, Phase.RUNNING)
    assert stage.cluster.writes()[-1].startswith("create")
