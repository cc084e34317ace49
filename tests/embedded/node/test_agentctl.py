"""agentctl comes to life in Pods of this node as in any other, and each link leads to its own Pod."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
from pathlib import Path
from typing import Any

import pytest

from hatch_build import build_helpers
from moorage.core import owned
from moorage.core.bootstrap import INSTALLED, RECEIVE, TUNNEL, bootstrap_frame, entrypoint, install_command
from moorage.core.errors import LinkError
from moorage.core.kinds import Json
from moorage.engine.link import AgentLink, open_link
from moorage.ports.link import ProcessSpec

from .conftest import PATIENCE, World, container

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "amd64")
BUILT = "MOORAGE_TEST_HELPER"
"""An agentctl that was built already, for a user who cannot build one."""

VOLUMES: list[Json] = [
    {"name": owned.OPT_VOLUME, "emptyDir": {}},
    {"name": owned.RUN_VOLUME, "emptyDir": {"medium": "Memory"}},
    {"name": owned.WORKSPACE_VOLUME, "emptyDir": {}},
]
MOUNTS = {
    owned.OPT_VOLUME: owned.OPT_PATH,
    owned.RUN_VOLUME: owned.RUN_PATH,
    owned.WORKSPACE_VOLUME: owned.WORKSPACE_PATH,
}


@pytest.fixture(scope="module")
def helper(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    if given := os.environ.get(BUILT):
        return Path(given).read_bytes()
    (path,) = build_helpers(tmp_path_factory.mktemp("helper"), [ARCHITECTURE])
    return Path(path).read_bytes()


class LinkStream:
    """A connection of the node, as the link wants it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def read(self) -> bytes:
        try:
            data: bytes = await self._stream.read()
        except OSError as error:
            raise LinkError(str(error)) from error
        return data

    async def write(self, data: bytes) -> None:
        await self._stream.write(data)

    async def close(self) -> None:
        await self._stream.close()


class TunnelStream(LinkStream):
    """The same over ``agentctl tunnel``."""

    async def read(self) -> bytes:
        while (output := await self._stream.read()) is not None:
            if output[0] == 1:
                return bytes(output[1])
        return b""


async def bring_to_life(world: World, name: str, helper: bytes) -> tuple[str, bytes]:
    """A Pod with a configured agentctl: its UID and nonce."""
    uid_env = {"name": owned.POD_UID_ENV, "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}
    main = container(mounts=MOUNTS, command=entrypoint(), env=[uid_env])
    uid: str = (await world.start(name, volumes=VOLUMES, containers=[main]))["metadata"]["uid"]
    # Who is not there yet is not woken, and looks by itself: here it shall be there.
    await world.run(["sh", "-c", f"until [ -s {owned.RUN_PATH}/pid ]; do sleep 0.01; done"], pod=name)
    install = install_command(len(helper), hashlib.sha256(helper).hexdigest())
    end, out, err = await world.run(install, pod=name, stdin=helper)
    assert (end.code, out.split()[-1:]) == (0, [INSTALLED.encode()]), (out, err)
    nonce = name.encode().ljust(32, b"-")
    end, out, err = await world.run(list(RECEIVE), pod=name, stdin=bootstrap_frame({}, nonce))
    assert end.code == 0, err
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[0]["pod_uid"] == uid
    assert lines[-1] == {"listening": True}
    return uid, nonce


async def linked(
    world: World, name: str, uid: str, nonce: bytes, transport: str = "portforward"
) -> AgentLink:
    if transport == "portforward":
        stream = LinkStream(await world.node.dial(world.pod(name), owned.AGENTCTL_PORT))
    else:
        stream = TunnelStream(
            await world.node.exec(world.pod(name), "main", list(TUNNEL), tty=False, stdin=True)
        )
    return await open_link(stream, nonce, fence=1, expect_pod_uid=uid)


async def test_each_link_leads_to_its_own_pod_and_works_in_its_workspace(world: World, helper: bytes) -> None:
    async with asyncio.timeout(PATIENCE):
        pods = {name: await bring_to_life(world, name, helper) for name in ("one", "two")}
        for name, (uid, nonce) in pods.items():
            for transport in ("portforward", "exec"):
                link = await linked(world, name, uid, nonce, transport)
                run = await link.run(
                    ProcessSpec(["sh", "-c", f"echo {transport} >> /workspace/{name}; exit 7"])
                )
                assert (await run.wait()).code == 7
                await run.close()
                await link.close()
        for name in pods:
            assert await world.sh("cat /workspace/*", pod=name) == "portforward\nexec"
        with pytest.raises(LinkError):
            await linked(world, "one", pods["two"][0], pods["two"][1])


async def test_agentctl_takes_nothing_of_the_host_port_that_all_pods_share(
    world: World, helper: bytes
) -> None:
    async with asyncio.timeout(PATIENCE):
        await bring_to_life(world, "one", helper)
        assert await world.sh("cat /run/moorage/address", pod="one") == (
            "unix:" + (await world.sh("echo /run/moorage/forward.sock", pod="one"))
        )
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", owned.AGENTCTL_PORT)
        server.close()
        await server.wait_closed()
