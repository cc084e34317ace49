"""Who we are to an API server, by its own words; on a cluster over real HTTP."""

from __future__ import annotations

from moorage import kube
from moorage.sessions.executors import ExecutorConfig
from moorage.sessions.whoami import whoami

from .connection_place import AGENTS, Place
from .test_connection_steps import place

__all__ = ["place"]


async def test_user_groups_place_and_rights_are_told(place: Place) -> None:
    caller = await whoami(await place.parts.executors.cluster(AGENTS), AGENTS)
    assert (caller.user, caller.namespace, caller.context) == ("admin", "agents", "test")
    assert "system:masters" in caller.groups
    assert caller.server.startswith("http")
    assert {one.resource for one in caller.rights} >= {"pods", "pods/exec", "persistentvolumeclaims"}
    assert not any(one.missing for one in caller.rights)


async def test_each_right_that_is_missing_stands_with_its_resource(place: Place) -> None:
    place.api.deny(lambda call: str(call) == "create pods/exec")
    caller = await whoami(await place.parts.executors.cluster(AGENTS), AGENTS)
    (exec_,) = [one for one in caller.rights if one.resource == "pods/exec"]
    assert (exec_.verbs, exec_.missing) == (("get",), ("create",))


async def test_a_server_that_does_not_say_who_we_are_still_tells_what_we_may(place: Place) -> None:
    place.deny("create selfsubjectreviews")
    caller = await whoami(await place.parts.executors.cluster(AGENTS), AGENTS)
    assert (caller.user, caller.groups) == ("", ())
    assert caller.rights


async def test_on_the_embedded_cluster_there_is_no_context(place: Place) -> None:
    own = ExecutorConfig("", "embedded", "agents", embedded=True)
    client = kube.connect(str(place.api.kubeconfig), None, "agents")
    try:
        assert (await whoami(client, own)).context == ""
    finally:
        await client.close()
