"""The cluster's own process: one per folder, started by whoever needs it, ended on request; a kill loses
nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from moorage import kube
from moorage.core.errors import StoreError
from moorage.core.kinds import NAMESPACES, PODS, Json
from moorage.embedded.process import locks
from moorage.embedded.process.finding import DetachedCluster

PROGRAM = "echo begun; while :; do sleep 1; done"


@pytest.fixture
async def detached(tmp_path: Path) -> AsyncIterator[DetachedCluster]:
    cluster = DetachedCluster(tmp_path / "data" / "embedded", hidden=tmp_path / "data")
    yield cluster
    cluster.release()
    await cluster.end()


async def run_pod(cluster: DetachedCluster, name: str) -> Json:
    """A Pod that runs on, as soon as it does."""
    client = kube.connect(str(cluster.kubeconfig), None, "default")
    container = {"name": "main", "image": "host", "command": ["sh", "-c", PROGRAM]}
    made = {"metadata": {"name": name}, "spec": {"containers": [container]}}
    await client.create(PODS, made)
    found = await until_running(client, name)
    await client.close()
    return found


async def until_running(client: Any, name: str) -> Json:
    async with asyncio.timeout(60):
        while (found := await client.get(PODS, name))["status"].get("phase") != "Running":  # noqa: ASYNC110
            await asyncio.sleep(0.02)  # sleep: until the node in another process is done
    pod: Json = found
    return pod


async def until_ended(cluster: DetachedCluster) -> None:
    async with asyncio.timeout(30):
        while cluster.pid is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.02)  # sleep: until another process has ended


async def test_two_commands_at_once_start_one_process(detached: DetachedCluster) -> None:
    others = [DetachedCluster(detached.folder) for _ in range(3)]
    assert detached.pid is None
    await asyncio.gather(*(each.use() for each in (detached, *others)))
    found = {each.pid for each in (detached, *others)}
    assert len(found) == 1
    assert None not in found
    for each in others:
        each.release()


async def test_it_has_nothing_of_ours_but_its_folder(
    detached: DetachedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "planted")
    await detached.use()
    process = Path(f"/proc/{detached.pid}")
    assert b"planted" not in (process / "environ").read_bytes()
    assert (process / "cwd").readlink() == Path("/")
    assert os.getsid(detached.pid or 0) != os.getsid(0)
    assert [(process / f"fd/{number}").readlink() for number in range(3)] == [
        Path("/dev/null"),
        *[detached.folder / "log"] * 2,
    ]
    for name in ("kubeconfig", "log"):
        assert stat.S_IMODE((detached.folder / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(detached.folder.stat().st_mode) == 0o700


async def test_in_a_folder_that_others_could_enter_nothing_is_theirs(detached: DetachedCluster) -> None:
    """With a Pod that runs: store, credentials, logs, sockets."""
    detached.folder.mkdir(parents=True)
    detached.folder.chmod(0o755)
    await detached.use()
    pod = await run_pod(detached, "private")
    shim = detached.folder / "node/pods" / pod["metadata"]["uid"]
    seen = {path: path.lstat() for folder in (detached.folder, shim) for path in (folder, *folder.iterdir())}
    names = {path.name for path in seen}
    assert names >= {"objects.db", "objects.db-wal", "tokens.db", "log", "shim.sock", "shim.log", "volumes"}
    shared = {shim / "volumes", shim / "containers"}  # below a folder of 0700
    assert {path for path, status in seen.items() if status.st_mode & 0o077} <= shared
    assert not shim.parent.stat().st_mode & 0o077


async def test_after_a_kill_the_next_command_finds_the_pod_still_running(detached: DetachedCluster) -> None:
    await detached.use()
    before = await run_pod(detached, "survivor")
    first = detached.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await until_ended(detached)
    await detached.use()
    assert detached.pid not in (None, first)
    client = kube.connect(str(detached.kubeconfig), None, "default")
    after = await until_running(client, "survivor")
    await client.close()
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    [was], [is_now] = before["status"]["containerStatuses"], after["status"]["containerStatuses"]
    assert (is_now["containerID"], is_now["restartCount"]) == (was["containerID"], 0)


async def test_an_orderly_end_takes_the_containers_along_and_keeps_the_objects(
    detached: DetachedCluster,
) -> None:
    await detached.use()
    before = await run_pod(detached, "ends")
    assert await detached.end()
    assert detached.pid is None
    assert processes_of(detached.folder) == []
    await detached.use()
    client = kube.connect(str(detached.kubeconfig), None, "default")
    assert (await client.get(PODS, "ends"))["metadata"]["uid"] == before["metadata"]["uid"]
    await client.close()


async def test_ending_what_does_not_run_ends_nothing(detached: DetachedCluster) -> None:
    assert not await detached.end()
    assert not detached.folder.exists()


async def test_it_ends_by_itself_once_nobody_uses_it(tmp_path: Path) -> None:
    cluster = DetachedCluster(tmp_path / "embedded", idle=0.05)
    await cluster.use()
    pid = cluster.pid
    assert pid is not None
    # In use, it outlives its time many times over: it still answers after as many round trips.
    client = kube.connect(str(cluster.kubeconfig), None, "default")
    for _ in range(200):
        await client.get(NAMESPACES, "default")
    await client.close()
    assert cluster.pid == pid
    cluster.release()
    await until_ended(cluster)


async def test_a_folder_that_cannot_be_used_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="cannot be in") as told:
        await DetachedCluster(tmp_path / "file" / "embedded").use()
    assert "--data-dir" in told.value.hint


async def test_a_process_that_does_not_start_says_why(detached: DetachedCluster) -> None:
    detached.folder.mkdir(parents=True)
    (detached.folder / "port").write_text("1")
    (detached.folder / "objects.db").mkdir()
    with pytest.raises(StoreError, match="did not start"):
        await detached.use()
    assert detached.pid is None


def processes_of(folder: Path) -> list[int]:
    """Processes with the folder in their command line: the cluster's and its shims."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.fixture
