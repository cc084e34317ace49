"""Each verb that sessions need is asked for by itself: without any one of them, that one is named."""

from __future__ import annotations

from typing import Any, cast

import pytest

from moorage.core.kinds import ACCESS_REVIEWS, Json, Resource
from moorage.ports.cluster import Cluster
from moorage.sessions.checks import rights
from moorage.sessions.checks.trial import Trial
from moorage.sessions.executors import ExecutorConfig
from moorage.sessions.grant import RIGHTS, grant_script, right_name
from moorage.sessions.parts import Parts

VERBS = [(right_name(resource, sub), verb) for resource, sub, verbs, _ in RIGHTS for verb in verbs]
NEEDED = {right_name(resource, sub) for resource, sub, _, needed in RIGHTS if needed}


class AllButOne:
    """Reviews of our access say yes, but to one verb of one resource."""

    def __init__(self, resource: str, verb: str) -> None:
        self.denied = (resource, verb)

    async def create(self, resource: Resource, body: Json, *_: Any) -> Json:
        assert resource is ACCESS_REVIEWS
        asked = body["spec"]["resourceAttributes"]
        named = right_name(asked["resource"], asked.get("subresource", ""))
        return {"status": {"allowed": (named, asked["verb"]) != self.denied}}


@pytest.mark.parametrize(("resource", "verb"), VERBS, ids=[f"case 155: {r} {verb}" for r, verb in VERBS])
async def test_case_155_a_verb_that_is_missing_is_named_at_its_own_step(resource: str, verb: str) -> None:
    cluster = cast(Cluster, AllButOne(resource, verb))
    config = ExecutorConfig("", "x", "agents")
    trial = Trial(cast(Parts, None), config, None, cluster, lambda progress: None, user="jane")
    checks = [await step.work(trial) for step in rights.steps(trial)]
    status = "failed" if resource in NEEDED else "warning"
    assert [(check.key, check.status, check.detail) for check in checks if check.status != "ok"] == [
        (f"rights.{resource}", status, f"missing: {verb}")
    ]
    script = rights.script(trial, checks)
    assert (script.key, script.status) == ("rights", status)
    assert grant_script("agents", "jane") in script.fix
