"""Creates, updates and deletes over HTTP: preconditions, dry runs, finalizers, grace."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from moorage.core.kinds import PODS
from moorage.embedded import EmbeddedCluster

from .conftest import APPLY, JSON_PATCH, MERGE, STRATEGIC, Asked, config_map, pod

ELSE = "11111111-1111-1111-1111-111111111111"


async def test_of_two_creates_of_one_name_the_second_is_told_so(ask: Asked) -> None:
    first = await ask("POST", "configmaps", config_map("a", x="1"))
    second = await ask("POST", "configmaps", config_map("a", x="2"))
    assert (first.code, second.code, second.reason) == (201, 409, "AlreadyExists")
    assert (await ask("GET", "configmaps/a")).body["data"] == {"x": "1"}


async def test_of_many_creates_at_once_one_wins(ask: Asked) -> None:
    said = await asyncio.gather(*(ask("POST", "configmaps", config_map("a")) for _ in range(20)))
    assert sorted(answer.code for answer in said) == [201] + [409] * 19


async def test_a_generated_name_is_new_each_time(ask: Asked) -> None:
    made = [await ask("POST", "configmaps", {"metadata": {"generateName": "a-"}}) for _ in range(3)]
    assert len({answer.body["metadata"]["name"] for answer in made}) == 3


@pytest.mark.parametrize(
    ("method", "path", "body", "kind"),
    [
        ("POST", "configmaps", config_map("new"), "application/json"),
        ("PUT", "configmaps/a", config_map("a", x="2"), "application/json"),
        ("PATCH", "configmaps/a", {"data": {"x": "2"}}, MERGE),
        ("PATCH", "configmaps/a", {"data": {"x": "2"}}, STRATEGIC),
        ("DELETE", "configmaps/a", None, "application/json"),
        ("DELETE", "configmaps", None, "application/json"),
    ],
)
async def test_a_dry_run_leaves_nothing(
    here: EmbeddedCluster, ask: Asked, method: str, path: str, body: object, kind: str
) -> None:
    await ask("POST", "configmaps", config_map("a", x="1"))
    before = here.store.version
    said = await ask(method, f"{path}?dryRun=All", body, kind)
    assert said.code in (200, 201)
    assert here.store.version == before


@pytest.mark.parametrize(
    "preconditions", [{"uid": ELSE}, {"resourceVersion": "1"}, {"uid": ELSE, "resourceVersion": "1"}]
)
async def test_a_delete_whose_precondition_fails_deletes_nothing(ask: Asked, preconditions: object) -> None:
    made = await ask("POST", "configmaps", config_map("a"))
    refused = await ask("DELETE", "configmaps/a", {"preconditions": preconditions})
    assert (refused.code, refused.reason) == (409, "Conflict")
    assert (await ask("GET", "configmaps/a")).uid == made.uid


async def test_a_stale_update_is_a_conflict_and_one_without_a_version_is_not(ask: Asked) -> None:
    old = (await ask("POST", "configmaps", config_map("a"))).body
    assert (await ask("PUT", "configmaps/a", {**old, "data": {"x": "1"}})).code == 200
    assert (await ask("PUT", "configmaps/a", {**old, "data": {"x": "2"}})).code == 409
    assert (await ask("PUT", "configmaps/a", config_map("a", x="3"))).code == 200
    stale = {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}}
    assert (await ask("PATCH", "configmaps/a", stale, MERGE)).code == 409


async def test_an_update_for_another_uid_is_a_conflict(ask: Asked) -> None:
    await ask("POST", "configmaps", config_map("a"))
    other = {"metadata": {"name": "a", "uid": ELSE}}
    assert (await ask("PUT", "configmaps/a", other)).code == 409


async def test_a_write_that_changes_nothing_makes_no_version(ask: Asked) -> None:
    made = await ask("POST", "configmaps", config_map("a", x="1"))
    same = await ask("PATCH", "configmaps/a", {"data": {"x": "1"}}, MERGE)
    assert same.version == made.version
    applied = await ask("PATCH", "configmaps/b?fieldManager=m", _typed("b"), APPLY)
    again = await ask("PATCH", "configmaps/b?fieldManager=m", _typed("b"), APPLY)
    assert (applied.code, again.code) == (201, 200)
    assert again.version == applied.version


def _typed(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", **config_map(name, x="1")}


async def test_a_finalizer_holds_an_object_until_it_is_taken_away(ask: Asked) -> None:
    await ask("POST", "configmaps", {"metadata": {"name": "a", "finalizers": ["test/hold"]}})
    held = await ask("DELETE", "configmaps/a")
    assert held.body["metadata"]["deletionTimestamp"]
    more = {"metadata": {"finalizers": ["test/hold", "test/more"]}}
    assert (await ask("PATCH", "configmaps/a", more, MERGE)).code == 422
    assert (await ask("PATCH", "configmaps/a", {"metadata": {"finalizers": None}}, MERGE)).code == 200
    assert (await ask("GET", "configmaps/a")).code == 404


async def test_a_pod_on_a_node_gets_its_grace_and_the_node_ends_it(here: EmbeddedCluster, ask: Asked) -> None:
    made = await ask("POST", "pods", pod("p", terminationGracePeriodSeconds=25))
    here.objects().bind(made.body, "some-node")
    first = (await ask("DELETE", "pods/p")).body["metadata"]
    assert first["deletionGracePeriodSeconds"] == 25
    longer = (await ask("DELETE", "pods/p", {"gracePeriodSeconds": 60})).body["metadata"]
    assert longer["deletionGracePeriodSeconds"] == 25
    shorter = (await ask("DELETE", "pods/p", {"gracePeriodSeconds": 5})).body["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 5
    here.objects("kubelet").remove(PODS, "default", "p", "another")
    assert (await ask("GET", "pods/p")).code == 200
    here.objects("kubelet").remove(PODS, "default", "p", made.uid)
    assert (await ask("GET", "pods/p")).code == 404


@pytest.mark.parametrize("phase", ["", "Succeeded"])
async def test_a_pod_that_runs_nowhere_goes_at_once(here: EmbeddedCluster, ask: Asked, phase: str) -> None:
    made = await ask("POST", "pods", pod("p"))
    if phase:
        here.objects().bind(made.body, "some-node")
        await ask("PATCH", "pods/p/status", {"status": {"phase": phase}}, MERGE)
    await ask("DELETE", "pods/p")
    assert (await ask("GET", "pods/p")).code == 404


async def test_status_and_the_rest_are_written_apart(ask: Asked) -> None:
    made = await ask("POST", "pods", pod("p"))
    both = {"metadata": {"labels": {"a": "b"}}, "status": {"phase": "Running"}}
    assert (await ask("PATCH", "pods/p", both, MERGE)).body["status"]["phase"] == "Pending"
    spec = {**both, "spec": {"nodeName": "elsewhere"}}
    after = (await ask("PATCH", "pods/p/status", spec, MERGE)).body
    assert after["status"]["phase"] == "Running"
    assert "nodeName" not in after["spec"]
    assert after["metadata"]["uid"] == made.uid


async def test_what_of_a_pod_cannot_change_is_refused(ask: Asked) -> None:
    await ask("POST", "pods", pod("p"))
    changed = [{"op": "replace", "path": "/spec/containers/0/command", "value": ["x"]}]
    add = [{"op": "add", "path": "/spec/containers/0/command", "value": ["x"]}]
    assert (await ask("PATCH", "pods/p", changed, JSON_PATCH)).code == 422
    refused = await ask("PATCH", "pods/p", add, JSON_PATCH)
    assert (refused.code, refused.body["details"]["causes"][0]["field"]) == (422, "spec")
    image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "localhost/other:1"}]
    assert (await ask("PATCH", "pods/p", image, JSON_PATCH)).code == 200


BODIES = {
    "no JSON": (b"{", 400),
    "a list": (b"[]", 400),
    "another kind": (b'{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}', 400),
    "a number for a text": (b'{"metadata": {"name": "a"}, "data": {"x": 1}}', 400),
    "no name": (b'{"metadata": {}}', 422),
    "a version of its own": (b'{"metadata": {"name": "a", "resourceVersion": "7"}}', 500),
    "another namespace": (b'{"metadata": {"name": "a", "namespace": "b"}}', 400),
    "too large": (b'{"data": {"x": "' + b"y" * (3 << 20) + b'"}}', 413),
}


@pytest.mark.parametrize(("body", "code"), BODIES.values(), ids=BODIES.keys())
async def test_a_body_that_cannot_be_is_refused(
    here: EmbeddedCluster, ask: Asked, body: bytes, code: int
) -> None:
    before = here.store.version
    assert (await ask("POST", "configmaps", body)).code == code
    assert here.store.version == before


LONE = {  # the bytes of a value, and what Go's JSON decoder makes of them
    "half a pair": (rb"\ud800", "\ufffd"),
    "the other half": (rb"a\udfffb", "a\ufffdb"),
    "a pair after a half": (rb"\uD800\ud83d\uDE00", "\ufffd\U0001f600"),
    "no escape at all": (rb"\\ud800", "\\ud800"),
    "bytes of half a pair": (b"\xed\xa0\x80", "\ufffd" * 3),
    "half a character": (b"\xe2\x82", "\ufffd" * 2),
}


@pytest.mark.parametrize(("text", "read"), LONE.values(), ids=LONE.keys())
async def test_text_that_is_no_unicode_is_replaced_as_go_does(ask: Asked, text: bytes, read: str) -> None:
    data = b'"data": {"a": "' + text + b'"}'
    made = await ask("POST", "configmaps", b'{"metadata": {"name": "a"}, ' + data + b"}")
    assert (made.code, made.body["data"]) == (201, {"a": read})
    await ask("POST", "configmaps", config_map("b"))
    apply = b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, ' + data + b"}"
    for method, body, content_type in (
        ("PUT", b'{"metadata": {"name": "b"}, ' + data + b"}", "application/json"),
        ("PATCH", b'[{"op": "add", "path": "/data", "value": {"a": "' + text + b'"}}]', JSON_PATCH),
        ("PATCH", b"{" + data + b"}", MERGE),
        ("PATCH", b"{" + data + b"}", STRATEGIC),
        ("PATCH", apply, APPLY),
    ):
        query = "?fieldManager=me&force=true" if content_type == APPLY else ""
        done = await ask(method, f"configmaps/b{query}", body, content_type)
        assert (done.code, done.body.get("data")) == (200, {"a": read}), content_type
    uid = b'{"preconditions": {"uid": "' + text + b'"}}'
    assert (await ask("DELETE", "configmaps/b", uid)).code == 409


async def test_yaml_with_half_a_pair_is_refused(ask: Asked) -> None:
    body = b'metadata: {name: a}\ndata: {a: "\\ud800"}\n'
    assert (await ask("POST", "configmaps", body, "application/yaml")).code == 400


async def test_a_client_whose_name_is_no_unicode_may_write(here: EmbeddedCluster) -> None:
    port = int(here.address.rpartition(":")[2])
    context = ssl.create_default_context(cadata=here.identity.authority)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    body = b'{"metadata": {"name": "a"}, "data": {"b": "c"}}'
    head = (
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Authorization: Bearer {here.identity.token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nUser-Agent: "
    )
    writer.write(head.encode() + b"me\xff/1\r\n\r\n" + body)
    answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 201 ")
    assert '"manager":"me\ufffd"'.encode() in answer


async def test_strict_validation_names_unknown_and_repeated_fields(ask: Asked) -> None:
    body = b'{"metadata": {"name": "a", "nam": "b"}, "data": {}, "dat": {}, "dat": {}}'
    refused = await ask("POST", "configmaps?fieldValidation=Strict", body)
    assert refused.code == 400
    for fault in ('unknown field "metadata.nam"', 'duplicate field "dat"', 'unknown field "dat"'):
        assert fault in refused.body["message"]
    assert (await ask("POST", "configmaps", body)).code == 201
