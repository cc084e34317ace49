"""How containers start, end, start again and are ended, in both modes and in the kubelet's words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from moorage.core.kinds import CONFIG_MAPS, NODES, PODS, Json
from moorage.embedded.node.registration import NOT_ISOLATED

from .conftest import KILLS, LIMIT, World, condition, container, state, status_of

SHARED: list[Json] = [{"name": "w", "emptyDir": {}}]
AT = {"w": "/workspace"}


async def test_init_containers_run_in_order_then_the_sidecar_then_all_others(world: World) -> None:
    note = "!echo {} >> /workspace/order"
    await world.start(
        volumes=SHARED,
        initContainers=[
            container(note.format("first"), name="first", mounts=AT),
            container("echo side >> /workspace/order", name="side", mounts=AT, restartPolicy="Always"),
            container(note.format("second"), name="second", mounts=AT),
        ],
        containers=[container("echo main >> /workspace/order", mounts=AT)],
    )
    pod = await world.until("p", lambda pod: condition(pod, "Ready") == "True")
    assert sorted((await world.sh("cat /workspace/order")).split()[:3]) == ["first", "second", "side"]
    assert (
        await world.sh("until grep -q main /workspace/order; do :; done; tail -n1 /workspace/order")
    ) == "main"
    assert state(pod, "first", "initContainerStatuses")["terminated"]["reason"] == "Completed"
    assert "running" in state(pod, "side", "initContainerStatuses")
    assert pod["status"]["phase"] == "Running"
    assert {condition(pod, name) for name in ("Initialized", "ContainersReady", "PodScheduled")} == {"True"}


@pytest.mark.parametrize(
    ("script", "policy", "phase", "ended"),
    [
        ("exit 0", "Never", "Succeeded", ("Completed", 0)),
        ("exit 7", "Never", "Failed", ("Error", 7)),
        ("exit 143", "Never", "Failed", ("Error", 143)),
        ("exit 0", "OnFailure", "Succeeded", ("Completed", 0)),
        ("nosuchprogram", "Never", "Failed", ("Error", 127)),
    ],
)
async def test_how_a_container_ended_is_the_status_of_its_pod(
    world: World, script: str, policy: str, phase: str, ended: tuple[str, int]
) -> None:
    pod = await world.start(wait="terminated", restartPolicy=policy, containers=[container("!" + script)])
    pod = await world.until("p", lambda pod: pod["status"]["phase"] == phase)
    record = state(pod)["terminated"]
    assert (record["reason"], record["exitCode"]) == ended
    assert record["containerID"].startswith("moorage://")
    assert record["startedAt"] <= record["finishedAt"]
    assert status_of(pod)["restartCount"] == 0


async def test_a_container_that_keeps_ending_waits_longer_each_time_and_says_so(world: World) -> None:
    await world.start(wait="waiting", containers=[container("!exit 3")])
    pod = await world.until(
        "p", lambda pod: (state(pod).get("waiting") or {}).get("reason") == "CrashLoopBackOff"
    )
    assert "restarting failed container=main" in state(pod)["waiting"]["message"]
    assert status_of(pod)["lastState"]["terminated"]["exitCode"] == 3
    assert status_of(pod)["restartCount"] >= 1
    await world.told("BackOff", "Back-off restarting failed container main in pod p_default")
    await world.until("p", lambda pod: status_of(pod).get("restartCount", 0) >= 3)


async def test_a_command_that_is_not_there_cannot_start(world: World) -> None:
    await world.start(wait="terminated", restartPolicy="Never", containers=[container(command=["/no/such"])])
    record = state(world.pod())["terminated"]
    assert (record["reason"], record["exitCode"]) == ("StartError", 128)
    assert 'exec: "/no/such": stat /no/such: no such file or directory' in record["message"]
    await world.told("Failed", "no such file or directory")


async def test_a_program_that_only_the_kernel_refuses_has_started_and_says_why(isolated: World) -> None:
    """A script under its own interpreter, laid over a link to it, as in an image of busybox."""
    data = {"sh": "#!/tmp/loop/sh\n"}
    isolated.create(CONFIG_MAPS, {"metadata": {"name": "shell"}, "data": data})
    shell = {"name": "shell", "configMap": {"name": "shell", "defaultMode": 0o555}}
    mount = {"name": "shell", "mountPath": "/tmp/loop/sh", "subPath": "sh"}
    main = container(command=["/tmp/loop/sh"], volumeMounts=[mount])
    pod = await isolated.start(wait="terminated", restartPolicy="Never", volumes=[shell], containers=[main])
    ended = state(pod)["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("Error", 255)
    assert await isolated.logs() == b"exec /tmp/loop/sh: too many levels of symbolic links\n"


@pytest.mark.parametrize(
    ("main", "reason", "words"),
    [
        ({"image": "localhost/absent:1"}, "ErrImagePull", "localhost/absent:1: not found"),
        ({"image": "localhost/absent:1"}, "ImagePullBackOff", "Back-off pulling image"),
        (
            {"image": "localhost/absent:1", "imagePullPolicy": "Never"},
            "ErrImageNeverPull",
            "is not present with pull policy of Never",
        ),
        ({"image": "not/A/name"}, "InvalidImageName", "couldn't parse image name"),
        (
            {"envFrom": [{"configMapRef": {"name": "absent"}}]},
            "CreateContainerConfigError",
            'configmap "absent" not found',
        ),
        (
            {"securityContext": {"runAsNonRoot": True}},
            "CreateContainerConfigError",
            "image will run as root",
        ),
    ],
)
async def test_why_a_container_waits(world: World, main: dict[str, Any], reason: str, words: str) -> None:
    await world.start(wait="waiting", containers=[container(**main)])
    pod = await world.until("p", lambda pod: (state(pod).get("waiting") or {}).get("reason") == reason)
    assert words in state(pod)["waiting"]["message"]
    assert pod["status"]["phase"] == "Pending"


async def test_what_was_missing_and_comes_late_is_used(world: World) -> None:
    main = container("!echo got $WORD; exec sleep 3600", envFrom=[{"configMapRef": {"name": "late"}}])
    await world.start(wait="waiting", containers=[main])
    await world.told("Failed", 'configmap "late" not found')
    world.create(CONFIG_MAPS, {"metadata": {"name": "late"}, "data": {"WORD": "it"}})
    await world.until("p", lambda pod: "running" in state(pod))
    parts = [part async for part in world.node.logs(world.pod(), "main", _follow(lines=1))][:1]
    assert parts == [b"got it\n"]


def _follow(lines: int) -> Any:
    from moorage.embedded.seam import LogOptions

    return LogOptions(follow=True, limit_bytes=7)


async def test_last_words_reach_the_status(world: World) -> None:
    by_file = container("!printf 'from the file' > /dev/termination-log; exit 1")
    by_log = container(
        "!echo from the log; exit 1", name="log", terminationMessagePolicy="FallbackToLogsOnError"
    )
    await world.start(wait="terminated", restartPolicy="Never", containers=[by_file, by_log])
    pod = await world.until("p", lambda pod: "terminated" in state(pod, "log"))
    assert state(pod)["terminated"]["message"] == "from the file"
    assert state(pod, "log")["terminated"]["message"] == "from the log\n"


async def test_deletion_sends_term_runs_pre_stop_first_and_removes_everything(world: World) -> None:
    script = "trap 'echo term >> /data/seen; exit 0' TERM; while :; do sleep 3600 & wait $!; done"
    folder = world.folder / "kept"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook >> /data/seen"]}}}
    main = container("!" + script, mounts={"d": "/data"}, lifecycle=hook)
    pod = await world.start(
        volumes=[{"name": "d", "hostPath": {"path": str(folder)}}],
        containers=[main],
        terminationGracePeriodSeconds=30,
    )
    home = world.node.data / "pods" / pod["metadata"]["uid"]
    assert home.exists()
    await world.delete()
    assert (folder / "seen").read_text() == "hook\nterm\n"
    await world.told("Killing", "Stopping container main")
    assert not home.exists()


async def test_what_does_not_heed_term_is_killed_after_its_grace(world: World) -> None:
    pod = await world.start(containers=[container("!trap '' TERM; while :; do sleep 1; done")])
    home = world.node.data / "pods" / pod["metadata"]["uid"]
    main = json.loads((home / "containers/main/0/state.json").read_text())["pid"]
    await world.delete()
    assert not Path(f"/proc/{main}").exists()


async def test_probes_gate_readiness_and_restart_what_is_not_alive(world: World) -> None:
    look = {"exec": {"command": ["cat", "/workspace/ready"]}, "periodSeconds": 1, "failureThreshold": 1}
    alive = {
        "exec": {"command": ["test", "!", "-e", "/workspace/dead"]},
        "periodSeconds": 1,
        "failureThreshold": 1,
    }
    main = container("rm -f /workspace/dead", mounts=AT, readinessProbe=look, livenessProbe=alive)
    await world.start(volumes=SHARED, containers=[main])
    await world.told("Unhealthy", "Readiness probe failed")
    assert condition(world.pod(), "Ready") == "False"
    await world.sh("touch /workspace/ready")
    await world.until("p", lambda pod: condition(pod, "Ready") == "True")
    await world.sh("touch /workspace/dead")
    await world.told("Killing", "Container main failed liveness probe, will be restarted")
    pod = await world.until(
        "p", lambda pod: status_of(pod).get("restartCount") == 1 and "running" in state(pod)
    )
    assert status_of(pod)["lastState"]["terminated"]["exitCode"] == 143


async def test_a_startup_probe_holds_the_others_back(world: World) -> None:
    probe = {"exec": {"command": ["cat", "/workspace/up"]}, "periodSeconds": 1, "failureThreshold": 100}
    await world.start(volumes=SHARED, containers=[container(mounts=AT, startupProbe=probe)])
    await world.told("Unhealthy", "Startup probe failed")
    pod = world.pod()
    assert (status_of(pod)["started"], status_of(pod)["ready"]) == (False, False)
    await world.sh("touch /workspace/up")
    await world.until(
        "p", lambda pod: status_of(pod).get("started") is True and condition(pod, "Ready") == "True"
    )


async def test_an_end_for_lack_of_memory_can_be_scripted(world: World) -> None:
    limits: dict[str, Any] = {"resources": {"limits": {"memory": "32Mi"}}}
    await world.start(restartPolicy="Never", containers=[container(**limits)])
    if world.node.mode.name == "namespaces":
        assert await world.sh(f"{LIMIT}; {KILLS}") == f"{32 << 20}\noom_kill 0"
    await world.node.out_of_memory(world.pod(), "main")
    pod = await world.until("p", lambda pod: "terminated" in state(pod))
    record = state(pod)["terminated"]
    assert (record["reason"], record["exitCode"]) == ("OOMKilled", 137)
    assert status_of(pod)["resources"]["limits"] == limits["resources"]["limits"]
    (events,) = world.folder.glob("node/pods/*/containers/main/0/cgroup/memory.events")
    assert "oom_kill 1\n" in events.read_text()


async def test_when_the_main_containers_have_ended_the_sidecars_are_ended(world: World) -> None:
    side = container(name="side", restartPolicy="Always")
    await world.start(
        wait="terminated", restartPolicy="Never", initContainers=[side], containers=[container("!exit 0")]
    )
    pod = await world.until("p", lambda pod: pod["status"]["phase"] == "Succeeded")
    assert state(pod, "side", "initContainerStatuses")["terminated"]["exitCode"] == 143


async def test_a_pod_that_has_no_room_or_no_place_here_fails(world: World) -> None:
    huge = container(resources={"requests": {"memory": "900Ti"}})
    spec = {"nodeName": "local", "restartPolicy": "Never"}
    world.create(PODS, {"metadata": {"name": "huge"}, "spec": {**spec, "containers": [huge]}})
    world.create(
        PODS,
        {
            "metadata": {"name": "away"},
            "spec": {**spec, "nodeSelector": {"disk": "x"}, "containers": [container()]},
        },
    )
    for name, reason in (("huge", "OutOfmemory"), ("away", "NodeAffinity")):
        pod = await world.until(name, lambda pod: (pod.get("status") or {}).get("phase") == "Failed")
        assert pod["status"]["reason"] == reason
        assert "containerStatuses" not in pod["status"]


async def test_the_node_says_in_words_that_it_isolates_nothing(world: World) -> None:
    node = world.objects.get(NODES, "", "local")
    conditions = {each["type"]: each for each in node["status"]["conditions"]}
    assert conditions["Ready"]["status"] == "True"
    assert conditions["Isolated"]["status"] == "False"
    assert "not isolated" in NOT_ISOLATED
    assert NOT_ISOLATED in conditions["Isolated"]["message"]
    assert node["metadata"]["labels"]["kubernetes.io/os"] == "linux"
    assert set(node["status"]["allocatable"]) >= {"cpu", "memory", "pods"}
