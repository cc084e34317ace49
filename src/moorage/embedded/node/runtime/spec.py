"""What the shim is told to start, built from a Pod and one of its containers. Called by ``node.worker`` and
``node.streams``; ``runtime.plain`` changes it further where there are no namespaces.

Pure but for looks at volumes and images. Raises ConfigMissing for what keeps a container from being made.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moorage.core.kinds import Json
from moorage.core.quantities import parse_quantity
from moorage.embedded.node.environment import ConfigMissing, Lookup, argv, container_env
from moorage.embedded.node.images import Image
from moorage.embedded.node.volumes import mount_source

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TERMINATION_LOG = "/dev/termination-log"
CGROUP = {
    "cgroup.procs": "1\n",
    "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n",
    "memory.current": "0\n",
}

Spec = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where a container's things are. ``attempt``: the folder of this start; ``hidden``: what no container
    may see; ``memory``: bytes that fit into a memory volume."""

    attempt: Path
    volumes: Mapping[str, Path]
    hidden: tuple[Path, ...]
    memory: Mapping[str, int]


def container_spec(
    pod: Json, container: Json, image: Image, place: Place, lookup: Lookup, number: int
) -> Spec:
    """The order for the shim, as mode namespaces carries it out."""
    user = container_user(pod, container, image)
    env = {"PATH": PATH, "HOSTNAME": host_name(pod), **container_env(pod, container, lookup, image.env)}
    env.setdefault("HOME", _home(image, user["uid"]))
    words = argv(container, image.entrypoint, image.command, env)
    if not words:
        raise ConfigMissing("no command specified")
    context = container.get("securityContext") or {}
    return {
        "id": secrets.token_hex(32),
        "name": container["name"],
        "attempt": number,
        "mode": "namespaces",
        "argv": words,
        "env": env,
        "cwd": container.get("workingDir") or image.workdir or "/",
        "user": user,
        "root": {
            "image": str(image.root) if image.root else "",
            "work": str(place.attempt),
            "hide": [str(path) for path in place.hidden],
            "read_only": bool(context.get("readOnlyRootFilesystem")),
        },
        "mounts": _mounts(container, place, env),
        "memory": [{"path": str(place.volumes[name]), "size": size} for name, size in place.memory.items()],
        "memory_limit": _memory_limit(container),
        "hostname": host_name(pod),
        "cgroup": str(place.attempt / "cgroup"),
        "share_pid": bool(pod["spec"].get("shareProcessNamespace")),
        "stdin": bool(container.get("stdin")),
        "stdin_once": bool(container.get("stdinOnce")),
        "tty": bool(container.get("tty")),
        "log": str(place.attempt / "log"),
        "folder": str(place.attempt),
    }


def host_name(pod: Json) -> str:
    """What ``hostname`` prints in the Pod."""
    return str(pod["spec"].get("hostname") or pod["metadata"]["name"])[:63]


def _mounts(container: Json, place: Place, env: Mapping[str, str]) -> list[Spec]:
    found = [
        {
            "source": str(mount_source(place.volumes, mount, env).resolve()),
            "target": os.path.normpath(mount["mountPath"]),
            "read_only": bool(mount.get("readOnly")),
        }
        for mount in container.get("volumeMounts") or []
    ]
    message = container.get("terminationMessagePath") or TERMINATION_LOG
    found.append({"source": str(place.attempt / "termination"), "target": message, "read_only": False})
    return found


def make_folder(place: Place, spec: Spec, container: Json) -> None:
    """The files that a start needs in its folder: termination message and cgroup."""
    cgroup = place.attempt / "cgroup"
    cgroup.mkdir(parents=True)
    limit = _memory_limit(container)
    for name, text in {**CGROUP, "memory.max": f"{limit or 'max'}\n"}.items():
        (cgroup / name).write_text(text)
    termination = place.attempt / "termination"
    termination.touch()
    termination.chmod(0o666)


def _memory_limit(container: Json) -> int:
    """Bytes; 0: none."""
    limits = (container.get("resources") or {}).get("limits") or {}
    return int(parse_quantity(str(limits.get("memory", "0"))) or 0)


def container_user(pod: Json, container: Json, image: Image) -> Spec:
    """Who the container runs as. Raises ConfigMissing as a kubelet refuses it."""
    shared, own = pod["spec"].get("securityContext") or {}, container.get("securityContext") or {}
    both = {**shared, **{key: value for key, value in own.items() if value is not None}}
    said, _, said_group = image.user.partition(":")
    uid = int(both.get("runAsUser", said if said.isdigit() else 0))
    gid = int(
        both.get(
            "runAsGroup",
            said_group if said_group.isdigit() else (uid if "runAsUser" not in both and said else 0),
        )
    )
    if both.get("runAsNonRoot") and uid == 0:
        why = "container's runAsUser breaks non-root policy" if "runAsUser" in both else (
            "container has runAsNonRoot and image will run as root")  # fmt: skip
        raise ConfigMissing(f'{why} (pod: "{pod["metadata"]["name"]}", container: {container["name"]})')
    capabilities = own.get("capabilities") or {}
    groups = [gid, *(shared.get("supplementalGroups") or [])]
    return {
        "uid": uid,
        "gid": gid,
        "groups": groups + ([shared["fsGroup"]] if shared.get("fsGroup") is not None else []),
        "add": capabilities.get("add") or [],
        "drop": capabilities.get("drop") or [],
        "no_new_privs": own.get("allowPrivilegeEscalation") is False,
        "privileged": bool(own.get("privileged")),
    }


def _home(image: Image, uid: int) -> str:
    if image.root is None:
        return "/root" if uid == 0 else "/tmp"  # noqa: S108  the container's own
    try:
        for line in (image.root / "etc/passwd").read_text().splitlines():
            words = line.split(":")
            if len(words) > 5 and words[2] == str(uid):
                return words[5]
    except OSError:
        pass
    return "/"
