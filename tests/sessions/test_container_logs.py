"""A container's own log: what is not there is named, what may not be read is denied, each with what to do."""

from __future__ import annotations

import pytest

from moorage.core.errors import AccessDenied, ApiProblem, Conflict, MoorageError, NotFound
from moorage.core.kinds import PODS

from .stage import Stage


def refused(status: int, message: str) -> ApiProblem:
    reason = {400: "BadRequest", 403: "Forbidden", 404: "NotFound"}[status]
    return ApiProblem("status", status, reason, message, "no")


async def log(stage: Stage, container: str, *, previous: bool = False) -> bytes:
    chunks = stage.verbs.container_logs("calm-cove", container, previous=previous)
    return b"".join([chunk async for chunk in chunks])


async def test_it_is_the_log_of_that_container(stage: Stage) -> None:
    session = await stage.running()
    assert await log(stage, "agent") == f"log of agent in {session.inventory.pod_name}".encode()


@pytest.mark.parametrize(
    ("container", "previous", "problem", "kind", "message", "hint"),
    [
        (
            "nope",
            False,
            refused(400, "container nope is not valid for pod x"),
            NotFound,
            "session calm-cove has no container nope",
            "its containers: agent",
        ),
        (
            "agent",
            True,
            refused(400, 'previous terminated container "agent" in pod "x" not found'),
            NotFound,
            "container agent was not restarted: there is no log of an earlier run",
            "of this one: moorage logs calm-cove -c agent",
        ),
        (
            "agent",
            False,
            refused(400, 'container "agent" in pod "x" is waiting to start'),
            Conflict,
            'container agent has no log to read: container "agent" in pod "x" is waiting to start',
            "see how it stands: moorage describe calm-cove",
        ),
        (
            "agent",
            False,
            refused(403, "pods/log is forbidden"),
            AccessDenied,
            "the log of container agent may not be read: pods/log is forbidden",
            "moorage doctor shows which rights are missing, and how to grant them",
        ),
    ],
    ids=["no such container", "no earlier run", "not started", "denied"],
)
async def test_a_log_that_cannot_be_read_says_why_and_what_to_do(
    stage: Stage,
    container: str,
    previous: bool,
    problem: ApiProblem,
    kind: type[MoorageError],
    message: str,
    hint: str,
) -> None:
    await stage.running()
    stage.cluster.fail("logs", PODS, problem)
    with pytest.raises(kind) as caught:
        await log(stage, container, previous=previous)
    assert (caught.value.message, caught.value.hint) == (message, hint)


async def test_of_a_paused_session_there_is_no_pod_to_read_from(stage: Stage) -> None:
    await stage.running()
    await stage.verbs.pause("calm-cove", stage.said.append)
    with pytest.raises(Conflict, match="no running Pod") as caught:
        await log(stage, "agent")
    assert caught.value.hint == "start it again with: moorage resume calm-cove"
