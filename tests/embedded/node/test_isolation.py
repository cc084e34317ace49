"""In mode namespaces a Pod sees its own files and processes, and of the host only programs."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import pytest

from moorage.core.kinds import Json

from .conftest import KILLS, World, begin, container, finish, state, status_of

PLACES = {"w": "/workspace", "o": "/opt/moorage", "r": "/run/moorage"}
VOLUMES: list[Json] = [
    {"name": "w", "emptyDir": {}},
    {"name": "o", "emptyDir": {}},
    {"name": "r", "emptyDir": {"medium": "Memory"}},
]


async def test_two_pods_see_only_their_own_files_and_processes(isolated: World) -> None:
    for name in ("one", "two"):
        mark = (
            f"for d in {' '.join(PLACES.values())}; do echo {name} > $d/mark; done; exec -a {name} sleep 3600"
        )
        await isolated.start(
            name,
            volumes=VOLUMES,
            containers=[container("!" + mark, mounts=PLACES, command=["bash", "-c", mark])],
        )
    for name, other in (("one", "two"), ("two", "one")):
        await isolated.sh("until [ -s /run/moorage/mark ]; do sleep 0.01; done", pod=name)
        assert (
            await isolated.sh("cat /workspace/mark /opt/moorage/mark /run/moorage/mark", pod=name)
            == f"{name}\n" * 2 + name
        )
        seen = await isolated.sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '", pod=name)
        assert f"{name} 3600" in seen
        assert f"{other} 3600" not in seen
        assert await isolated.sh("cat /proc/1/comm", pod=name) == "sleep"


async def test_a_data_folder_behind_a_link_isolates_as_any_other(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "link").symlink_to(folder / "real")
    world = await begin(folder / "link", "auto")
    try:
        assert (world.node.mode.name, world.node.mode.why) == ("namespaces", "")
        await world.start(volumes=VOLUMES, containers=[container(mounts=PLACES)])
        assert await world.sh("cd /workspace && pwd") == "/workspace"
    finally:
        await finish(world)


async def test_a_granted_sidecar_sees_the_same_bytes_and_nothing_else_of_the_main_container(
    isolated: World,
) -> None:
    side = container(name="side", mounts={"w": "/workspace"})
    await isolated.start(volumes=VOLUMES, containers=[container(mounts=PLACES), side])
    await isolated.until("p", lambda pod: "running" in state(pod, "side"))
    await isolated.sh("head -c 100000 /dev/urandom > /workspace/f; echo secret > /run/moorage/nonce")
    ours = await isolated.sh("sha256sum < /workspace/f")
    assert await isolated.sh("sha256sum < /workspace/f", container="side") == ours
    await isolated.sh("echo back > /workspace/g", container="side")
    assert await isolated.sh("cat /workspace/g") == "back"
    assert await isolated.sh("ls -A /run/moorage /opt/moorage 2>&1 || true", container="side") == (
        "ls: cannot access '/run/moorage': No such file or directory\n"
        "ls: cannot access '/opt/moorage': No such file or directory"
    )


async def test_nothing_of_the_host_but_programs_is_there(
    isolated: World, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setenv("HOST_SECRET", "token")
    with tempfile.NamedTemporaryFile(dir="/tmp") as there:
        await isolated.start(containers=[container()])
        assert await isolated.sh(f"ls {there.name} {folder} 2>/dev/null || true") == ""
    assert await isolated.sh("ls -A /home /root /tmp /var/tmp") == "/home:\n\n/root:\n\n/tmp:\n\n/var/tmp:"
    names = {line.split("=")[0] for line in (await isolated.sh("env")).splitlines()}
    assert names <= {"PATH", "HOME", "HOSTNAME", "PWD", "SHLVL", "_"}
    mounts = await isolated.sh("cat /proc/mounts")
    assert str(folder) not in await isolated.sh("ls -R /run /mnt 2>/dev/null || true")
    assert "/.moorage" not in mounts
    assert await isolated.sh("ls /proc/sys/kernel/hostname && ! echo x > /proc/sysrq-trigger") != ""


async def test_what_a_container_writes_to_the_system_stays_in_it_and_ends_with_it(isolated: World) -> None:
    script = "touch /mine /tmp/mine; [ $(id -u) != 0 ] || touch /usr/mine /etc/mine 2>/dev/null; ls /mine"
    await isolated.start(containers=[container(script)])
    await isolated.start("other", containers=[container()])
    assert await isolated.sh("ls /mine /tmp/mine") == "/mine\n/tmp/mine"
    absent = "ls /mine /usr/mine /etc/mine /tmp/mine 2>/dev/null || true"
    assert await isolated.sh(absent, pod="other") == ""
    assert not any(Path(path).exists() for path in ("/mine", "/usr/mine", "/etc/mine"))


async def test_read_only_means_read_only(isolated: World) -> None:
    mounts = [{"name": "w", "mountPath": "/ro", "readOnly": True}, {"name": "w", "mountPath": "/rw"}]
    main = container(volumeMounts=mounts, securityContext={"readOnlyRootFilesystem": True})
    await isolated.start(volumes=VOLUMES, containers=[main])
    await isolated.sh("echo x > /rw/f; cat /ro/f")
    for path in ("/ro/g", "/g", "/etc/g", "/usr/g", "/tmp/g"):
        end, _, err = await isolated.run(["sh", "-c", f"echo x > {path}"])
        assert end.code != 0
        assert b"Read-only file system" in err, path
    remount = ["sh", "-c", "mount -o remount,rw,bind /ro; mount -o remount,rw /"]
    assert (await isolated.run(remount))[0].code != 0


@pytest.mark.parametrize("uid", [0, 1234])
async def test_a_container_runs_as_whom_it_names(isolated: World, uid: int) -> None:
    context = {"runAsUser": uid, "runAsGroup": uid, "fsGroup": 4321, "supplementalGroups": [77]}
    await isolated.start(volumes=VOLUMES, containers=[container(mounts=PLACES)], securityContext=context)
    assert await isolated.sh("id -u; id -g") == f"{uid}\n{uid}"
    assert await isolated.sh("echo x > /workspace/f; stat -c %u /workspace/f") == str(uid)
    if os.geteuid() == 0:  # an ordinary user has one group, whatever a Pod asks for
        assert await isolated.sh("id -G; stat -c %g /workspace/f") == f"{uid} 77 4321\n4321"


async def test_root_in_a_container_has_the_rights_a_runtime_gives_and_not_more(isolated: World) -> None:
    drop = {"capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": False}
    await isolated.start(containers=[container(), container(name="none", securityContext=drop)])
    await isolated.until("p", lambda pod: "running" in state(pod, "none"))
    read = "grep -E 'CapBnd|NoNewPrivs' /proc/self/status | cut -f2"
    assert await isolated.sh(read) == "00000000a80425fb\n0"
    assert await isolated.sh(read, container="none") == "0000000000000000\n1"


async def test_processes_are_shared_where_the_pod_says_so(isolated: World) -> None:
    both = [container(), container("!exec sleep 4321", name="side")]
    await isolated.start(containers=both, shareProcessNamespace=True, restartPolicy="Never")
    await isolated.until("p", lambda pod: "running" in state(pod, "side"))
    assert await isolated.sh("cat /proc/1/comm") != "sh"
    find = "for p in /proc/[0-9]*; do grep -qx sleep $p/comm && grep -q 4321 $p/cmdline && echo ${p#/proc/}"
    number = (await isolated.sh(find + "; done; true")).split()
    assert len(number) == 1
    await isolated.sh(f"kill -KILL {number[0]}")
    pod = await isolated.until("p", lambda pod: "terminated" in state(pod, "side"))
    assert state(pod, "side")["terminated"]["exitCode"] == 137
    assert "running" in state(pod)


async def test_a_killed_main_process_is_a_restart_that_keeps_the_volumes_and_a_reboot_empties_memory(
    isolated: World,
) -> None:
    pod = await isolated.start(volumes=VOLUMES, containers=[container(mounts=PLACES)])
    await isolated.sh("for d in /workspace /run/moorage /tmp; do echo kept > $d/f; done")
    first = status_of(pod)["containerID"]
    await isolated.run(["kill", "-TERM", "1"])
    pod = await isolated.until(
        "p", lambda pod: status_of(pod).get("restartCount") == 1 and "running" in state(pod)
    )
    assert status_of(pod)["containerID"] != first
    assert status_of(pod)["lastState"]["terminated"]["exitCode"] == 143
    assert await isolated.sh("cat /workspace/f /run/moorage/f; ls /tmp") == "kept\nkept"

    await asyncio.wait_for(isolated.node.reboot(), 60)
    pod = await isolated.until(
        "p", lambda pod: status_of(pod).get("restartCount") == 2 and "running" in state(pod)
    )
    assert status_of(pod)["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
    assert await isolated.sh("cat /workspace/f; ls -A /run/moorage") == "kept"


async def test_a_memory_volume_holds_what_it_may_for_all_containers_and_until_the_machine_is_off(
    isolated: World,
) -> None:
    small: Json = {"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}
    both = [container(mounts={"m": "/m"}), container(name="side", mounts={"m": "/m"})]
    await isolated.start(volumes=[small], containers=both)
    await isolated.until("p", lambda pod: "running" in state(pod, "side"))
    fill = (
        "head -c 2000000 /dev/zero > /m/f 2>/dev/null && echo all; stat -c %s /m/f; rm /m/f; echo kept > /m/g"
    )
    assert await isolated.sh(fill) == str(1 << 20)
    assert await isolated.sh("cat /m/g", container="side") == "kept"
    await isolated.run(["kill", "-TERM", "1"])
    await isolated.until("p", lambda pod: status_of(pod).get("restartCount") == 1 and "running" in state(pod))
    assert await isolated.sh("cat /m/g") == "kept"
    await asyncio.wait_for(isolated.node.reboot(), 60)
    await isolated.until("p", lambda pod: status_of(pod).get("restartCount") == 2 and "running" in state(pod))
    assert await isolated.sh("ls -A /m") == ""


async def test_what_outgrows_its_containers_memory_limit_is_killed_and_counted_and_nothing_else_is(
    isolated: World,
) -> None:
    limited = container(resources={"limits": {"memory": "64Mi"}})
    pod = await isolated.start(containers=[limited, container(name="side")])
    await isolated.until("p", lambda pod: "running" in state(pod, "side"))
    grow = "head -c 1000000000 /dev/zero | tail -c 1000000000; echo $?"
    grow += f"; {KILLS}"
    assert (await isolated.sh(grow)).splitlines()[-2:] == ["137", "oom_kill 1"]
    assert (await isolated.sh(grow)).splitlines()[-2:] == ["137", "oom_kill 2"]
    freely = "head -c 100000000 /dev/zero | tail -c 100000000 | wc -c"
    assert await isolated.sh(freely, container="side") == "100000000"
    again = isolated.pod()
    assert [status_of(each, "side")["restartCount"] for each in (pod, again)] == [0, 0]
    assert status_of(again)["containerID"] == status_of(pod)["containerID"]
