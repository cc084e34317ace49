"""Who may do what: one token in a private file, roles for everybody else, rights that a test takes away."""

from __future__ import annotations

import ipaddress
import stat
from urllib.parse import urlsplit

import aiohttp
import pytest

from moorage import kube
from moorage.core.errors import ApiError
from moorage.core.kinds import CONFIG_MAPS
from moorage.embedded import EmbeddedCluster
from moorage.embedded.api.users import Tokens

from .conftest import Asked, config_map

ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"


async def test_only_this_machine_and_this_user_can_get_in(here: EmbeddedCluster) -> None:
    host = urlsplit(here.address).hostname
    assert host is not None
    assert ipaddress.ip_address(host).is_loopback
    for path in (here.kubeconfig, here.identity.token_file, here.folder / "identity/server.pem"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("header", ["", "Bearer ", "Bearer wrong", "Basic YTpi"])
async def test_without_the_token_nothing_is_told(
    here: EmbeddedCluster, http: aiohttp.ClientSession, header: str
) -> None:
    async with http.get("/api/v1/secrets", headers={"Authorization": header} if header else {}) as answer:
        assert answer.status == 401
        assert (await answer.json())["reason"] == "Unauthorized"


async def account(ask: Asked, name: str, *rules: dict[str, list[str]]) -> str:
    """A token of a ServiceAccount with exactly these rights."""
    await ask("POST", "serviceaccounts", {"metadata": {"name": name}})
    await ask("POST", f"{ROLES}/roles", {"metadata": {"name": name}, "rules": list(rules)})
    subject = {"kind": "ServiceAccount", "name": name}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    binding = {"metadata": {"name": name}, "subjects": [subject], "roleRef": reference}
    assert (await ask("POST", f"{ROLES}/rolebindings", binding)).code == 201
    said = await ask("POST", f"serviceaccounts/{name}/token", {"spec": {}})
    return str(said.body["status"]["token"])


READ = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}


async def test_a_service_account_may_do_what_its_role_says_and_no_more(ask: Asked) -> None:
    token = await account(ask, "reader", READ)
    assert (await ask("GET", "configmaps", token=token)).code == 200
    for method, path in (("GET", "secrets"), ("DELETE", "configmaps/a"), ("GET", "/api/v1/configmaps")):
        refused = await ask(method, path, token=token)
        assert (refused.code, refused.reason) == (403, "Forbidden")
    assert (
        'User "system:serviceaccount:default:reader" cannot list resource "secrets"'
        in ((await ask("GET", "secrets", token=token)).body["message"])
    )


async def test_a_token_ends_with_its_account(ask: Asked) -> None:
    token = await account(ask, "reader", READ)
    await ask("DELETE", "serviceaccounts/reader")
    assert (await ask("GET", "configmaps", token=token)).code == 401


async def test_a_token_of_bytes_that_are_no_text_is_nobodys(here: EmbeddedCluster) -> None:
    tokens = Tokens(here.store, "secret", None, lambda: 0.0)
    assert tokens.user(b"\xff\xe9".decode("utf-8", "surrogateescape")) is None


async def test_an_access_review_answers_what_a_call_would(ask: Asked) -> None:
    token = await account(ask, "reader", READ)
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answers = {}
    for verb in ("list", "create"):
        asked = {"verb": verb, "resource": "configmaps", "namespace": "default"}
        said = await ask("POST", path, {"spec": {"resourceAttributes": asked}}, token=token)
        answers[verb] = said.body["status"]["allowed"]
    assert answers == {"list": True, "create": False}


async def test_a_right_can_be_taken_from_everybody_and_given_back(
    here: EmbeddedCluster, client: kube.KubeCluster, ask: Asked
) -> None:
    undo = here.deny(lambda call: (call.verb, call.resource) == ("create", "configmaps"))
    with pytest.raises(ApiError) as refused:
        await client.create(CONFIG_MAPS, config_map("a"))
    assert (refused.value.problem.http_status, refused.value.problem.reason) == (403, "Forbidden")
    asked = {"verb": "create", "resource": "configmaps", "namespace": "default"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    review = {"spec": {"resourceAttributes": asked}}
    assert (await ask("POST", path, review)).body["status"] == {"allowed": False}
    undo()
    assert (await client.create(CONFIG_MAPS, config_map("a")))["metadata"]["name"] == "a"
