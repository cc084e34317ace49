"""The agent has the umask that its image and runtime give it; what is agentctl's own stays private."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from moorage.engine.link import AgentLink
from moorage.ports.link import Output, ProcessSpec
from tests.contract.link.conftest import HOST
from tests.contract.link.loopback import Agentctl
from tests.contract.link.test_entrypoint import Container
from tests.contract.link.test_files import LIMIT, pieces, tar

AS_A_RUNTIME = ["sh", "-c", 'umask "$0"; exec "$@"']
"""Becomes the command that follows, under the mask before it."""
ASKED = ProcessSpec(["sh", "-c", "umask"], cwd="/")
OPEN = (0o022, 0o000)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


async def started(how: str, mask: int, helper: Path, root: Path) -> Agentctl:
    """A configured agentctl under ``mask``: as the waiting loop becomes it, or as ``agentctl wait``."""
    runtime = [*AS_A_RUNTIME, f"{mask:04o}"]
    if how == "loop":
        container: Agentctl = Container([*runtime, "sh"], root)
        (root / "home/agentctl").symlink_to(helper)
    else:
        container = Agentctl([*runtime, str(helper)], root)
    await Agentctl([*runtime, str(helper)], root).receive()
    await container.start("" if how == "loop" else "wait")
    return container


async def printed(link: AgentLink) -> tuple[bytes, bytes]:
    """What the agent and a command beside it say of their mask."""
    beside = await link.run(ASKED)
    part = await beside.read()
    await beside.wait()
    await link.start_agent(ASKED, base_offset=0, start_id="a")
    agent = b"".join([part.data async for part in link.output(0) if isinstance(part, Output)])
    return agent, part[1] if part else b""


@pytest.mark.parametrize("mask", OPEN)
@pytest.mark.parametrize("how", ["loop", "wait"])
async def test_agent_and_commands_have_the_mask_of_the_runtime(
    helpers: dict[str, Path], tmp_path: Path, how: str, mask: int
) -> None:
    container = await started(how, mask, helpers[HOST], tmp_path)
    said = f"{mask:04o}\n".encode()
    assert await printed(await container.link()) == (said, said)
    await container.close()


@pytest.mark.parametrize("how", ["loop", "wait"])
async def test_copied_directories_that_no_mode_was_given_for_can_be_read(
    helpers: dict[str, Path], tmp_path: Path, how: str
) -> None:
    container = await started(how, 0o022, helpers[HOST], tmp_path)
    link = await container.link()
    await link.put_tar(str(tmp_path / "made/deep"), pieces(tar(("sub/file", b"x"))), limit=LIMIT)
    made = {path: mode(tmp_path / path) for path in ("made", "made/deep", "made/deep/sub")}
    assert set(made.values()) == {0o755}
    assert mode(tmp_path / "made/deep/sub/file") == 0o644
    await container.close()


@pytest.mark.parametrize("mask", OPEN)
@pytest.mark.parametrize("how", ["loop", "wait"])
async def test_nonce_socket_and_journal_are_private_whatever_the_mask(
    helpers: dict[str, Path], tmp_path: Path, how: str, mask: int
) -> None:
    container = await started(how, mask, helpers[HOST], tmp_path)
    await printed(await container.link())
    run, journal = tmp_path / "run", tmp_path / "home/journal"
    ours = [*run.iterdir(), *journal.iterdir()]
    assert {"bootstrap", "pid", "link.sock", "state.json"} <= {path.name for path in ours}
    assert {path.name: oct(mode(path)) for path in ours if mode(path) != 0o600} == {}
    assert mode(journal) == 0o700
    await container.close()
