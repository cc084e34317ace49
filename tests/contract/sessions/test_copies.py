"""Every byte arrives: output, files both ways, and the streams and codes of commands beside the agent."""

from __future__ import annotations

import hashlib
import os
import random
import stat
import subprocess
from pathlib import Path

import pytest

from .commands import Moorage
from .conftest import Template

pytestmark = pytest.mark.node


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_fifty_megabytes_of_output_are_complete_on_stdout_and_in_the_logs(
    moorage: Moorage, template: Template
) -> None:
    whole = b"".join(b"%012d %s\n" % (i, b"." * 50) for i in range(50 << 20 >> 6))
    done = moorage(
        *moorage.run_args(
            "--name",
            "loud",
            "--workspace",
            "empty_dir",
            template=template(),
            command=["testagent", "output", "50"],
        )
    )
    assert (len(done.out), sha(done.out)) == (len(whole), sha(whole))
    stored = moorage("logs", "loud").out
    assert (len(stored), sha(stored)) == (len(whole), sha(whole))
    tail = moorage("logs", "--tail", "2", "loud").out
    assert tail == b"".join(whole.splitlines(keepends=True)[-2:])


def test_files_and_commands(moorage: Moorage, template: Template, tmp_path: Path) -> None:
    moorage(
        *moorage.run_args(
            "-d",
            "--name",
            "box",
            "--workspace",
            "empty_dir",
            template=template(),
            command=["testagent", "wait"],
        )
    )
    _files(moorage, tmp_path)
    _directories(moorage, tmp_path)
    _commands(moorage)
    moorage("rm", "-y", "box")


def _files(moorage: Moorage, tmp_path: Path) -> None:
    data = random.Random(3).randbytes(64 << 20)
    (tmp_path / "big").write_bytes(data)
    moorage("cp", tmp_path / "big", "box:/workspace/there")
    there = moorage("exec", "box", "--", "sha256sum", "there")
    assert there.out.split()[0].decode() == sha(data)
    moorage("cp", "box:there", tmp_path / "back")
    assert sha((tmp_path / "back").read_bytes()) == sha(data)
    assert moorage("cp", "box:none", tmp_path / "none", code=3).out == b""
    assert not (tmp_path / "none").exists()


def _directories(moorage: Moorage, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub" / "program").write_bytes(b"#!/bin/sh\n")
    (tree / "sub" / "program").chmod(0o751)
    (tree / "sub").chmod(0o710)
    (tree / "empty").mkdir(mode=0o700)
    (tree / "link").symlink_to("sub/program")
    (tree / "a name with spaces \u00e9\n").write_bytes(b"")
    moorage("cp", tree, "box:/workspace/")
    moorage("cp", "box:/workspace/tree", tmp_path / "copied")
    assert _picture(tmp_path / "copied") == _picture(tree)


def _picture(top: Path) -> list[tuple[str, int, str]]:
    found = []
    for path in sorted(top.rglob("*")):
        mode = path.lstat().st_mode
        content = os.readlink(path) if path.is_symlink() else sha(path.read_bytes()) if path.is_file() else ""
        found.append((str(path.relative_to(top)), 0 if stat.S_ISLNK(mode) else mode, content))
    return found


def _commands(moorage: Moorage) -> None:
    apart = moorage("exec", "box", "--", "sh", "-c", "echo out; echo err >&2; exit 42", code=42)
    assert (apart.out, apart.err) == (b"out\n", "err\n")
    assert moorage("exec", "box", "--", "sh", "-c", "kill -TERM $$", code=143).out == b""
    assert "not" in moorage("exec", "box", "--", "no-such-program", code=127).err
    moorage("exec", "box", "--", "/etc/passwd", code=126)
    moorage("exec", "nobody", "--", "true", code=125)

    piped = random.Random(4).randbytes(5 << 20)
    running = moorage.start("exec", "-i", "box", "--", "cat", stdin=subprocess.PIPE)
    assert running.process.stdin is not None
    running.process.stdin.write(piped)
    running.process.stdin.close()
    done = running.end()
    assert (done.code, sha(done.out), done.err) == (0, sha(piped), "")
    assert moorage("exec", "box", "--", "cat").out == b""  # without -i its stdin is closed
    assert (
        moorage("exec", "-w", "/tmp", "-e", "X=a b", "box", "--", "sh", "-c", "pwd; echo $X").out
        == b"/tmp\na b\n"
    )
