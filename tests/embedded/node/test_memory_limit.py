"""A memory limit is the kernel's where it lets us make a group, and looked after from outside elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from moorage.embedded.node.shim import cgroups, oom
from moorage.embedded.node.shim.containers import Container

from .conftest import World, container

V1 = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
V1_PART = "35 31 0:32 /docker/a /sys/fs/cgroup/memory rw shared:3 - cgroup cgroup rw,memory\n"
V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
OTHER = "36 31 0:33 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"


@pytest.mark.parametrize(
    ("mounts", "groups", "path"),
    [
        (OTHER + V1, "5:cpu,cpuacct:/x\n4:memory:/user/a\n0::/\n", "/sys/fs/cgroup/memory/user/a"),
        (V1, "4:memory:/\n", "/sys/fs/cgroup/memory"),
        (V1_PART, "4:memory:/docker/a/b\n", "/sys/fs/cgroup/memory/b"),
        (V1_PART, "4:memory:/elsewhere\n", "/sys/fs/cgroup/memory"),
        (V1, "4:memory:/with:colon\n", "/sys/fs/cgroup/memory/with:colon"),
        (V2, "0::/user.slice\n", ""),
        (OTHER, "4:memory:/a\n", ""),
        ("", "", ""),
    ],
)
def test_where_our_own_group_of_the_first_controller_lies(mounts: str, groups: str, path: str) -> None:
    assert cgroups.own_group(mounts, groups) == path


def kernel_keeps_limits() -> bool:
    mounts, groups = Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text()
    own = cgroups.own_group(mounts, groups)
    return bool(own) and os.access(own, os.W_OK) and not os.statvfs(own).f_flag & os.ST_RDONLY


async def test_nothing_gets_past_a_limit_that_the_kernel_keeps(isolated: World) -> None:
    """Also what is quicker than any look from outside; and no group is left."""
    await isolated.start(containers=[container(resources={"limits": {"memory": "48Mi"}})])
    uid = isolated.pod()["metadata"]["uid"]
    quick = "dd if=/dev/zero of=/dev/null bs=200M count=1 2>/dev/null; echo $?"
    codes = {await isolated.sh(quick) for _ in range(3)}
    assert codes == {"137"} or not kernel_keeps_limits()
    await isolated.delete()
    assert not list(Path("/sys/fs/cgroup").glob(f"memory/**/{cgroups.PREFIX}{uid}-*"))


class Grown:
    """What ``look`` sees of a container: two processes of this machine, and what was killed."""

    def __init__(self, limit: int, *, group: bool = False) -> None:
        self.limit, self.group, self.record = limit, group, {"state": "running"}
        self.mount_namespace = os.stat("/proc/self/ns/mnt").st_ino
        self.killed: list[int] = []

    def out_of_memory(self, pid: int) -> None:
        self.killed.append(pid)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The larger one, which has taken its memory; beside it stands this process."""
    program = "import sys; grown = b'x' * (300 << 20); print('ready', flush=True); sys.stdin.read()"
    argv = [sys.executable, "-c", program]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        small = subprocess.Popen(["sleep", "3600"])
        monkeypatch.setattr(oom, "_descendants", lambda pid: [small.pid, process.pid])
        yield process.pid
        small.kill()
        small.wait()


@pytest.mark.parametrize(
    ("limit", "options", "kills", "again"),
    [
        (200 << 20, {}, True, oom.OFTEN),
        (500 << 20, {}, False, oom.OFTEN),
        (900 << 20, {}, False, oom.SELDOM),
        (200 << 20, {"group": True}, False, 0.0),
        (0, {}, False, 0.0),
    ],
)
def test_elsewhere_the_largest_process_of_what_is_over_its_limit_is_killed(
    large: int, limit: int, options: dict[str, Any], kills: bool, again: float
) -> None:
    seen = Grown(limit, **options)
    assert oom.look([cast("Container", seen)]) == again
    assert seen.killed == ([large] if kills else [])
