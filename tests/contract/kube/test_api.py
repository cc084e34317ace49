"""What the adapter promises about calls, watches and refusals, on a real API server."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage import kube
from moorage.core.errors import ApiError
from moorage.core.kinds import CONFIG_MAPS, LEASES, PODS, SECRETS, Json, Resource
from moorage.core.observed import Absent, Present, Unknown, from_problem
from moorage.kube.leader import Leader
from moorage.kube.reflector import Reflector, WatchListSupport

pytestmark = pytest.mark.cluster


def config_map(name: str, **data: str) -> Json:
    return {"metadata": {"name": name}, "data": data}


async def test_the_server_says_who_it_is(api: kube.KubeCluster) -> None:
    identity = await api.identity()
    assert identity.address.startswith("https://")
    assert len(identity.ca_sha256) == 64
    assert identity.version.startswith("v1.")


async def test_absent_is_known_from_the_servers_own_word(api: kube.KubeCluster, problem_of: Any) -> None:
    problem = await problem_of(api.get(CONFIG_MAPS, "nobody"))
    assert isinstance(from_problem(problem, "configmaps", "nobody"), Absent)
    assert isinstance(from_problem(problem, "configmaps", "other"), Unknown)


async def test_in_a_namespace_that_is_not_there_nothing_is_absent(
    api: kube.KubeCluster, problem_of: Any
) -> None:
    created = await problem_of(api.create(CONFIG_MAPS, config_map("a"), "no-such-namespace"))
    assert (created.http_status, created.details_kind) == (404, "namespaces")


async def test_a_strict_dry_run_names_the_unknown_field_and_leaves_nothing(
    api: kube.KubeCluster, problem_of: Any
) -> None:
    container = {"name": "main", "image": "x", "imag": "y"}
    bad = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    problem = await problem_of(api.create(PODS, bad, dry_run=True))
    assert (problem.http_status, problem.reason, problem.sent) == (400, "BadRequest", "no")
    assert [field for field, _, _ in problem.causes] == ["spec.containers[0].imag"]
    del container["imag"]
    assert (await api.create(PODS, bad, dry_run=True))["spec"]["restartPolicy"] == "Always"
    assert isinstance(from_problem(await problem_of(api.get(PODS, "p")), "pods", "p"), Absent)


async def test_an_invalid_object_names_each_field(api: kube.KubeCluster, problem_of: Any) -> None:
    bad = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "A_b", "image": ""}]}}
    problem = await problem_of(api.create(PODS, bad, dry_run=True))
    assert (problem.http_status, problem.reason) == (422, "Invalid")
    assert {"spec.containers[0].name", "spec.containers[0].image"} <= {
        field for field, _, _ in problem.causes
    }


async def test_a_list_goes_through_all_its_pages(api: kube.KubeCluster) -> None:
    names = {f"page-{number}" for number in range(7)}
    await asyncio.gather(*(api.create(CONFIG_MAPS, config_map(name)) for name in names))
    found = [item async for item in api.list_all(CONFIG_MAPS, page=2)]
    assert names <= {item["metadata"]["name"] for item in found}
    assert {item["kind"] for item in found} == {"ConfigMap"}


async def test_a_wrong_uid_deletes_nothing(api: kube.KubeCluster, problem_of: Any) -> None:
    made = await api.create(CONFIG_MAPS, config_map("kept"))
    problem = await problem_of(api.delete(CONFIG_MAPS, "kept", uid="11111111-1111-1111-1111-111111111111"))
    assert (problem.http_status, problem.reason, problem.sent) == (409, "Conflict", "no")
    uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
    await api.patch(CONFIG_MAPS, "kept", {"data": {"a": "changed"}})
    stale = await problem_of(api.delete(CONFIG_MAPS, "kept", uid=uid, resource_version=version))
    assert stale.reason == "Conflict"
    assert (await api.get(CONFIG_MAPS, "kept"))["metadata"]["uid"] == uid
    await api.delete(CONFIG_MAPS, "kept", uid=uid)
    assert (await problem_of(api.get(CONFIG_MAPS, "kept"))).reason == "NotFound"


async def test_a_patch_whose_test_fails_changes_nothing(api: kube.KubeCluster, problem_of: Any) -> None:
    await api.create(CONFIG_MAPS, config_map("c", a="1"))
    change = [
        {"op": "test", "path": "/data/a", "value": "2"},
        {"op": "replace", "path": "/data/a", "value": "3"},
    ]
    assert (await problem_of(api.patch(CONFIG_MAPS, "c", change))).http_status == 422
    assert (await api.get(CONFIG_MAPS, "c"))["data"] == {"a": "1"}


async def test_a_replace_of_an_older_version_is_a_conflict(api: kube.KubeCluster, problem_of: Any) -> None:
    old = await api.create(CONFIG_MAPS, config_map("c"))
    await api.replace(CONFIG_MAPS, {**old, "data": {"a": "1"}})
    assert (await problem_of(api.replace(CONFIG_MAPS, {**old, "data": {"a": "2"}}))).reason == "Conflict"


async def test_an_apply_takes_no_field_of_another_manager(api: kube.KubeCluster, problem_of: Any) -> None:
    await api.apply(CONFIG_MAPS, config_map("c", a="1"), field_manager="one")
    problem = await problem_of(api.apply(CONFIG_MAPS, config_map("c", a="2"), field_manager="two"))
    assert (problem.http_status, problem.reason) == (409, "Conflict")
    assert [(field, reason) for field, reason, _ in problem.causes] == [(".data.a", "FieldManagerConflict")]
    await api.apply(CONFIG_MAPS, config_map("c", b="2"), field_manager="two")
    assert (await api.get(CONFIG_MAPS, "c"))["data"] == {"a": "1", "b": "2"}
    read = await api.get(CONFIG_MAPS, "c")
    taken = {
        **read,
        "data": {"a": "2"},
        "metadata": {"name": "c", "managedFields": [], "creationTimestamp": None},
    }
    await api.apply(CONFIG_MAPS, taken, field_manager="two", force=True)
    assert (await api.get(CONFIG_MAPS, "c"))["data"] == {"a": "2"}


async def test_a_missing_right_is_a_refusal_that_says_so(
    connect: Any, limited_user: Callable[..., Path]
) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
    limited = connect(limited_user(rules))
    assert [item async for item in limited.list_all(CONFIG_MAPS)]  # kube-root-ca.crt
    with pytest.raises(ApiError) as caught:
        await limited.get(SECRETS, "any")
    problem = caught.value.problem
    assert (problem.kind, problem.http_status, problem.reason, problem.sent) == (
        "status",
        403,
        "Forbidden",
        "no",
    )
    assert isinstance(from_problem(problem, "secrets", "any"), Unknown)
    assert "Role" in caught.value.hint


async def test_a_watch_without_the_right_is_unknown_not_empty(
    connect: Any, limited_user: Callable[..., Path]
) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]
    async with connect(limited_user(rules)).watch(PODS) as pods:
        assert await pods.changed(30)
        found = pods.get("any")
    assert isinstance(found, Unknown)
    assert "forbidden" in found.why


def with_user(source: Path, target: Path, user: dict[str, Any]) -> Path:
    """The administrator's kubeconfig with other credentials."""
    document = yaml.safe_load(source.read_text())
    for cluster in document["clusters"]:
        authority = cluster["cluster"].get("certificate-authority")
        if authority:
            cluster["cluster"]["certificate-authority"] = str(source.resolve().parent / authority)
    for entry in document["users"]:
        entry["user"] = user
    target.write_text(yaml.safe_dump(document))
    return target


