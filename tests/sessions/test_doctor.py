"""Doctor on a cluster where rights are missing: one script, to be pasted as it stands, grants all of them."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import yaml

from moorage.core.kinds import NAMESPACES, Json, Resource
from moorage.ports.sessions import Check
from moorage.sessions.grant import RIGHTS, grant_script, right_name

from .fake_cluster import FORBIDDEN
from .stage import Stage


def documents(script: str) -> list[dict[str, Any]]:
    """What the here-document of a script holds."""
    first, *lines, last = script.splitlines()
    assert shlex.split(first) == ["kubectl", "-n", "agents", "apply", "-f", "-", "<<EOF"]
    assert last == "EOF"
    return list(yaml.safe_load_all("\n".join(lines)))


def test_the_script_makes_one_role_with_every_right_that_is_checked() -> None:
    role, _ = documents(grant_script("agents", "ann"))
    granted = {(rule["resources"][0], tuple(rule["verbs"])) for rule in role["rules"]}
    assert granted == {(right_name(r, sub), verbs) for r, sub, verbs, _ in RIGHTS} | {
        ("namespaces", ("get",))
    }
    assert {tuple(rule["apiGroups"]) for rule in role["rules"]} == {("",)}


@pytest.mark.parametrize(
    ("user", "subject"),
    [
        ("ann", {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}),
        ("o'brien\nEOF", {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "o'brien\nEOF"}),
        ("system:serviceaccount:ci:bot", {"kind": "ServiceAccount", "namespace": "ci", "name": "bot"}),
    ],
)
def test_the_binding_names_the_identity_whatever_it_is_called(user: str, subject: dict[str, str]) -> None:
    role, binding = documents(grant_script("agents", user))
    assert binding["subjects"] == [subject]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]


def test_two_people_share_the_role_and_none_takes_the_others_binding() -> None:
    (role, one), (same, other) = (
        documents(grant_script("agents", "ann")),
        documents(grant_script("agents", "bo")),
    )
    assert role == same
    assert one["metadata"]["name"] != other["metadata"]["name"]


def answering(stage: Stage, monkeypatch: pytest.MonkeyPatch, denied: set[tuple[str, str]]) -> None:
    """The reviews of a cluster that denies these (resource, verb) to ann."""

    async def create(resource: Resource, obj: Json, *args: Any, **more: Any) -> Json:
        if resource.plural == "selfsubjectreviews":
            return {"status": {"userInfo": {"username": "ann"}}}
        asked = obj["spec"]["resourceAttributes"]
        name = right_name(asked["resource"], asked.get("subresource", ""))
        return {"status": {"allowed": (name, asked["verb"]) not in denied}}

    monkeypatch.setattr(stage.cluster, "create", create)


async def checked(stage: Stage) -> dict[str, Check]:
    return {step.key: step for step in (await stage.verbs.doctor()).steps}


@pytest.mark.parametrize(
    ("right", "status"), [(("pods/exec", "create"), "failed"), (("events", "list"), "warning")]
)
async def test_what_is_missing_is_named_and_one_script_grants_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, right: tuple[str, str], status: str
) -> None:
    answering(stage, monkeypatch, {right})
    checks = await checked(stage)
    own = checks[f"rights.{right[0]}"]
    assert (own.status, own.detail) == (status, f"missing: {right[1]}")
    assert own.fix == "the script below, at rights, grants it"
    assert checks["rights"].status == status
    assert checks["rights"].fix.partition("\n")[2] == grant_script("agents", "ann")


async def test_a_namespace_that_may_not_be_read_is_in_the_script_too(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(stage, monkeypatch, set())
    stage.cluster.fail("get", NAMESPACES, FORBIDDEN)
    checks = await checked(stage)
    assert checks["namespace"].fix.startswith("the script below, at rights, grants it")
    assert checks["rights"].status == "warning"


async def test_without_a_missing_right_there_is_no_script(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(stage, monkeypatch, set())
    assert "rights" not in await checked(stage)
