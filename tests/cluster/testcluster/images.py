"""OCI images written without a container tool: one layer, made of files on this machine.

Called by build (the images every node has), by `launcher.py image build` and by tests that need an
image of their own. The same files give the same bytes. It never pulls anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from .shell import Failure, exclusive, run, say

MEDIA = "application/vnd.oci.image."
NONROOT = 1000
PASSWD = f"root:x:0:0::/root:/bin/sh\nuser:x:{NONROOT}:{NONROOT}::/home/user:/bin/sh\n".encode()
FOLDERS = ("bin", "etc", "home", "home/user", "root", "tmp", "workspace")
SHELL_IMAGES = ("busybox", "kubectl")
IMAGES = ("pause", "noshell", *SHELL_IMAGES)  # localhost/NAME:test, on every node


@dataclass(frozen=True)
class Image:
    """What an image holds and how it starts.

    `files` maps a path inside the image to a file here; all become mode 0755. `links` maps a path
    to the target of a symbolic link. `arch` is only a label: it does not change the files.
    """

    ref: str
    files: Mapping[str, Path]
    links: Mapping[str, str] = field(default_factory=dict)
    entrypoint: Sequence[str] = ()
    cmd: Sequence[str] = ()
    user: str = ""
    arch: str = "amd64"
    env: Sequence[str] = ("PATH=/bin",)


@dataclass(frozen=True)
class _Entry:
    path: str
    data: bytes = b""
    kind: bytes = tarfile.REGTYPE
    mode: int = 0o644
    owner: int = 0
    link: str = ""


def write_image(out: Path, image: Image) -> None:
    """Write an OCI archive that `ctr images import` takes. Replaces `out` in one step."""
    blobs: list[_Entry] = []

    def blob(data: bytes) -> dict[str, object]:
        digest = hashlib.sha256(data).hexdigest()
        blobs.append(_Entry(f"blobs/sha256/{digest}", data))
        return {"digest": f"sha256:{digest}", "size": len(data)}

    layer = blob(_archive(_layer(image)))
    settings: dict[str, object] = {"Env": list(image.env), "Cmd": list(image.cmd), "User": image.user}
    if image.entrypoint:
        settings["Entrypoint"] = list(image.entrypoint)
    config = blob(
        _json(
            {
                "architecture": image.arch,
                "os": "linux",
                "config": settings,
                "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
            }
        )
    )
    manifest = blob(
        _json(
            {
                "schemaVersion": 2,
                "mediaType": MEDIA + "manifest.v1+json",
                "config": {"mediaType": MEDIA + "config.v1+json", **config},
                "layers": [{"mediaType": MEDIA + "layer.v1.tar", **layer}],
            }
        )
    )
    entry = {
        "mediaType": MEDIA + "manifest.v1+json",
        **manifest,
        "platform": {"os": "linux", "architecture": image.arch},
        "annotations": {"io.containerd.image.name": image.ref},
    }
    head = [
        _Entry("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'),
        _Entry("index.json", _json({"schemaVersion": 2, "manifests": [entry]})),
    ]
    part = out.with_name(f".{out.name}.{os.getpid()}")
    part.write_bytes(_archive([*head, *blobs]))
    part.rename(out)


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _layer(image: Image) -> list[_Entry]:
    modes = {"tmp": 0o1777, "workspace": 0o755, "home/user": 0o755}
    owners = {"home/user": NONROOT}
    entries = [
        _Entry(name, kind=tarfile.DIRTYPE, mode=modes.get(name, 0o755), owner=owners.get(name, 0))
        for name in FOLDERS
    ]
    entries.append(_Entry("etc/passwd", PASSWD))
    entries.append(_Entry("etc/group", f"root:x:0:\nuser:x:{NONROOT}:\n".encode()))
    for inside, source in sorted(image.files.items()):
        entries.append(_Entry(inside.lstrip("/"), source.read_bytes(), mode=0o755))
    for inside, target in sorted(image.links.items()):
        entries.append(_Entry(inside.lstrip("/"), kind=tarfile.SYMTYPE, mode=0o777, link=target))
    return entries


def _archive(entries: Sequence[_Entry]) -> bytes:
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for entry in entries:
            info = tarfile.TarInfo(entry.path)
            info.mode, info.type, info.linkname = entry.mode, entry.kind, entry.link
            info.uid = info.gid = entry.owner
            info.size = len(entry.data)
            tar.addfile(info, BytesIO(entry.data))
    return buffer.getvalue()


def build_images(folder: Path) -> None:
    """Write the standard images into the folder of binaries, unless they are there."""
    if all((folder / f"{name}.tar").exists() for name in IMAGES):
        return
    with exclusive(folder / ".images.lock", "another process writes the images; waiting for it"):
        for number, name in enumerate(IMAGES, 1):
            if not (folder / f"{name}.tar").exists():
                write_image(folder / f"{name}.tar", _standard(name, folder))
                say(f"wrote localhost/{name}:test ({number}/{len(IMAGES)})")


def _standard(name: str, folder: Path) -> Image:
    ref = f"localhost/{name}:test"
    if name == "pause":
        return Image(ref, {"pause": folder / "pause"}, entrypoint=("/pause",), env=())
    if name == "noshell":
        return Image(ref, {"agent": folder / "agent"}, entrypoint=("/agent",), env=("PATH=/",))
    busybox = shutil.which("busybox")
    if not busybox:
        raise Failure("no busybox command, which the test images contain: apt-get install busybox-static")
    files = {"bin/busybox": Path(busybox), "bin/testagent": folder / "agent"}
    if name == "kubectl":
        files["bin/kubectl"] = folder / "kubectl"
    applets = [applet for applet in run(busybox, "--list").split() if applet != "busybox"]
    return Image(ref, files, {f"bin/{applet}": "busybox" for applet in applets}, cmd=("/bin/sh",))
