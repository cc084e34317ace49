"""A node that is killed changes nothing for what runs: the next one finds it as it is by then."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from moorage.core.kinds import PODS

from .conftest import MODES, World, begin, container, finish, state, status_of

ROOT = Path(__file__).parents[3]
PROGRAM = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = [{root!r}]
from tests.embedded.node.conftest import begin, container

async def main():
    world = await begin(Path({folder!r}), {mode!r})
    await world.start("stays", containers=[container("echo begun")])
    waits = container("!read word < /workspace/go; exit 9", mounts={{"w": "/workspace"}})
    share = [{{"name": "w", "hostPath": {{"path": {fifo!r}}}}}]
    await world.start("ends", restartPolicy="Never", containers=[waits], volumes=share)
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def killed(folder: Path, mode: str) -> None:
    """Run a node with two Pods in a process of its own and kill it without a word."""
    (folder / "share").mkdir(mode=0o777)
    os.mkfifo(folder / "share/go")
    (folder / "share/go").chmod(0o666)
    text = PROGRAM.format(root=str(ROOT), folder=str(folder), mode=mode, fifo=str(folder / "share"))
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", text, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(60):
        assert await process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
        await process.wait()


@pytest.mark.parametrize("mode", MODES)
async def test_containers_outlive_the_kill_of_their_node(folder: Path, mode: str) -> None:
    await killed(folder, mode)
    with (folder / "share/go").open("w") as go:
        go.write("now\n")
    world = await begin(folder, mode)
    try:
        before = {pod["metadata"]["name"]: status_of(pod) for pod in world.objects.list(PODS)}
        ended = await world.until("ends", lambda pod: pod["status"]["phase"] == "Failed")
        assert state(ended)["terminated"]["exitCode"] == 9
        assert await world.sh("echo still here", pod="stays") == "still here"
        after = status_of(world.pod("stays"))
        assert after == before["stays"]
        assert after["restartCount"] == 0
        assert await world.logs("stays") == b"begun\n"
    finally:
        await finish(world)


@pytest.mark.parametrize("mode", MODES)
async def test_what_was_deleted_while_no_node_looked_is_ended(folder: Path, mode: str) -> None:
    await killed(folder, mode)
    world = await begin(folder, mode)
    try:
        uid = world.pod("stays")["metadata"]["uid"]
        await world.node.stop()
        world.objects.remove(PODS, "default", "stays", uid)
        await world.node.start(world.objects)
        assert not (world.node.data / "pods" / uid).exists()
    finally:
        await finish(world)


async def test_a_killed_shim_takes_its_containers_along_and_they_start_again(world: World) -> None:
    pod = await world.start(containers=[container()])
    folder = world.node.data / "pods" / pod["metadata"]["uid"]
    first = status_of(pod)["containerID"]
    main = os.pidfd_open(json.loads((folder / "containers/main/0/state.json").read_text())["pid"])
    os.kill(int((folder / "shim.pid").read_text()), signal.SIGKILL)
    await ended(main)
    pod = await world.until(
        "p", lambda pod: status_of(pod).get("restartCount") == 1 and "running" in state(pod)
    )
    assert status_of(pod)["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
    assert status_of(pod)["containerID"] != first
    assert await world.sh("echo well") == "well"


async def test_a_shim_whose_folder_is_gone_ends_with_all_it_started(folder: Path) -> None:
    world = await begin(folder, "plain")
    try:
        pod = await world.start(containers=[container()])
        home = world.node.data / "pods" / pod["metadata"]["uid"]
        main = json.loads((home / "containers/main/0/state.json").read_text())["pid"]
        shim = os.pidfd_open(int((home / "shim.pid").read_text()))
        await world.node.stop()
        shutil.rmtree(home)
        await ended(shim)
        assert not Path(f"/proc/{main}").exists()
    finally:
        await finish(world)


async def ended(process: int) -> None:
    """Wait for the end of a process by its descriptor, and close that."""
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(process, gone.set)
    try:
        async with asyncio.timeout(60):
            await gone.wait()
    finally:
        loop.remove_reader(process)
        os.close(process)
