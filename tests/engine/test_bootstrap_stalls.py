"""A container that takes or says nothing while the helper is brought into it is given up in time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.core.errors import LinkError
from moorage.engine import bootstrap
from moorage.engine.bootstrap import deliver, install_and_deliver
from moorage.ports.streams import ExecChunk, ExecResult

BINARY = bytes(200_000)
HANG = 20.0
"""Seconds after which a test says that it hangs, instead of hanging."""


class Shell:
    """An exec whose ``hangs`` (write, read or result) is never answered; else it ends without a word."""

    def __init__(self, hangs: str) -> None:
        self.hangs = hangs
        self.closed = False

    async def _asked(self, what: str) -> None:
        if what == self.hangs:
            await asyncio.Event().wait()

    async def write(self, data: bytes) -> None:
        await self._asked("write")

    async def read(self) -> ExecChunk | None:
        await self._asked("read")
        return None

    async def result(self) -> ExecResult:
        await self._asked("result")
        return ExecResult(exit_code=1)

    async def close(self) -> None:
        self.closed = True


class Cluster:
    def __init__(self, shell: Shell) -> None:
        self.shell = shell

    async def exec(self, *args: Any, **more: Any) -> Any:
        return self.shell


async def delivered(shell: Shell, way: str) -> None:
    cluster: Any = Cluster(shell)
    async with asyncio.timeout(HANG):
        if way == "install":
            await install_and_deliver(cluster, "pod", "agent", BINARY, {}, bytes(32), "uid")
        else:
            await deliver(cluster, "pod", "agent", {}, bytes(32), "uid")


@pytest.mark.parametrize(
    ("way", "hangs"),
    [
        ("install", "write"),
        ("install", "read"),
        ("install", "result"),
        ("given", "read"),
        ("given", "result"),
    ],
)
async def test_a_shell_that_hangs_is_given_up_and_its_exec_closed(
    monkeypatch: pytest.MonkeyPatch, way: str, hangs: str
) -> None:
    monkeypatch.setattr(bootstrap, "STALL", 0.01)
    shell = Shell(hangs)
    with pytest.raises(LinkError, match="neither reads nor answers"):
        await delivered(shell, way)
    assert shell.closed
