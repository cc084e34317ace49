"""The presets that come with Moorage, one TOML file each, and those of a user's own folder.

Opened by ``main`` for the command line, later for the service. Reads files; what they mean is for
``core.presets`` to say.
"""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from moorage.core.errors import DocumentError, NotFound, Problem
from moorage.core.presets import Preset, parse_preset

SUFFIX = ".toml"
LIMIT = 64 * 1024
"""Bytes of a preset file."""


class Presets:
    """``own``: a folder of presets that add to ours or take the place of one; it need not exist."""

    def __init__(self, own: Path | None = None) -> None:
        self._own = own

    def names(self) -> list[str]:
        """Sorted by name. Reads no file."""
        return sorted(self._files())

    def get(self, name: str) -> Preset:
        """Raises NotFound, and DocumentError for a file with a fault."""
        file = self._files().get(name)
        if file is None:
            raise NotFound(
                f"there is no preset {name!r}", field="preset", hint="moorage preset ls lists them"
            )
        return parse_preset(name, _text(name, file))

    def place(self, name: str) -> str:
        """Where it comes from: ``built in``, or the path of a user's file."""
        file = self._files().get(name)
        return str(file) if isinstance(file, Path) and file.parent == self._own else "built in"

    def _files(self) -> dict[str, Traversable]:
        ours = resources.files(__name__).iterdir()
        theirs: list[Traversable] = []
        if self._own is not None and self._own.is_dir():
            theirs = list(self._own.iterdir())
        return {
            file.name.removesuffix(SUFFIX): file for file in [*ours, *theirs] if file.name.endswith(SUFFIX)
        }


def _text(name: str, file: Traversable) -> str:
    try:
        with file.open("rb") as stream:
            data = stream.read(LIMIT + 1)
        if len(data) > LIMIT:
            raise _unreadable(name, file, f"it is larger than {LIMIT} bytes")
        return data.decode()
    except OSError as error:
        raise _unreadable(name, file, error.strerror or "unreadable") from error
    except UnicodeDecodeError:
        raise _unreadable(name, file, "it is not UTF-8") from None


def _unreadable(name: str, file: Traversable, why: str) -> DocumentError:
    return DocumentError(
        f"preset {name} cannot be read from {file}: {why}",
        [Problem("", "unreadable", why)],
        hint="mend or remove the file",
    )
