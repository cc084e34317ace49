"""A launch tells what admission makes of the author's own words, and goes on."""

from __future__ import annotations

from moorage.core.kinds import Json
from moorage.ports.sessions import LaunchRequest

from .stage import MODES, TEMPLATE, Stage

MESH = b"""\
    initContainers:
      - {name: mesh, image: "mesh:1", restartPolicy: Always}
"""
REQUEST = LaunchRequest(TEMPLATE + MESH, ["agent"], MODES["managed_pvc"], name="calm-cove")


async def test_case_151_a_field_of_the_author_that_admission_drops_is_told_at_the_launch(
    stage: Stage,
) -> None:
    def old_api(obj: Json) -> None:
        for container in obj["spec"].get("initContainers", []):
            container.pop("restartPolicy", None)

    stage.cluster.admission = old_api
    await stage.verbs.launch(REQUEST, stage.said.append)
    told = [said.message for said in stage.said if said.step == "warning"]
    assert told == [
        "admission does not leave the template as it is: spec.initContainers[mesh].restartPolicy",
    ]


async def test_of_a_template_that_admission_leaves_alone_nothing_is_told(stage: Stage) -> None:
    await stage.verbs.launch(REQUEST, stage.said.append)
    assert [said.message for said in stage.said if said.step == "warning"] == []
