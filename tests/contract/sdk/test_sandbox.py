"""The SDK against a Kubernetes API: E2B's quick start, and the life of a sandbox with all of its parts."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from moorage import (
    AsyncSandbox,
    CommandExitException,
    CommandTimeoutException,
    ConflictException,
    FileNotFoundException,
    FilesystemEventType,
    Place,
    PtySize,
    Sandbox,
    SandboxFailedException,
    SandboxNotFoundException,
    SandboxNotRunningException,
    SandboxQuery,
    SandboxState,
)
from moorage.core.errors import LinkError
from tests.contract.sdk.conftest import TEMPLATE
from tests.docs.test_sdk import PROGRAMS

pytestmark = pytest.mark.node
Left = Callable[[], list[str]]


def test_e2bs_quick_start_runs_with_another_import(place: Place, tmp_path: Path, left: Left) -> None:
    (tmp_path / "pod.yaml").write_bytes(TEMPLATE)
    (tmp_path / "quick_start.py").write_text(PROGRAMS[0])
    named = {
        "MOORAGE_KUBECONFIG": place.kubeconfig,
        "MOORAGE_NAMESPACE": place.namespace,
        "MOORAGE_DATA_DIR": place.data_dir,
        "MOORAGE_TEMPLATE": str(tmp_path / "pod.yaml"),
    }
    command = [sys.executable, "-W", "always::ResourceWarning", "quick_start.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **named}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello from E2B!\n\n", "")
    assert left() == []


async def test_commands_files_terminals_and_ports_of_a_sandbox(place: Place, left: Left) -> None:
    async with await AsyncSandbox.create(
        TEMPLATE, envs={"TOKEN": "s3cret"}, metadata={"for": "this test"}, at=place
    ) as sandbox:
        await commands_of(sandbox)
        await files_of(sandbox)
        await terminal_of(sandbox)
        await port_of(sandbox)
        (metrics,) = await sandbox.get_metrics()
        assert metrics.mem_used >= -1
        (found,) = await AsyncSandbox.list(SandboxQuery(metadata={"for": "this test"}), at=place).next_items()
        assert found == await sandbox.get_info()
        assert found.state is SandboxState.RUNNING
        async with await AsyncSandbox.connect(sandbox.sandbox_id, at=place) as other:
            assert (await other.commands.run("echo $TOKEN")).stdout == "s3cret\n"
        assert await sandbox.is_running()
    assert left() == []


async def commands_of(sandbox: AsyncSandbox) -> None:
    heard: list[str] = []
    words = "echo $TOKEN $OWN; echo oh >&2; exit 3"
    with pytest.raises(CommandExitException) as caught:
        await sandbox.commands.run(words, envs={"OWN": "x"}, on_stdout=heard.append)
    assert (caught.value.exit_code, caught.value.stderr) == (3, "oh\n")
    assert "".join(heard) == caught.value.stdout == "s3cret x\n"
    missing = await sandbox.commands.run(["no-such-program"], check=False)
    assert (missing.exit_code, missing.error) == (127, "not_found: no-such-program is not on PATH")
    cat = await sandbox.commands.run(["cat"], background=True, stdin=True, timeout=None)
    assert [process.pid for process in await sandbox.commands.list()] == [cat.pid]
    await cat.send_stdin("there and back")
    await cat.close_stdin()
    assert (await cat.wait()).stdout == "there and back"
    with pytest.raises(CommandTimeoutException) as slow:
        await sandbox.commands.run("echo begun; sleep 1000", timeout=2)
    assert slow.value.stdout in ("begun\n", "")
    assert await sandbox.commands.list() == []


async def files_of(sandbox: AsyncSandbox) -> None:
    files = sandbox.files
    content = os.urandom(3 << 20)
    await files.write("deep/er/data", content)
    assert await files.read("deep/er/data", format="bytes") == content
    await files.write("run.sh", "#!/bin/sh\necho one\n")
    await sandbox.commands.run("chmod 750 run.sh; ln -s run.sh link")
    await files.write("link", "#!/bin/sh\necho two\n")
    assert (await sandbox.commands.run(["./run.sh"])).stdout == "two\n"
    link = await files.get_info("link")
    assert (link.symlink_target, (await files.get_info("run.sh")).permissions) == ("run.sh", "rwxr-x---")
    assert [entry.path for entry in await files.list("deep", depth=2)] == [
        "/workspace/deep/er",
        "/workspace/deep/er/data",
    ]
    handle = await files.watch_dir("deep", recursive=True, timeout=None)
    await files.make_dir("deep/new")
    await files.rename("run.sh", "deep/new/run.sh")
    assert await files.exists("deep/new/run.sh")
    await files.remove("deep/new")
    seen: list[tuple[str, FilesystemEventType]] = []
    while ("new", FilesystemEventType.REMOVE) not in seen:
        seen += [(event.name, event.type) for event in await handle.get_new_events()]
        await sandbox.commands.run("true")
    await handle.stop()
    assert seen[0] == ("new", FilesystemEventType.CREATE)
    with pytest.raises(FileNotFoundException):
        await files.read("deep/new/run.sh")


async def terminal_of(sandbox: AsyncSandbox) -> None:
    shown = bytearray()
    terminal = await sandbox.pty.create(PtySize(rows=24, cols=77), shown.extend, timeout=None)
    await sandbox.pty.send_stdin(terminal.pid, b"stty size; exit 5\r")
    with pytest.raises(CommandExitException) as caught:
        await terminal.wait()
    assert caught.value.exit_code == 5
    assert b"24 77" in shown


async def port_of(sandbox: AsyncSandbox) -> None:
    port = 20_000 + secrets.randbelow(9000)
    await sandbox.files.write("page", "reached")
    serving = ["httpd", "-f", "-p", f"127.0.0.1:{port}", "-h", "/workspace"]
    server = await sandbox.commands.run(serving, background=True, timeout=None)
    url = f"http://{sandbox.get_host(port)}/page"
    assert sandbox.get_host(port) in url

    def fetched() -> bytes:
        with urllib.request.urlopen(url) as answer:
            return bytes(answer.read())

    while True:
        try:
            assert await asyncio.to_thread(fetched) == b"reached"
            break
        except OSError:  # it does not listen yet
            assert await sandbox.commands.list() != []
    assert await server.kill()


def test_a_sandbox_outlives_its_program_and_its_pod(place: Place, left: Left) -> None:
    first = Sandbox.create(TEMPLATE, name="box", at=place)
    first.files.write("kept", "here")
    words = f"sleep {100_000 + secrets.randbelow(900_000)}"
    running = first.commands.run(words, background=True, timeout=None)
    first.close()
    with pytest.raises(LinkError, match="closed"):
        running.wait()
    with pytest.raises(ConflictException):
        Sandbox.create(TEMPLATE, name="box", at=place)
    second = Sandbox.create(TEMPLATE, name="box", adopt_existing=True, at=place)
    assert second.sandbox_id == first.sandbox_id
    while second.commands.run(f"ps -o args | grep '[s]{words[1:]}$'", check=False).stdout:
        assert second.is_running()  # it is hung up on, and killed where it does not heed that
    assert second.pause()
    with pytest.raises(SandboxNotRunningException) as caught:
        second.commands.run("true")
    assert caught.value.hint
    assert Sandbox.get_info("box", at=place).state is SandboxState.PAUSED
    assert not second.is_running()
    second.connect()
    assert second.files.read("kept") == "here"
    assert second.kill()
    assert left() == []
    with pytest.raises(SandboxNotFoundException):
        Sandbox.connect("box", at=place)


def test_one_that_does_not_start_leaves_nothing_and_says_why(place: Place, left: Left) -> None:
    template = TEMPLATE.replace(b"localhost/busybox:test", b"localhost/no-such-image:1")
    with pytest.raises(SandboxFailedException) as caught:
        Sandbox.create(template, at=place)
    assert caught.value.reason
    assert caught.value.hint
    assert left() == []
