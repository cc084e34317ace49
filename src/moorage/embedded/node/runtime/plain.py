"""Containers without namespaces, for hosts that forbid them: a folder per Pod, and the fixed paths replaced
by where they really are. Called by ``node.worker`` and ``node.streams``.

What it cannot do stands in ``LIMITS``; nothing here pretends to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from moorage.embedded.node.runtime.spec import Spec

LIMITS = (
    "the host's files, and those of other Pods, can be read as far as the user may",
    "the host's processes, and those of other Pods, are seen; the main process is not number 1",
    "a mount path exists only in commands, arguments, variables and working directory, not for a program "
    "that builds it by itself",
    "read-only mounts, readOnlyRootFilesystem, capabilities and privileged have no effect",
    "runAsUser and fsGroup have an effect only where the node runs as root",
    "writes outside the volumes reach the host and outlive the container",
    "shareProcessNamespace has no effect",
    "a process that was started by exec and moved to a session of its own may outlive its container",
)
"""What a Pod asks for and does not get, or gets and should not."""


def paths(spec: Spec) -> dict[str, str]:
    """Mount path → where it really is."""
    return {mount["target"]: mount["source"] for mount in spec["mounts"]}


def rewrite(text: str, real: Mapping[str, str]) -> str:
    """Put the real path for each mount path that stands in ``text`` as a whole path or its beginning."""
    if not real:
        return text
    names = "|".join(re.escape(name) for name in sorted(real, key=len, reverse=True))
    return re.sub(rf"(?<![\w./-])(?:{names})(?![\w.-])", lambda match: real[match[0]], text)


def plain_spec(spec: Spec) -> Spec:
    """The same order for mode plain."""
    real, image = paths(spec), spec["root"]["image"]
    env = {key: rewrite(value, real) for key, value in spec["env"].items()}
    home = Path(spec["folder"]) / "home"
    home.mkdir(exist_ok=True)
    home.chmod(0o777)
    if spec["env"]["HOME"] in ("/root", "/", "/tmp"):  # noqa: S108  compared, not used
        env["HOME"] = str(home)
    env.setdefault("TMPDIR", str(home))
    if image:
        env["PATH"] = ":".join([f"{image}/bin", f"{image}/usr/bin", env["PATH"]])
    return {
        **spec,
        "mode": "plain",
        "argv": program([rewrite(word, real) for word in spec["argv"]], image),
        "env": env,
        "cwd": str(home) if spec["cwd"] == "/" else rewrite(spec["cwd"], real),
        "user": {**spec["user"]},
        "share_pid": False,
    }


def program(words: list[str], image: str) -> list[str]:
    """The command with its program from the image's folder, where it lies there."""
    if image and words[0].startswith("/") and Path(image + words[0]).exists():
        return [image + words[0], *words[1:]]
    return words
