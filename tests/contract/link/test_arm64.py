"""The arm64 helper, run by qemu's user mode: hello, a process, files.

Tier 4, since that is where packages of the system may be installed; no cluster is used.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from moorage.engine.link import AgentLink
from moorage.ports.link import ExitStatus, ProcessSpec
from tests.contract.link.loopback import Agentctl
from tests.contract.link.test_files import names, pieces, tar
from tests.contract.link.test_run import both

pytestmark = pytest.mark.node


@pytest.fixture
async def foreign(
    program: Callable[[str], str], helpers: dict[str, Path], tmp_path: Path
) -> AsyncIterator[Agentctl]:
    container = Agentctl([program("qemu-aarch64"), str(helpers["arm64"])], tmp_path)
    await container.receive()
    await container.start()
    yield container
    await container.close()


async def test_the_arm64_helper_serves_the_link(foreign: Agentctl) -> None:
    link: AgentLink = await foreign.link()
    assert link.hello.platform == "linux/arm64"
    process = await link.run(ProcessSpec(["cat"], cwd="/tmp"))
    await process.write(b"through qemu\n")
    await process.close_stdin()
    assert (await both(process))[1] == b"through qemu\n"
    assert await process.wait() == ExitStatus(code=0)
    workspace = str(foreign.workspace)
    await link.put_tar(workspace, pieces(tar(("a", bytes(200_000)))), limit=1 << 20)
    assert names(foreign.workspace) == ["a"]
    whole = b"".join([part async for part in link.get_tar(workspace)])
    copy = foreign.root / "copy"
    await link.put_tar(str(copy), pieces(whole), limit=1 << 20)
    assert await link.hash_tree(str(copy)) == await link.hash_tree(workspace)
    await link.start_agent(ProcessSpec(["echo", "hello"], cwd="/tmp"), base_offset=0, start_id="a")
    assert await link.wait_exit() == ExitStatus(code=0)
    assert (await link.status()).end == 6
