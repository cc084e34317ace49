"""After a takeover, a delete that the owner before us had judged is refused by the API server itself."""

from __future__ import annotations

import pytest
from testcluster.objects import claim

from moorage import kube
from moorage.core.errors import ApiError
from moorage.core.kinds import CLAIMS
from moorage.engine.fencing import fence
from tests.core.session_plans.drawn import session

pytestmark = pytest.mark.cluster


async def test_a_stale_owners_delete_of_a_claim_comes_too_late(api: kube.KubeCluster, namespace: str) -> None:
    made = await api.create(CLAIMS, claim(namespace, "work", "static"), namespace)
    uid, judged = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
    ours = session(namespace=namespace, claim_name="work", claim_uid=uid, claim_created_by_us=True)

    await fence(api, ours, 7)

    with pytest.raises(ApiError) as refused:
        await api.delete(CLAIMS, "work", namespace, uid=uid, resource_version=judged)
    assert (refused.value.problem.http_status, refused.value.problem.reason) == (409, "Conflict")
    kept = await api.get(CLAIMS, "work", namespace)
    assert kept["metadata"]["uid"] == uid
    assert "deletionTimestamp" not in kept["metadata"]
    assert kept["metadata"]["annotations"]["moorage.dev/fence"] == "7"


async def test_a_claim_that_is_not_the_recorded_one_is_not_fenced(
    api: kube.KubeCluster, namespace: str
) -> None:
    made = await api.create(CLAIMS, claim(namespace, "work", "static"), namespace)
    ours = session(namespace=namespace, claim_name="work", claim_uid="another", claim_created_by_us=True)
    await fence(api, ours, 7)
    kept = await api.get(CLAIMS, "work", namespace)
    assert kept["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