def foreground(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    words = ["--data", str(tmp_path / "data"), "--kubeconfig", str(tmp_path / "mine")]
    process = subprocess.Popen(
        [sys.executable, "-m", "moorage.embedded.process", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def test_in_the_foreground_a_place_that_cannot_be_written_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    words = ["--data", str(tmp_path / "data"), "--kubeconfig", str(tmp_path / "file" / "kubeconfig")]
    done = subprocess.run(
        [sys.executable, "-m", "moorage.embedded.process", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"error: cannot write {tmp_path / 'file'}: File exists",
        "  hint: give another place, one that you may write to",
    ]


def test_in_the_foreground_it_says_when_it_is_ready_and_ends_on_ctrl_c(
    foreground: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert foreground.stdout is not None
    words = foreground.stdout.readline().split()
    assert words[0] == "ready:"
    assert words[2:] == ["kubeconfig", str(tmp_path / "mine")]
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o600
    server = json.loads((tmp_path / "mine").read_text())["clusters"][0]["cluster"]["server"]
    assert words[1] == server
    foreground.send_signal(signal.SIGINT)
    _, said = foreground.communicate(timeout=60)
    assert foreground.returncode == 0
    assert "not isolated" in said
    assert locks.holder(tmp_path / "data" / locks.READY) is None


def test_a_kubeconfig_of_somebody_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("apiVersion: v1\nkind: Config\n")
    words = ["--data", str(tmp_path / "data"), "--kubeconfig", str(tmp_path / "config")]
    done = subprocess.run(
        [sys.executable, "-m", "moorage.embedded.process", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "is there already" in done.stderr
    assert (tmp_path / "config").read_text() == "apiVersion: v1\nkind: Config\n"
