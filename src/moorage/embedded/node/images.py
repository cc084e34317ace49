"""The node's images: a table from reference to root file system. Called by ``node.worker`` and
``node.runtime``.

Nothing is ever pulled. An image that is not in the table is one that no registry has.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_REFERENCE = re.compile(r"[a-z0-9]+([._/:-]+[a-z0-9]+)*(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?")


@dataclass(frozen=True)
class Image:
    """``root``: the folder a container sees as ``/``; None: this machine's own root.

    The rest is what an image's configuration says: ``user`` as ``"UID[:GID]"``, ``""`` for root.
    """

    root: Path | None = None
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    workdir: str = "/"


HOST = Image()
"""Programs of this machine."""


class ImageTable:
    """``images`` by exact reference; ``default`` answers for every other one (None: it cannot be pulled)."""

    def __init__(self, images: Mapping[str, Image], default: Image | None) -> None:
        self._images, self._default = dict(images), default

    def find(self, reference: str) -> Image | None:
        """The image, or None."""
        return self._images.get(reference) or self._default

    def put(self, reference: str, image: Image) -> None:
        """Add an image, as loading it into a real node would."""
        self._images[reference] = image

    def image_id(self, reference: str) -> str:
        """What the status shows: a digest where the reference has one, else one of what the table says."""
        image = self.find(reference)
        if "@sha256:" in reference:
            return reference
        if image is None or image.root is None:
            return "host:/"
        return "sha256:" + hashlib.sha256(f"{reference} {image.root}".encode()).hexdigest()


def valid_reference(reference: str) -> bool:
    """Whether it can name an image at all."""
    return _REFERENCE.fullmatch(reference) is not None
