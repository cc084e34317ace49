"""Executors and profiles over REST: what an administrator saves is what is there, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.service import EXECUTOR, PROFILE, Service


async def test_an_administrator_makes_an_executor_and_everybody_sees_it(service: Service) -> None:
    administrator, member = await service.administrator(), await service.person("mia")
    made = await administrator.post("/executors", EXECUTOR)
    assert made.status == 201
    assert (made.body["name"], made.body["spec"]["namespace"], made.etag) == ("dev", "agents", '"1"')
    seen = await member.get("/executors")
    assert [one["id"] for one in seen.body["items"]] == [made.body["id"]]


FAULTS: dict[str, tuple[dict[str, Any], tuple[str, str]]] = {
    "a path that is not absolute": ({"kubeconfig_path": "kube/dev"}, ("spec.kubeconfig_path", "path")),
    "a path with in_cluster": ({"auth_mode": "in_cluster"}, ("spec.kubeconfig_path", "mode")),
    "no namespace's name": ({"namespace": "No_Such"}, ("spec.namespace", "name")),
    "a timeout out of range": (
        {"request_timeout_seconds": 301},
        ("spec.request_timeout_seconds", "less_than_equal"),
    ),
    "a field nobody knows": ({"token": "abc"}, ("spec.token", "extra_forbidden")),
    "another kind": ({"type": "docker"}, ("spec.type", "string_pattern_mismatch")),
}


@pytest.mark.parametrize(("change", "fault"), FAULTS.values(), ids=FAULTS.keys())
async def test_a_faulty_executor_is_refused_by_its_field(
    service: Service, change: dict[str, Any], fault: tuple[str, str]
) -> None:
    administrator = await service.administrator()
    refused = await administrator.post("/executors", {**EXECUTOR, "spec": {**EXECUTOR["spec"], **change}})  # type: ignore[dict-item]
    assert refused.status == 422
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert refused.fields == [fault]
    assert all(one["message"] and one["hint"] for one in refused.body["errors"])
    assert (await administrator.get("/executors")).body["items"] == []


async def test_a_change_needs_the_version_it_was_made_from(service: Service) -> None:
    administrator = await service.administrator()
    made = await administrator.post("/executors", EXECUTOR)
    path = f"/executors/{made.body['id']}"
    assert (await administrator.patch(path, {"name": "blind"})).status == 428
    first = await administrator.patch(path, {"name": "first"}, made.etag)
    assert (first.status, first.etag) == (200, '"2"')
    late = await administrator.patch(path, {"name": "late"}, made.etag)
    assert (late.status, late.body["code"], late.body["version"]) == (412, "stale", 2)
    assert (await administrator.get(path)).body["name"] == "first"


async def test_the_faults_of_a_template_are_told_with_their_place(service: Service) -> None:
    administrator = await service.administrator()
    executor = (await administrator.post("/executors", EXECUTOR)).body["id"]
    template = PROFILE["spec"]["pod_template_yaml"] + "    restartPolicy: Always\n    hostNetwrk: true\n"  # type: ignore[index]
    body = {**PROFILE, "spec": {**PROFILE["spec"], "pod_template_yaml": template}}  # type: ignore[dict-item]
    refused = await administrator.post(f"/executors/{executor}/profiles", body)
    assert refused.status == 422
    places = {(one["field"], one["line"]) for one in refused.body["errors"]}
    assert ("spec.pod_template_yaml.template.spec.restartPolicy", 8) in places
    assert any(field.endswith("hostNetwrk") and line == 9 for field, line in places)
