"""Starts one container: image, configuration, the shim's order. Called by ``node.worker``."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moorage.core import owned
from moorage.core.kinds import Json
from moorage.embedded.node.decide import Waiting
from moorage.embedded.node.environment import ConfigMissing
from moorage.embedded.node.images import Image, valid_reference
from moorage.embedded.node.parts import FORWARD_SOCKET, Parts
from moorage.embedded.node.records import attempt_folder
from moorage.embedded.node.runtime.plain import paths, plain_spec
from moorage.embedded.node.runtime.spec import Place, Spec, container_spec, make_folder
from moorage.embedded.node.shims import Shim
from moorage.embedded.node.volumes import Volumes, memory_limits

PLACES = ".places.json"
"""After the path of agentctl's folder: a file that says where its things are here."""


class CannotStart(Exception):
    """The container waits; ``waiting`` says why, ``again`` after how many seconds to try once more."""

    def __init__(self, waiting: Waiting, again: float) -> None:
        super().__init__(waiting.message)
        self.waiting, self.again = waiting, again


class Starter:
    """Starts the containers of one Pod."""

    def __init__(self, parts: Parts, folder: Path, shim: Shim, volumes: Volumes) -> None:
        self._parts, self._folder, self._shim, self._volumes = parts, folder, shim, volumes
        self._pulls: dict[str, tuple[int, float]] = {}

    async def start(
        self, pod: Json, container: Json, number: int, sources: Mapping[str, Path]
    ) -> dict[str, Any]:
        """The shim's record of the new start. Raises CannotStart, ShimGone."""
        image = self._image(pod, container)
        spec, place = self._spec(pod, container, image, number, sources)
        self._parts.event(pod, "Normal", "Created", f"Created container: {container['name']}")
        make_folder(place, spec, container)
        self._note_places(container, spec)
        answer = await self._shim.ask(
            "run", spec=spec if self._parts.mode == "namespaces" else plain_spec(spec)
        )
        record: dict[str, Any] = answer["record"]
        if "error" in answer:
            message = f"failed to create containerd task: failed to start container: {answer['error']}"
            record["message"] = message
            self._parts.event(pod, "Warning", "Failed", f"Error: {message}")
        else:
            self._parts.event(pod, "Normal", "Started", f"Started container {container['name']}")
        self._forget_old(container["name"], number)
        return record

    def _image(self, pod: Json, container: Json) -> Image:
        reference, policy = container["image"], container.get("imagePullPolicy")
        say = self._parts.event
        if not valid_reference(reference):
            message = f'Failed to apply default image tag "{reference}": couldn\'t parse image name'
            say(pod, "Warning", "InspectFailed", message)
            raise CannotStart(Waiting("InvalidImageName", message), self._parts.timing.image.longest)
        image = self._parts.images.find(reference)
        if image is not None:
            self._pulls.pop(reference, None)
            say(pod, "Normal", "Pulled", f'Container image "{reference}" already present on machine')
            return image
        if policy == "Never":
            message = f'Container image "{reference}" is not present with pull policy of Never'
            say(pod, "Warning", "ErrImageNeverPull", message)
            say(pod, "Warning", "Failed", "Error: ErrImageNeverPull")
            raise CannotStart(Waiting("ErrImageNeverPull", message), self._parts.timing.image.first)
        raise self._pull(pod, reference)

    def _pull(self, pod: Json, reference: str) -> CannotStart:
        """No pull ever succeeds; it fails in the words of a runtime, less and less often."""
        say, backoff, now = self._parts.event, self._parts.timing.image, self._parts.clock()
        tries, due = self._pulls.get(reference, (0, 0.0))
        cause = (
            f'failed to pull and unpack image "{reference}": failed to resolve reference "{reference}": '
            f"{reference}: not found"
        )
        if now < due:
            message = f'Back-off pulling image "{reference}"'
            say(pod, "Normal", "BackOff", message)
            say(pod, "Warning", "Failed", "Error: ImagePullBackOff")
            return CannotStart(Waiting("ImagePullBackOff", f"{message}: ErrImagePull: {cause}"), due - now)
        wait = min(backoff.longest, backoff.first * 2.0**tries)
        self._pulls[reference] = (tries + 1, now + wait)
        say(pod, "Normal", "Pulling", f'Pulling image "{reference}"')
        say(pod, "Warning", "Failed", f'Failed to pull image "{reference}": {cause}')
        say(pod, "Warning", "Failed", "Error: ErrImagePull")
        return CannotStart(Waiting("ErrImagePull", cause), min(1.0, wait / 2))

    def _spec(
        self, pod: Json, container: Json, image: Image, number: int, sources: Mapping[str, Path]
    ) -> tuple[Spec, Place]:
        attempt = attempt_folder(self._folder, container["name"], number)
        shutil.rmtree(attempt, ignore_errors=True)  # a start that was cut short
        place = Place(attempt, sources, hidden=self._parts.hidden, memory=memory_limits(pod))
        lookup = self._volumes.lookup(pod["metadata"].get("namespace", ""))
        try:
            if container.get("volumeDevices"):
                raise ConfigMissing("block volumes are not supported by the embedded node")
            return container_spec(pod, container, image, place, lookup, number), place
        except ConfigMissing as error:
            self._parts.event(pod, "Warning", "Failed", f"Error: {error}")
            waiting = Waiting("CreateContainerConfigError", str(error))
            raise CannotStart(waiting, self._parts.timing.volumes) from None

    def _note_places(self, container: Json, spec: Spec) -> None:
        """Tell agentctl, where a container has it, to listen on a socket: all Pods share one port."""
        mounts = {mount["mountPath"].rstrip("/"): mount for mount in container.get("volumeMounts") or []}
        if owned.OPT_PATH not in mounts or owned.RUN_PATH not in mounts:
            return
        plain = self._parts.mode == "plain"
        real = paths(spec) if plain else {}
        run = real.get(owned.RUN_PATH, owned.RUN_PATH)
        text = json.dumps(
            {
                "home": real.get(owned.OPT_PATH, owned.OPT_PATH),
                "run": run,
                "listen": f"unix:{run}/{FORWARD_SOCKET}",
                "paths": real,
            }
        )
        if plain:
            Path(real[owned.OPT_PATH] + PLACES).write_text(text)
            return
        source = Path(spec["folder"]) / "places"
        source.write_text(text)
        source.chmod(0o644)
        target = owned.OPT_PATH + PLACES
        spec["mounts"].append({"source": str(source.resolve()), "target": target, "read_only": True})

    def _forget_old(self, name: str, number: int) -> None:
        """Keep two starts, as a kubelet does: the newest and the one before."""
        for old in range(number - 1):
            remove_tree(attempt_folder(self._folder, name, old))
        if number:
            for part in ("upper", "work", "root", "home"):
                remove_tree(attempt_folder(self._folder, name, number - 1) / part)


def remove_tree(path: Path) -> None:
    """Remove a folder, whatever rights its directories have (an overlay's own has none)."""
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except OSError:
        for root, names, _ in os.walk(path):
            for name in names:
                inner = Path(root, name)
                if not inner.is_symlink():
                    inner.chmod(0o700)
        shutil.rmtree(path, ignore_errors=True)
