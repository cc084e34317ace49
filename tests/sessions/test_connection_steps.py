"""The connection test on an API with one thing wrong: that step fails, says why and what to do; the steps
after it are not run; and nothing is left in the cluster.

The API is the embedded one over HTTPS, in this process, so that anything can go wrong in it. What a real
cluster can do itself is in tests/contract/sessions/test_doctor.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from moorage import kube
from moorage.core.errors import NotFound
from moorage.core.kinds import CLAIMS, NAMESPACES, NODES, Json
from moorage.core.session import WorkspaceMode, WorkspaceSpec
from moorage.embedded import EmbeddedCluster
from moorage.embedded.faults import Dropped
from moorage.embedded.refusal import not_found, unauthorized
from moorage.engine.sources import Sources
from moorage.ports.cluster import Cluster
from moorage.ports.sessions import Check, ConnectionTest, LaunchRequest
from moorage.sessions.checks import way_in
from moorage.sessions.executors import ExecutorConfig, Executors
from moorage.sessions.parts import Parts
from moorage.sessions.verbs import Verbs
from moorage.store import current_owner, open_store
from moorage.system import SystemClock, SystemIds

from .connection_place import (
    AGENTS,
    HERE,
    KEYS,
    PROFILE,
    RIGHTS,
    SCRIPT,
    At,
    Place,
    Says,
    admission,
    denied_by_webhook,
    denying,
    faults,
    html,
    on,
    quota,
    refuse,
    restricted,
    upgrades,
    with_command,
)
from .stage import MODES, TEMPLATE


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    api = EmbeddedCluster(tmp_path / "cluster")
    await api.start()
    objects = api.objects()
    objects.create(NAMESPACES, {"metadata": {"name": "agents"}})
    labels = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    objects.create(NODES, {"metadata": {"name": "node1", "labels": labels}})
    store = await open_store(tmp_path / "data")

    async def connect(config: ExecutorConfig) -> Cluster:
        return kube.connect(str(api.kubeconfig), None, config.namespace)

    executors = Executors(store, connect, AGENTS)
    parts = Parts(
        store, executors, Sources(tmp_path / "sources"), SystemClock(), SystemIds(), current_owner()
    )
    yield Place(api, parts)
    await executors.close()
    await store.close()
    await api.stop()


async def test_where_everything_works_every_step_says_so_and_nothing_is_left(place: Place) -> None:
    found = await place.check()
    assert tuple(step.key for step in found.steps) == KEYS
    assert {step.key: step.status for step in found.steps} == dict.fromkeys(KEYS, "ok")
    assert (found.success, found.error, found.warnings) == (True, None, ())
    assert found.server_version.startswith("v1.36.")
    assert found.namespace == "agents"
    assert place.objects() == []


@dataclass(frozen=True)
class Wrong:
    """One thing that is wrong, and what is then said at ``key``."""

    key: str
    detail: str
    fix: str
    breaks: Callable[[Place], object]
    profile: LaunchRequest = PROFILE


def without_exec(found: Json) -> Json:
    return {**found, "resources": [r for r in found["resources"] if r["name"] != "pods/exec"]}


def reserved() -> LaunchRequest:
    text = TEMPLATE.replace(b'test"}', b'test", command: [sh]}')
    return dataclasses.replace(PROFILE, template_text=text)


def of_class(name: str) -> LaunchRequest:
    workspace = WorkspaceSpec(WorkspaceMode.MANAGED_PVC, size="1Gi", storage_class=name)
    return dataclasses.replace(PROFILE, workspace=workspace)


WRONG = {
    "the connection is cut": Wrong(
        "connection",
        "the connection was closed before an answer came",
        "check the address, the network and any proxy in between",
        faults(At(on("get /version"), refuse(Dropped()))),
    ),
    "something else answers": Wrong(
        "connection",
        "no Kubernetes Status",
        "check proxy-url",
        faults(At(on("get /version"), html())),
    ),
    "the login is refused": Wrong(
        "authentication",
        "ask who we are: Unauthorized",
        "sign in again",
        faults(At(on("create selfsubjectreviews"), refuse(unauthorized()))),
    ),
    "the server is too old": Wrong(
        "version",
        "Kubernetes v1.31.9 is too old",
        "upgrade the cluster: supported is Kubernetes 1.32 to 1.36",
        faults(Says("/version", lambda found: {**found, "gitVersion": "v1.31.9"})),
    ),
    "an API is not served": Wrong(
        "discovery",
        "not served: pods/exec (v1)",
        "name a whole Kubernetes API server",
        faults(Says("/api/v1", without_exec)),
    ),
    "discovery is a web page": Wrong(
        "discovery",
        "no Kubernetes Status",
        "check proxy-url",
        faults(At(on("get /api/v1"), html(502))),
    ),
    "the namespace is not there": Wrong(
        "namespace",
        "agents does not exist",
        "kubectl create namespace agents",
        faults(At(on("get namespaces"), refuse(not_found(NAMESPACES, "agents")))),
    ),
    "the namespace is being deleted": Wrong(
        "namespace",
        "agents (Terminating, uid ",
        "wait until it is gone and create it again",
        faults(Says(HERE, lambda found: {**found, "status": {"phase": "Terminating"}})),
    ),
    "the claim may not be made": Wrong(
        "rights.persistentvolumeclaims",
        "missing: create",
        SCRIPT,
        denying("create persistentvolumeclaims"),
    ),
    "exec may be got but not created": Wrong(
        "rights.pods/exec", "missing: create", SCRIPT, denying("create pods/exec")
    ),
    "exec may be created but not got": Wrong(
        "rights.pods/exec", "missing: get", SCRIPT, denying("get pods/exec")
    ),
    "port-forward is the way and may not be got": Wrong(
        "rights.pods/portforward",
        "missing: get",
        SCRIPT,
        denying("get pods/portforward"),
        dataclasses.replace(PROFILE, transport="portforward"),
    ),
    "port-forward is the way and may not be created": Wrong(
        "rights.pods/portforward",
        "missing: create",
        SCRIPT,
        denying("create pods/portforward"),
        dataclasses.replace(PROFILE, transport="portforward"),
    ),
    **{
        f"Pods may not be asked to {verb}": Wrong(
            "rights.pods", f"missing: {verb}", SCRIPT, denying(f"{verb} pods")
        )
        for verb in ("get", "list", "watch", "create", "delete", "patch")
    },
    "the template sets a reserved field": Wrong(
        "template",
        "template.spec.containers[0].command (line 7)",
        "give the command to moorage run",
        lambda place: None,
        reserved(),
    ),
    "the class is not there": Wrong(
        "storage", "fast", "kubectl get storageclass", lambda place: None, of_class("fast")
    ),
    "the Pod is too free for the namespace": Wrong(
        "pod_security", 'violates PodSecurity "restricted', "change the named fields", restricted
    ),
    "the claim exceeds a quota": Wrong(
        "admission.claim", "exceeded quota: q", "--workspace-size asks for less", quota
    ),
    "a webhook refuses the Pod": Wrong(
        "admission.pod",
        "no budget",
        "ask the owner of admission webhook cost.example",
        admission("pods", denied_by_webhook),
    ),
    "a webhook changes what is ours": Wrong(
        "admission.pod",
        "changes what Moorage owns: spec.containers[agent].command",
        "exempt objects labelled app.kubernetes.io/managed-by=moorage",
        admission("pods", with_command),
    ),
    "a WebSocket does not pass": Wrong(
        "streaming",
        "REST passes, WebSockets do not",
        "pass on the headers Connection and Upgrade",
        faults(At(upgrades, html())),
    ),
    "a WebSocket is cut": Wrong(
        "streaming",
        "REST passes, WebSockets do not",
        "pass on the headers Connection and Upgrade",
        faults(At(upgrades, refuse(Dropped()))),
    ),
}


def after(key: str) -> list[str]:
    """Steps that need the one at ``key``. All rights are asked."""
    place = KEYS.index(RIGHTS[-1] if key in RIGHTS else key)
    return list(KEYS[place + 1 :])


def judged(found: ConnectionTest, key: str) -> Check:
    """The failed step, once it is shown to be the only one, and those after it not to have been tried."""
    steps = {step.key: step for step in found.steps if step.key != "rights"}
    assert tuple(steps) == KEYS
    assert [name for name, step in steps.items() if step.status == "failed"] == [key]
    assert [name for name, step in steps.items() if step.status == "not_run"] == after(key)
    for name in after(key):
        assert steps[name].detail == f"not tried: {key} failed before it"
    assert found.success is False
    assert found.error == f"{key}: {steps[key].detail}"
    return steps[key]


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
async def test_one_thing_wrong_fails_its_own_step_and_ends_the_test(place: Place, wrong: Wrong) -> None:
    wrong.breaks(place)
    step = judged(await place.check(wrong.profile), wrong.key)
    assert wrong.detail in step.detail
    assert wrong.fix in step.fix
    assert place.objects() == []


async def test_a_cluster_that_is_not_the_recorded_one_fails_and_names_its_sessions(place: Place) -> None:
    await Verbs(place.parts).launch(dataclasses.replace(PROFILE, name="calm-cove"), lambda progress: None)
    other = {"name": "agents", "uid": "of-another-one"}
    place.api.set_faults(Says(HERE, lambda found: {**found, "metadata": other}))
    step = judged(await place.check(), "cluster")
    assert "calm-cove" in step.detail
    assert "moorage describe" in step.fix


async def test_a_helper_that_is_not_installed_fails_the_last_step(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(platform: str) -> bytes:
        raise NotFound(f"this installation has no helper for {platform}", hint="install the wheel again")

    monkeypatch.setattr(way_in, "helper_binary", missing)
    step = judged(await place.check(), "helper")
    assert step.detail == "this installation has no helper for linux/amd64"
    assert step.fix == "install the wheel again"
    assert place.objects() == []


async def test_a_launch_is_tried_only_once_every_dry_step_was_passed(place: Place) -> None:
    place.deny("create pods/exec")
    found = await place.check(launch=True)
    assert (found.steps[-1].key, found.steps[-1].status) == ("launch", "not_run")
    assert found.steps[-1].detail == "not tried: rights.pods/exec failed before it"
    assert place.objects() == []


async def test_events_and_logs_that_may_not_be_read_are_a_warning(place: Place) -> None:
    place.deny("list events")
    place.deny("get pods/log")
    found = await place.check()
    assert found.success
    warned = {step.key: step.detail for step in found.steps if step.status == "warning"}
    assert warned == {
        "rights.pods/log": "missing: get",
        "rights.events": "missing: list",
        "rights": "rights are missing in namespace agents",
    }


@pytest.mark.parametrize(
    ("mode", "verbs"),
    [("managed_pvc", "get, create, delete, patch"), ("existing_claim", "get"), ("empty_dir", "")],
)
async def test_rights_to_claims_are_asked_for_as_the_workspace_needs_them(
    place: Place, mode: str, verbs: str
) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    place.api.objects().create(CLAIMS, {"metadata": {"name": "given", "namespace": "agents"}, "spec": spec})
    found = await place.check(dataclasses.replace(PROFILE, workspace=MODES[mode]))
    steps = {step.key: step.detail for step in found.steps}
    assert steps.get("rights.persistentvolumeclaims", "") == verbs
    assert ("admission.claim" in steps) is (mode == "managed_pvc")
    assert found.success


async def test_without_a_template_the_connection_alone_is_tested(place: Place) -> None:
    found = await place.check(None)
    assert found.success
    left_out = [step.key for step in found.steps if step.status == "not_run"]
    assert left_out == ["template", "admission.claim", "admission.pod"]


async def test_only_reads_reviews_and_dry_runs_are_sent(place: Place) -> None:
    told: list[Json] = []
    place.api.set_audit(told.append)
    assert (await place.check()).success
    stored = [
        event
        for event in told
        if event["verb"] not in ("get", "list", "watch")
        and "dryRun=All" not in event["requestURI"]
        and (event.get("objectRef") or {}).get("resource")
        not in ("selfsubjectreviews", "selfsubjectaccessreviews")
    ]
    assert told
    assert stored == []