async def test_a_rotated_token_is_taken_up_after_a_401_without_a_restart(
    connect: Any, kubeconfig: Path, kubectl: Callable[..., str], namespace: str, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("not-a-token")
    cluster = connect(with_user(kubeconfig, tmp_path / "config", {"tokenFile": str(token)}))
    with pytest.raises(ApiError) as caught:
        await cluster.get(CONFIG_MAPS, "kube-root-ca.crt")
    assert caught.value.problem.http_status == 401
    token.write_text(kubectl("-n", namespace, "create", "token", "default"))
    with pytest.raises(ApiError) as caught:
        await cluster.get(CONFIG_MAPS, "kube-root-ca.crt")
    assert caught.value.problem.http_status == 403  # now it is known who asks


async def test_a_rotated_kubeconfig_is_taken_up_after_a_401_without_a_restart(
    connect: Any, kubeconfig: Path, tmp_path: Path
) -> None:
    path = with_user(kubeconfig, tmp_path / "config", {"token": "not-a-token"})
    cluster = connect(path)
    with pytest.raises(ApiError):
        await cluster.get(CONFIG_MAPS, "kube-root-ca.crt")
    original = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]
    folder = kubeconfig.resolve().parent
    user = {key: value if key.endswith("-data") else str(folder / value) for key, value in original.items()}
    with_user(kubeconfig, path, user)
    assert (await cluster.get(CONFIG_MAPS, "kube-root-ca.crt"))["kind"] == "ConfigMap"


