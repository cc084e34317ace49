"""The waiting loop and the upload, run by the shells they must work with, without a cluster."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shlex
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from moorage.core import owned
from moorage.core.bootstrap import entrypoint_script, install_command, read_install_answer
from moorage.core.errors import IntegrityError
from tests.contract.link.conftest import HOST
from tests.contract.link.loopback import Agentctl, flags

SHELLS = {"sh": ["sh"], "dash": ["dash"], "bash": ["bash"], "busybox": ["busybox", "sh"]}
# A machine without one of them runs it in tier 4, where packages may be installed.
EACH = [pytest.param(name, marks=() if shutil.which(name) else pytest.mark.node) for name in SHELLS]


@pytest.fixture
def shell(request: pytest.FixtureRequest, program: Callable[[str], str]) -> str:
    """The name of a shell that is there."""
    name: str = request.param
    program(name)
    return name


class Container(Agentctl):
    """A shell that runs our scripts with the two directories moved below ``root``."""

    def __init__(self, shell: list[str], root: Path):
        super().__init__([*shell, "-c", self._moved(root, entrypoint_script())], root)
        self.shell = shell

    @staticmethod
    def _moved(root: Path, script: str) -> str:
        moved = script.replace(owned.OPT_PATH, f"{root}/home").replace(owned.RUN_PATH, f"{root}/run")
        return moved.replace("$helper serve", f"$helper serve {shlex.join(flags(root))}")

    async def upload(self, binary: bytes, *, length: int = 0, sha256: str = "") -> str:
        digest = sha256 or hashlib.sha256(binary).hexdigest()
        script, *arguments = install_command(length or len(binary), digest)[2:]
        process = await asyncio.create_subprocess_exec(
            *self.shell,
            "-c",
            self._moved(self.root, script),
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate(binary)
        return out.decode()


@pytest.mark.parametrize("shell", EACH, indirect=True)
async def test_the_loop_becomes_agentctl_once_both_deliveries_are_there(
    helpers: dict[str, Path], tmp_path: Path, shell: str
) -> None:
    container = Container(SHELLS[shell], tmp_path)
    listening = asyncio.create_task(container.start(""))
    read_install_answer(await container.upload(helpers[HOST].read_bytes()), "")
    received = Agentctl([str(tmp_path / "home" / "agentctl")], tmp_path)
    await received.receive()
    await listening
    assert container.process is not None
    assert (tmp_path / "run" / "pid").read_text().strip() == str(container.process.pid)
    assert (await (await container.link()).status()).state == "none"
    await container.close()


@pytest.mark.parametrize("shell", EACH, indirect=True)
async def test_term_ends_the_waiting_loop_at_once(tmp_path: Path, shell: str) -> None:
    container = Container(SHELLS[shell], tmp_path)
    process = await asyncio.create_subprocess_exec(*container.binary)
    ready = f"until [ -e {tmp_path}/run/pid ]; do sleep 0.01; done"
    await (await asyncio.create_subprocess_exec("/bin/sh", "-c", ready)).wait()
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 143


@pytest.mark.parametrize("shell", EACH, indirect=True)
async def test_damaged_bytes_are_never_put_in_place(
    helpers: dict[str, Path], tmp_path: Path, shell: str
) -> None:
    container = Container(SHELLS[shell], tmp_path)
    binary = helpers[HOST].read_bytes()
    answer = await container.upload(binary, sha256="0" * 64)
    with pytest.raises(IntegrityError):
        read_install_answer(answer, "")
    answer = await container.upload(
        binary[:-1], length=len(binary), sha256=hashlib.sha256(binary).hexdigest()
    )
    with pytest.raises(IntegrityError):
        read_install_answer(answer, "")
    assert os.listdir(tmp_path / "home") == []
