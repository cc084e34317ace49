"""What the cluster adds to and refuses in new objects: webhooks, quotas, security levels, classes."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from aiohttp import web

from moorage.embedded import EmbeddedCluster
from moorage.embedded.admission.pod_security import violations
from moorage.embedded.registry.defaults import pod_spec

from .conftest import MERGE, Asked, pod


async def test_a_webhook_changes_what_is_created_and_is_asked_for_dry_runs_too(
    here: EmbeddedCluster, ask: Asked
) -> None:
    def add_sidecar(call: Any, draft: Any) -> Any:
        if draft["kind"] == "Pod":
            draft["spec"]["containers"].insert(0, {"name": "side", "image": "localhost/side:1"})
        return draft

    undo = here.add_webhook(add_sidecar)
    for query in ("", "?dryRun=All"):
        made = await ask("POST", f"pods{query}", pod(f"p{len(query)}"))
        side, main = made.body["spec"]["containers"]
        assert (side["name"], main["name"]) == ("side", "main")
        assert side["terminationMessagePath"] == "/dev/termination-log"  # defaulted as if it had been sent
    undo()
    assert len((await ask("POST", "pods", pod("q"))).body["spec"]["containers"]) == 1


async def test_what_a_webhook_makes_invalid_is_refused(here: EmbeddedCluster, ask: Asked) -> None:
    here.add_webhook(lambda call, draft: {**draft, "spec": {**draft["spec"], "containers": []}})
    assert (await ask("POST", "pods", pod("p"))).code == 422
    assert (await ask("GET", "pods/p")).code == 404


async def test_a_quota_refuses_what_does_not_fit_and_takes_it_once_there_is_room(ask: Asked) -> None:
    quota = {"metadata": {"name": "small"}, "spec": {"hard": {"pods": "1"}}}
    await ask("POST", "resourcequotas", quota)
    assert (await ask("POST", "pods", pod("a"))).code == 201
    refused = await ask("POST", "pods", pod("b"))
    assert (refused.code, refused.reason) == (403, "Forbidden")
    told = "exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1"
    assert told in refused.body["message"]
    await ask("DELETE", "pods/a")
    assert (await ask("POST", "pods", pod("b"))).code == 201


LOCKED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
LEVELS: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "nothing special": ({}, {}, "", "allowPrivilegeEscalation != false"),
    "locked down": ({"securityContext": LOCKED}, {}, "", ""),
    "the host's network": ({}, {"hostNetwork": True}, "host namespaces", "host namespaces"),
    "privileged": ({"securityContext": {"privileged": True}}, {}, "privileged (", "privileged ("),
    "a path of the host": (
        {"securityContext": LOCKED},
        {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
        "hostPath volumes",
        "restricted volume types",
    ),
    "a port of the host": (
        {"securityContext": LOCKED, "ports": [{"containerPort": 80, "hostPort": 80}]},
        {},
        "hostPort",
        "hostPort",
    ),
    "root": (
        {"securityContext": {**LOCKED, "runAsUser": 0}},
        {},
        "",
        "runAsUser=0",
    ),
}


@pytest.mark.parametrize(("container", "spec", "baseline", "restricted"), LEVELS.values(), ids=LEVELS.keys())
def test_a_security_level_refuses_what_it_is_for(
    container: dict[str, Any], spec: dict[str, Any], baseline: str, restricted: str
) -> None:
    made = pod("p", container, **spec)
    pod_spec(made["spec"])
    assert violations(made, "privileged") == ""
    for level, expected in (("baseline", baseline), ("restricted", restricted)):
        found = violations(made, level)
        assert expected in found
        assert bool(found) == bool(expected)


async def test_a_namespace_is_held_to_the_level_of_its_label(ask: Asked) -> None:
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    await ask("PATCH", "/api/v1/namespaces/default", label, MERGE)
    refused = await ask("POST", "pods", pod("p"))
    assert refused.code == 403
    assert 'violates PodSecurity "restricted:latest"' in refused.body["message"]
    assert (await ask("POST", "pods", pod("p", {"securityContext": LOCKED}))).code == 201


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none"),
        ({"runtimeClassName": "none"}, 'RuntimeClass "none" not found'),
        ({"serviceAccountName": "none"}, 'serviceaccount "none" not found'),
    ],
)
async def test_a_pod_that_names_what_is_not_there_is_refused(
    ask: Asked, spec: dict[str, Any], words: str
) -> None:
    refused = await ask("POST", "pods", pod("p", **spec))
    assert refused.code == 403
    assert words in refused.body["message"]


async def test_a_pod_gets_a_token_unless_it_says_no(ask: Asked) -> None:
    with_token = (await ask("POST", "pods", pod("a"))).body["spec"]
    without = (await ask("POST", "pods", pod("b", automountServiceAccountToken=False))).body["spec"]
    assert [mount["mountPath"] for mount in with_token["containers"][0]["volumeMounts"]] == [
        "/var/run/secrets/kubernetes.io/serviceaccount"
    ]
    assert "volumes" not in without


async def test_a_webhook_is_asked_about_updates_and_changes_them(here: EmbeddedCluster, ask: Asked) -> None:
    asked: list[Any] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        review = (await request.json())["request"]
        asked.append((review["operation"], review["oldObject"]["data"], review["object"]["data"]))
        patch = json.dumps([{"op": "add", "path": "/data/hook", "value": "was here"}]).encode()
        response = {"uid": review["uid"], "allowed": True, "patch": base64.b64encode(patch).decode()}
        return web.json_response({"response": response})

    server = web.ServerRunner(web.Server(answer))
    await server.setup()
    await web.TCPSite(server, "127.0.0.1", 0, ssl_context=here.identity.context()).start()
    port = server.addresses[0][1]
    authority = base64.b64encode(here.identity.authority.encode()).decode()
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["configmaps"]}
    webhook = {
        "name": "hook.example.com",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": authority},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    await ask("POST", "configmaps", {"metadata": {"name": "m"}, "data": {"k": "1"}})
    assert (await ask("POST", path, {"metadata": {"name": "h"}, "webhooks": [webhook]})).code == 201
    put = await ask("PUT", "configmaps/m", {"metadata": {"name": "m"}, "data": {"k": "2"}})
    assert put.body["data"] == {"k": "2", "hook": "was here"}
    patched = await ask("PATCH", "configmaps/m", {"data": {"k": "3"}}, MERGE)
    assert patched.body["data"] == {"k": "3", "hook": "was here"}
    assert asked == [
        ("UPDATE", {"k": "1"}, {"k": "2"}),
        ("UPDATE", {"k": "2", "hook": "was here"}, {"k": "3", "hook": "was here"}),
    ]
    await server.cleanup()