async def test_a_server_of_another_authority_gets_no_credentials(kubeconfig: Path, tmp_path: Path) -> None:
    document = yaml.safe_load(kubeconfig.read_text())
    server = document["clusters"][0]["cluster"]["server"]
    path = tmp_path / "config"
    path.write_text(
        "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
        f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
        "users: [{name: u, user: {token: t}}]\n"
    )
    cluster = kube.connect(str(path), None, None)
    with pytest.raises(ApiError) as caught:
        await cluster.identity()
    await cluster.close()
    assert (caught.value.problem.reason, caught.value.problem.sent) == ("Certificate", "no")


async def names(cache: Any, wanted: set[str]) -> None:
    async with asyncio.timeout(60):
        while isinstance(cache.get("any"), Unknown) or set(cache.items()) != wanted:
            await cache.changed()


LABELLED = {"labels": {"test": "watch"}}


async def test_a_watch_follows_and_forgets(api: kube.KubeCluster) -> None:
    async with api.watch(CONFIG_MAPS, label_selector="test=watch") as cache:
        await names(cache, set())
        made = [await api.create(CONFIG_MAPS, {"metadata": {"name": n, **LABELLED}}) for n in ("a", "b")]
        await names(cache, {"a", "b"})
        await api.delete(CONFIG_MAPS, "a", uid=made[0]["metadata"]["uid"])
        await names(cache, {"b"})
        assert cache.get("a") == Absent()
        found = cache.get("b")
    assert isinstance(found, Present)
    assert "managedFields" not in found.value["metadata"]


GROUP = "tests.moorage.dev"
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)


@pytest.fixture
async def late(api: kube.KubeCluster) -> AsyncIterator[Resource]:
    """A kind that the server learns of only now: of it, it remembers nothing from before."""
    plural = f"w{secrets.token_hex(4)}"
    name = f"{plural}.{GROUP}"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": plural, "singular": plural, "kind": plural.title()},
        "versions": [version],
    }
    made = await api.create(DEFINITIONS, {"metadata": {"name": name}, "spec": spec})
    async with asyncio.timeout(60), api.watch(DEFINITIONS, field_selector=f"metadata.name={name}") as cache:
        while not served(cache.get(name)):
            await cache.changed()
    yield Resource(GROUP, "v1", plural, plural.title())
    await api.delete(DEFINITIONS, name, uid=made["metadata"]["uid"])


def served(found: Any) -> bool:
    conditions = found.value.get("status", {}).get("conditions", []) if isinstance(found, Present) else []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


@pytest.mark.parametrize("watch_list", [True, False], ids=["by WatchList", "by LIST"])
async def test_a_version_the_server_has_forgotten_relists_and_drops_what_is_gone(
    api: kube.KubeCluster, late: Resource, watch_list: bool
) -> None:
    async with asyncio.timeout(60), api.watch(late, label_selector="test=watch") as cache:
        kind = {"apiVersion": late.api_version, "kind": late.kind}
        await api.create(late, {**kind, "metadata": {"name": "real", **LABELLED}})
        await names(cache, {"real"})
    support = WatchListSupport()
    support.usable = watch_list
    reflector = Reflector(
        api._transport, late, late.path(api.namespace), [("labelSelector", "test=watch")], support
    )
    reflector._state.listed([{"metadata": {"name": "ghost"}}], "1")  # as if we had slept for days
    async with reflector as cache:
        await names(cache, {"real"})
        assert cache.get("ghost") == Absent()
    assert support.usable is watch_list


async def test_of_many_candidates_one_leads_at_a_time(connect: Any) -> None:
    working: set[str] = set()
    served: list[str] = []

    async def candidate(name: str) -> None:
        cluster = connect()

        async def work() -> None:
            assert not working
            working.add(name)
            lease = await cluster.get(LEASES, "election")
            assert lease["spec"]["holderIdentity"] == name
            working.discard(name)
            served.append(name)

        await Leader(cluster, "election", name, duration=5, renew_deadline=3, retry_every=0.1).run(work)

    async with asyncio.timeout(90):
        await asyncio.gather(*(candidate(name) for name in ("a", "b", "c")))
    assert sorted(served) == ["a", "b", "c"]
