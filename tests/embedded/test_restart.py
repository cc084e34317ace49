"""The process that holds the cluster is killed, and the next one goes on where it was."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from moorage import kube
from moorage.core.errors import StoreError
from moorage.core.kinds import CONFIG_MAPS
from moorage.embedded import EmbeddedCluster

from .conftest import config_map

PROGRAM = """
import asyncio, sys, pathlib
from moorage.embedded import EmbeddedCluster

async def main():
    await EmbeddedCluster(pathlib.Path(sys.argv[1])).start()
    print("up", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def start(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


async def test_after_a_kill_every_answered_write_is_there_under_the_same_identity(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    process = start(folder)
    kubeconfig = folder / "kubeconfig"
    before = json.loads(kubeconfig.read_text())
    client = kube.connect(str(kubeconfig), None, "default")
    identity = await client.identity()
    made = [await client.create(CONFIG_MAPS, config_map(f"c{number}")) for number in range(20)]
    kill(process)
    await client.close()

    process = start(folder)
    try:
        assert json.loads(kubeconfig.read_text()) == before
        client = kube.connect(str(kubeconfig), None, "default")
        assert await client.identity() == identity
        found = {item["metadata"]["name"]: item async for item in client.list_all(CONFIG_MAPS)}
        assert [found[obj["metadata"]["name"]]["metadata"]["uid"] for obj in made] == [
            obj["metadata"]["uid"] for obj in made
        ]
        newer = await client.create(CONFIG_MAPS, config_map("newer"))
        newest = max(int(obj["metadata"]["resourceVersion"]) for obj in made)
        assert int(newer["metadata"]["resourceVersion"]) > newest
        await client.close()
    finally:
        kill(process)


async def test_one_folder_has_one_process(tmp_path: Path) -> None:
    first = EmbeddedCluster(tmp_path)
    await first.start()
    with pytest.raises(StoreError, match="already runs"):
        await EmbeddedCluster(tmp_path).start()
    await first.stop()
    again = EmbeddedCluster(tmp_path)
    await again.start()
    assert again.address == first.address
    await again.stop()
