"""The sync face: made from the async one and current, and as usable without a thought of event loops."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from moorage import CommandExitException, FileNotFoundException, PtySize, Sandbox
from moorage.core.errors import UsageError
from moorage.ports.link import FileChange
from moorage.sdk import runner
from tests.sdk.fakes import Verbs
from tools.sdk.generate import BLOCKING, renewed


def test_making_it_again_changes_nothing() -> None:
    wanted = renewed()
    assert {path for path in BLOCKING.glob("*.py") if path.name != "__init__.py"} == set(wanted)
    assert [path.name for path, text in wanted.items() if path.read_text() != text] == []


@pytest.fixture
def verbs() -> Verbs:
    return Verbs()


@pytest.fixture
def sandbox(verbs: Verbs) -> Iterator[Sandbox]:
    with Sandbox.connect("brisk-otter", at=verbs) as connected:
        yield connected


def test_a_sandbox_is_made_used_and_removed_without_await(verbs: Verbs) -> None:
    with Sandbox.create(at=verbs) as sandbox:
        verbs.ready().say(b"out").end(code=0)
        verbs.ready().say(b"out").end(code=4)
        assert sandbox.commands.run("x").stdout == "out"
        with pytest.raises(CommandExitException) as caught:
            sandbox.commands.run("x")
        assert caught.value.exit_code == 4
        assert sandbox.get_info() == Sandbox.get_info("brisk-otter", at=verbs)
        assert Sandbox.list(at=verbs).next_items()[0].sandbox_id == sandbox.sandbox_id
    assert verbs.calls[-1][0] == "remove"
    assert not Sandbox.kill("nobody", at=verbs)


def test_a_handler_may_call_the_sdk_itself(sandbox: Sandbox, verbs: Verbs) -> None:
    process = verbs.ready().say(b"first")
    heard: list[tuple[str, bool]] = []

    def answer(text: str) -> None:
        heard.append((text, threading.current_thread() is threading.main_thread()))
        handle.send_stdin("go on")
        process.end()

    handle = sandbox.commands.run("x", background=True, stdin=True)
    assert handle.wait(on_stdout=answer).exit_code == 0
    assert heard == [("first", False)]
    assert b"go on" in process.told


def test_files_go_in_and_out_as_plain_values_and_iterators(sandbox: Sandbox, verbs: Verbs) -> None:
    sandbox.files.write("a", iter([b"one ", b"two"]))
    sandbox.files.write("b", "text")
    assert sandbox.files.read("b") == "text"
    stream = sandbox.files.read("a", format="stream")
    assert b"".join(stream) == b"one two"
    with pytest.raises(FileNotFoundException):
        sandbox.files.get_info("none")
    watch = sandbox.files.watch_dir("/workspace")
    runner.call(lambda: verbs.disk.changes.put_nowait(FileChange("a", "create")))
    while not (events := watch.get_new_events()):
        pass
    assert [event.name for event in events] == ["a"]
    watch.stop()


def test_a_terminal_of_the_sync_face_is_a_handle_of_it(sandbox: Sandbox, verbs: Verbs) -> None:
    process = verbs.ready()
    shown: list[bytes] = []
    handle = sandbox.pty.create(PtySize(24, 80), shown.append)
    runner.call(lambda: process.say(b"$ ").end())
    assert handle.wait().exit_code == 0
    assert shown == [b"$ "]


def test_ctrl_c_ends_the_command_that_is_waited_for(sandbox: Sandbox, verbs: Verbs) -> None:
    process = verbs.ready().say(b"it runs")

    def interrupt(text: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        sandbox.commands.run("sleep 1000", timeout=None, on_stdout=interrupt)
    assert process.told[-1] == "closed"


def test_its_own_event_loop_is_told_of_instead_of_waited_for(sandbox: Sandbox) -> None:
    def from_inside() -> None:
        with pytest.raises(UsageError, match="its own event loop"):
            sandbox.get_info()

    runner.call(from_inside)


async def test_it_works_where_an_event_loop_runs(verbs: Verbs) -> None:
    asyncio.get_running_loop()
    with Sandbox.connect("brisk-otter", at=verbs) as sandbox:
        assert sandbox.is_running()


def test_the_package_loads_nothing_of_it_before_a_name_is_asked_for(tmp_path: Path) -> None:
    said = (
        "import sys, moorage\n"
        "assert not any(name.startswith('moorage.') for name in sys.modules), sys.modules\n"
        "from moorage import ports\n"
        "assert 'moorage.sdk' not in sys.modules\n"
        "from moorage import Sandbox, TimeoutException\n"
        "assert 'aiohttp' not in sys.modules and 'sqlalchemy' not in sys.modules\n"
        "assert not hasattr(moorage, 'nonsense')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", said], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
