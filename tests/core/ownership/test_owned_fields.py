"""After a create: a change of what is ours is always found, and nothing else ever is."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage.core.owned_fields import CLAIM_FIELDS, POD_FIELDS, claim_conflicts, pod_conflicts
from moorage.core.session import HelperSpec, Identity, Inventory, WorkspaceMode, WorkspaceSpec
from moorage.core.workload import find_container, session_claim, session_pod

Make = Callable[..., Inventory]
Json = dict[str, Any]
Mutation = Callable[[Json], None]
IMAGE = HelperSpec("image", "registry.example/helper@sha256:" + "ab" * 32)


@pytest.fixture
def sent(identity: Identity, make_inventory: Make) -> Json:
    """A Pod with everything that can be ours in it."""
    return session_pod(identity, make_inventory(helper=IMAGE), "nonce-1", entrypoint=["sh", "-c", "wait"])


@pytest.fixture
def sent_claim(identity: Identity, make_inventory: Make) -> Json:
    spec = WorkspaceSpec(WorkspaceMode.MANAGED_PVC, size="1Gi", storage_class="fast")
    return session_claim(identity, make_inventory(workspace=spec), "nonce-1")


def container(pod: Json, name: str) -> Json:
    found = find_container(pod["spec"], name)
    assert found is not None
    return found


def helper(pod: Json) -> Json:
    found: Json = pod["spec"]["initContainers"][0]
    return found


def mount(pod: Json, path: str) -> Json:
    found: Json = next(m for m in container(pod, "agent")["volumeMounts"] if m["mountPath"] == path)
    return found


def volume(pod: Json, name: str) -> Json:
    found: Json = next(v for v in pod["spec"]["volumes"] if v["name"] == name)
    return found


def put(*path: Any, to: Any) -> Mutation:
    def mutate(obj: Json) -> None:
        place: Any = obj
        for key in path[:-1]:
            place = place[key] if isinstance(key, int) else place.setdefault(key, {})
        place[path[-1]] = to

    return mutate


def drop(*path: Any) -> Mutation:
    def mutate(obj: Json) -> None:
        place: Any = obj
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]

    return mutate


MAIN = "spec.containers[agent]"
EXACT_MUTATIONS: dict[str, list[Mutation]] = {
    "metadata.name": [put("metadata", "name", to="other")],
    "metadata.namespace": [put("metadata", "namespace", to="other")],
    **{
        f"metadata.labels[{key}]": [put("metadata", "labels", key, to="x"), drop("metadata", "labels", key)]
        for key in (
            "moorage.dev/install-id",
            "moorage.dev/executor-id",
            "moorage.dev/profile-id",
            "moorage.dev/task-id",
            "moorage.dev/session-id",
            "app.kubernetes.io/managed-by",
        )
    },
    "metadata.annotations[moorage.dev/create-nonce]": [
        put("metadata", "annotations", "moorage.dev/create-nonce", to="x"),
        drop("metadata", "annotations"),
    ],
}
POD_MUTATIONS: dict[str, list[Mutation]] = {
    **EXACT_MUTATIONS,
    "spec.restartPolicy": [put("spec", "restartPolicy", to="Never")],
    "spec.nodeSelector[kubernetes.io/os]": [drop("spec", "nodeSelector", "kubernetes.io/os")],
    "spec.nodeSelector[kubernetes.io/arch]": [put("spec", "nodeSelector", "kubernetes.io/arch", to="arm64")],
    "spec.automountServiceAccountToken": [
        put("spec", "automountServiceAccountToken", to=True),
        drop("spec", "automountServiceAccountToken"),
    ],
    "spec.hostNetwork": [put("spec", "hostNetwork", to=True)],
    "spec.hostPID": [put("spec", "hostPID", to=True)],
    "spec.hostIPC": [put("spec", "hostIPC", to=True)],
    "spec.shareProcessNamespace": [put("spec", "shareProcessNamespace", to=True)],
    "spec.volumes[moorage-*]": [
        lambda p: volume(p, "moorage-run")["emptyDir"].pop("medium"),
        lambda p: volume(p, "moorage-run")["emptyDir"].update(sizeLimit="2Mi"),
        lambda p: volume(p, "moorage-opt").update(hostPath={"path": "/"}),
        lambda p: volume(p, "moorage-workspace")["persistentVolumeClaim"].update(claimName="other"),
        lambda p: volume(p, "moorage-workspace")["persistentVolumeClaim"].update(readOnly=True),
        lambda p: p["spec"]["volumes"].append({"name": "moorage-extra", "emptyDir": {}}),
    ],
    "spec.volumes[*].persistentVolumeClaim.claimName": [
        lambda p: p["spec"]["volumes"].append(
            {"name": "x", "persistentVolumeClaim": {"claimName": "moorage-session1-workspace"}}
        )
    ],
    f"{MAIN}.command": [
        lambda p: container(p, "agent").update(command=["sh"]),
        lambda p: container(p, "agent").pop("command"),
        lambda p: container(p, "agent").update(name="renamed"),
    ],
    f"{MAIN}.args": [lambda p: container(p, "agent").update(args=["x"])],
    f"{MAIN}.workingDir": [lambda p: container(p, "agent").update(workingDir="/tmp")],
    f"{MAIN}.env": [
        lambda p: container(p, "agent").update(env=[]),
        lambda p: container(p, "agent")["env"].append({"name": "MOORAGE_POD_UID", "value": "x"}),
        lambda p: container(p, "agent")["env"].append({"name": "AGENTCTL_PORT", "value": "1"}),
        lambda p: container(p, "agent")["env"][-1]["valueFrom"]["fieldRef"].update(fieldPath="metadata.name"),
    ],
    f"{MAIN}.volumeMounts": [
        lambda p: container(p, "agent")["volumeMounts"].remove(mount(p, "/workspace")),
        lambda p: mount(p, "/workspace").update(subPath="x"),
        lambda p: mount(p, "/workspace").update(readOnly=True),
        lambda p: mount(p, "/opt/moorage").update(readOnly=False),
        lambda p: container(p, "agent")["volumeMounts"].append(
            {"name": "scratch", "mountPath": "/run/moorage/x"}
        ),
    ],
    "spec.*[moorage-*]": [
        lambda p: p["spec"]["initContainers"].pop(0),
        lambda p: p["spec"]["containers"].append({"name": "moorage-x", "image": "x"}),
    ],
    "spec.initContainers[moorage-helper]": [
        lambda p: helper(p).update(image="registry.example/helper@sha256:" + "cd" * 32),
        lambda p: helper(p).update(image="registry.example/helper:latest"),
        lambda p: helper(p).update(command=["true"]),
        lambda p: helper(p).update(args=["x"]),
        lambda p: helper(p).update(restartPolicy="Always"),
        lambda p: helper(p)["volumeMounts"][0].update(mountPath="/elsewhere"),
    ],
    "spec.*[*].volumeMounts[moorage-workspace]": [
        lambda p: container(p, "sidecar").update(volumeMounts=[]),
        lambda p: container(p, "sidecar")["volumeMounts"][0].pop("readOnly"),
        lambda p: container(p, "sidecar")["volumeMounts"][0].update(mountPath="/w"),
        lambda p: p["spec"]["containers"].insert(
            0,
            {
                "name": "new",
                "image": "x",
                "volumeMounts": [{"name": "moorage-workspace", "mountPath": "/workspace"}],
            },
        ),
    ],
    "spec.*[*].volumeMounts[moorage-opt|moorage-run]": [
        lambda p: container(p, "sidecar")["volumeMounts"].append({"name": "moorage-run", "mountPath": "/r"}),
        lambda p: container(p, "sidecar")["volumeMounts"].append({"name": "moorage-opt", "mountPath": "/o"}),
    ],
    "spec.*[*].volumeDevices[moorage-*]": [
        lambda p: container(p, "sidecar").update(
            volumeDevices=[{"name": "moorage-workspace", "devicePath": "/d"}]
        )
    ],
}
CLAIM_MUTATIONS: dict[str, list[Mutation]] = {
    **EXACT_MUTATIONS,
    "metadata.ownerReferences": [put("metadata", "ownerReferences", to=[{"kind": "Pod", "name": "x"}])],
    "spec.accessModes": [put("spec", "accessModes", to=["ReadOnlyMany"])],
    "spec.volumeMode": [put("spec", "volumeMode", to="Block")],
    "spec.resources.requests.storage": [put("spec", "resources", "requests", "storage", to="2Gi")],
    "spec.storageClassName": [put("spec", "storageClassName", to="slow"), drop("spec", "storageClassName")],
}


def test_the_mutations_cover_the_whole_closed_list() -> None:
    assert set(POD_MUTATIONS) == {name.replace("MAIN", "agent") for name in POD_FIELDS}
    assert set(CLAIM_MUTATIONS) == {*CLAIM_FIELDS, "spec.storageClassName"}


@pytest.mark.parametrize(
    ("field", "mutate"), [(field, mutate) for field, many in POD_MUTATIONS.items() for mutate in many]
)
def test_every_mutation_of_an_owned_pod_field_is_found(sent: Json, field: str, mutate: Mutation) -> None:
    admitted = api_defaulted(sent)
    mutate(admitted)
    assert field in [conflict.field for conflict in pod_conflicts(sent, admitted)]


@pytest.mark.parametrize(
    ("field", "mutate"), [(field, mutate) for field, many in CLAIM_MUTATIONS.items() for mutate in many]
)
def test_every_mutation_of_an_owned_claim_field_is_found(
    sent_claim: Json, field: str, mutate: Mutation
) -> None:
    admitted = deepcopy(sent_claim)
    mutate(admitted)
    assert [conflict.field for conflict in claim_conflicts(sent_claim, admitted)] == [field]


def api_defaulted(pod: Json) -> Json:
    """What an API server fills in by itself, as seen in fixtures/admitted_*.json."""
    admitted = deepcopy(pod)
    admitted["metadata"].update(uid="u-1", resourceVersion="5", creationTimestamp="2026-01-01T00:00:00Z")
    spec = admitted["spec"]
    spec.update(dnsPolicy="ClusterFirst", serviceAccountName="default", schedulerName="default-scheduler")
    spec["tolerations"] = [{"key": "node.kubernetes.io/not-ready", "tolerationSeconds": 300}]
    spec.setdefault("terminationGracePeriodSeconds", 30)
    for entry in [*spec.get("initContainers", []), *spec["containers"]]:
        entry.setdefault("imagePullPolicy", "IfNotPresent")
        entry.setdefault("terminationMessagePath", "/dev/termination-log")
        entry.setdefault("resources", {})
        for variable in entry.get("env", []):
            if "valueFrom" in variable:
                variable["valueFrom"]["fieldRef"]["apiVersion"] = "v1"
        if entry["name"] != "moorage-helper":
            path = "/var/run/secrets/kubernetes.io/serviceaccount"
            mount = {"name": "kube-api-access-abcde", "mountPath": path, "readOnly": True}
            entry.setdefault("volumeMounts", []).append(mount)
    token = {"sources": [{"serviceAccountToken": {"path": "token"}}], "defaultMode": 420}
    spec["volumes"].append({"name": "kube-api-access-abcde", "projected": token})
    return admitted


def _prepend_sidecar(pod: Json) -> None:
    pod["spec"]["containers"].insert(0, {"name": "mesh", "image": "mesh", "command": ["x"]})


def _native_sidecar(pod: Json) -> None:
    entry = {"name": "mesh-init", "image": "mesh", "restartPolicy": "Always"}
    pod["spec"]["initContainers"].append(entry)


def _pin_image(pod: Json) -> None:
    container(pod, "agent")["image"] += "@sha256:" + "00" * 32


def _mirror_helper(pod: Json) -> None:
    helper(pod)["image"] = helper(pod)["image"].replace("registry.example", "mirror.example/cache")


def _limits(pod: Json) -> None:
    container(pod, "agent")["resources"] = {"limits": {"cpu": "1", "memory": "1Gi"}}
    helper(pod)["resources"] = {"limits": {"cpu": "1"}}


def _env_of_a_mesh(pod: Json) -> None:
    container(pod, "agent")["env"].insert(0, {"name": "HTTPS_PROXY", "value": "http://proxy"})


def _other_volume(pod: Json) -> None:
    pod["spec"]["volumes"].insert(0, {"name": "certs", "secret": {"secretName": "ca", "defaultMode": 420}})
    container(pod, "agent")["volumeMounts"].insert(0, {"name": "certs", "mountPath": "/certs"})


def _labels(pod: Json) -> None:
    pod["metadata"]["labels"]["security.istio.io/tlsMode"] = "istio"
    pod["metadata"]["annotations"]["injected"] = "yes"


def _selectors(pod: Json) -> None:
    pod["spec"]["nodeSelector"]["pool"] = "agents"
    pod["spec"]["priority"] = 0


def _rewritten(pod: Json) -> None:
    volume(pod, "moorage-run")["emptyDir"]["sizeLimit"] = "1024Ki"
    container(pod, "agent")["volumeMounts"].reverse()
    pod["spec"]["volumes"].reverse()
    pod["spec"].update(hostNetwork=False, shareProcessNamespace=False)


ADDITIONS = [
    _prepend_sidecar,
    _native_sidecar,
    _pin_image,
    _mirror_helper,
    _limits,
    _env_of_a_mesh,
    _other_volume,
    _labels,
    _selectors,
    _rewritten,
]


@pytest.mark.parametrize("add", ADDITIONS)
def test_what_admission_adds_elsewhere_is_none_of_our_business(sent: Json, add: Mutation) -> None:
    admitted = api_defaulted(sent)
    add(admitted)
    assert pod_conflicts(sent, admitted) == ()


@pytest.mark.parametrize("fixture", ["admitted_exec", "admitted_image"])
def test_a_real_api_servers_defaults_are_no_conflict(
    identity: Identity, make_inventory: Make, recorded: Callable[[str], Any], fixture: str
) -> None:
    admitted = recorded(fixture)
    helper_spec = IMAGE if fixture == "admitted_image" else HelperSpec()
    template = deepcopy(make_inventory().snapshot.template)
    if fixture == "admitted_image":
        template["spec"]["automountServiceAccountToken"] = True
        prep = {"name": "prep", "image": "localhost/busybox:test", "restartPolicy": "Always"}
        template["spec"]["initContainers"] = [prep]
    inventory = make_inventory(template=template, helper=helper_spec)
    entrypoint = ["sh", "-c", "while :; do sleep 1; done"]
    expected = session_pod(identity, inventory, "nonce-1", entrypoint=entrypoint)
    assert pod_conflicts(expected, admitted) == ()
    assert pod_conflicts({**expected, "spec": {**expected["spec"], "hostPID": True}}, admitted) != ()


def test_a_real_api_servers_claim_is_no_conflict(
    identity: Identity, make_inventory: Make, recorded: Callable[[str], Any]
) -> None:
    admitted = recorded("admitted_claim")
    assert admitted["spec"]["storageClassName"] == "standard"
    inventory = make_inventory(workspace=WorkspaceSpec(WorkspaceMode.MANAGED_PVC, size="1024Mi"))
    assert claim_conflicts(session_claim(identity, inventory, "nonce-1"), admitted) == ()


@given(
    st.permutations(ADDITIONS),
    st.integers(0, len(ADDITIONS)),
    st.sampled_from([(field, mutate) for field, many in POD_MUTATIONS.items() for mutate in many]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_mutation_is_found_among_any_additions(
    sent: Json, order: list[Mutation], count: int, mutation: tuple[str, Mutation]
) -> None:
    admitted = api_defaulted(sent)
    for add in order[:count]:
        add(admitted)
    assert pod_conflicts(sent, admitted) == ()
    field, mutate = mutation
    mutate(admitted)
    assert field in [conflict.field for conflict in pod_conflicts(sent, admitted)]
