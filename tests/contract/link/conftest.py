"""Fixtures of the link tests: the helpers built once, one agentctl a test, links that are closed again."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from testcluster.requirements import require_program

from hatch_build import build_helpers
from moorage.engine.link import AgentLink
from tests.contract.link.loopback import Agentctl

HOST = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


@pytest.fixture
def program(pytestconfig: pytest.Config) -> Callable[[str], str]:
    """`program(name)` → path of a program of the system; as root it is installed first if need be."""

    def find(name: str) -> str:
        if found := shutil.which(name):
            return found
        if os.geteuid():
            pytest.skip(f"{name} is not installed, and only root may install it")
        capture = pytestconfig.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
            return require_program(name)  # what is done to the machine is said

    return find


@pytest.fixture(scope="session")
def helpers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """agentctl for both platforms, built from this checkout."""
    built = build_helpers(tmp_path_factory.mktemp("helpers"))
    return {path.parent.name: path for path in built}


@pytest.fixture
async def agentctl(helpers: dict[str, Path], tmp_path: Path) -> AsyncIterator[Agentctl]:
    """A configured agentctl that listens."""
    container = Agentctl([str(helpers[HOST])], tmp_path)
    await container.receive()
    await container.start()
    yield container
    await container.close()


@pytest.fixture
async def link(agentctl: Agentctl) -> AgentLink:
    """An open link to it."""
    return await agentctl.link()
