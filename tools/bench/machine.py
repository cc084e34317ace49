"""What the figures were taken on: without it they mean nothing. Used by ``tools.bench``."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from tools.live_cluster import LiveCluster

VERSION = "jsonpath={.items[-1:].status.nodeInfo.kubeletVersion}"


def describe(root: Path, cluster: LiveCluster) -> dict[str, str]:
    """Processor, memory, kernel, versions, load at this moment, and the commit."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _output("git", "-C", str(root), "rev-parse", "--short", "HEAD") or "no repository",
        "processor": f"{os.cpu_count()} × {_processor()}",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "kubernetes": cluster.kubectl("get", "nodes", "-o", VERSION),
        "load when it began": f"{os.getloadavg()[0]:.1f}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _output(*argv: str) -> str:
    done = subprocess.run(argv, check=False, text=True, capture_output=True)
    return done.stdout.strip()
