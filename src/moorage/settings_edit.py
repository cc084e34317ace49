"""Changes of the user's settings file: one value set or removed, comments and order kept. Called by ``main``.

The file is replaced as a whole, so that a reader sees the old one or the new one. A file that could not be
read as settings is not changed. Never touches a project file.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moorage import settings
from moorage.core.errors import MoorageError, UsageError

FOLDER_MODE = 0o700


def user_file(environ: Mapping[str, str], cwd: Path) -> Path:
    """Where the user's file lies, whether it is there or not."""
    return settings.load({}, environ, cwd).config_dir / settings.USER_FILE


def checked(name: str, value: str, cwd: Path) -> bool | str:
    """The value as it will stand in the file. Raises UsageError for a name that is no setting, one that may
    not stand in a file, and a value that it cannot have."""
    setting = known(name)
    try:
        text = settings.normal(setting, value, cwd)
    except ValueError as problem:
        raise UsageError(f"{name}: {problem}", field=name, hint=settings.expected(setting)) from None
    if not text:
        raise UsageError(f"{name}: the value is empty", field=name, hint=f"moorage config unset {name}")
    return text == "true" if setting.kind == "switch" else text


def known(name: str) -> settings.Setting:
    """The setting of this name that a user's file may hold; UsageError with the nearest name."""
    setting = settings.BY_NAME.get(name.replace("-", "_"))
    wrong = settings.misplaced(name, setting, "user")
    if setting is None or wrong is not None:
        message, hint = wrong or ("", "")
        raise UsageError(message, field=name, hint=hint)
    return setting


def change(file: Path, values: Mapping[str, bool | str | None]) -> bool:
    """Set what has a value, remove what is None, in one step. False when nothing was to do.

    Raises DocumentError for a file with a fault, MoorageError where it cannot be written.
    """
    import tomlkit

    place = file.resolve()  # a link into somebody's collection of settings stays one
    if place.exists():
        settings.check_owner(place, "user")
        settings.read_file(place, "user")
    try:
        document = tomlkit.parse(place.read_text("utf-8-sig")) if place.exists() else tomlkit.document()
        before = tomlkit.dumps(document)
        _put(document, values)
        text = tomlkit.dumps(document)
        if text == before:
            return False
        _replace(place, text)
    except OSError as error:
        raise MoorageError(
            f"cannot write {place}: {error.strerror}", hint="see who owns the file and its folder"
        ) from error
    return True


def _put(document: Any, values: Mapping[str, bool | str | None]) -> None:
    for name, value in values.items():
        if value is None:
            document.pop(name, None)
        else:
            document[name] = value


def _replace(place: Path, text: str) -> None:
    place.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".config-", suffix=".toml", dir=place.parent)  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
