"""Every setting, once: its name, where it may stand, its default. Only ``main`` imports this.

Precedence: flag, ``MOORAGE_*``, project file, user file, default. A file that is not understood is refused
as a whole, with the line; nothing is guessed. ``docs/settings.md`` is printed by ``python -m
moorage.settings``. Opens no store and no cluster.
"""

from __future__ import annotations

import base64
import binascii
import difflib
import os
import re
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from moorage.core.errors import DocumentError, Problem, UsageError

PROJECT_FILES: Final = (".moorage.toml", "moorage.toml")
USER_FILE: Final = "config.toml"
FILE_LIMIT: Final = 256 * 1024
"""Bytes of a settings file."""
LEAST_SECONDS: Final = 1.0
MOST_SECONDS: Final = 300.0
"""Of a length of time: less is no time for one call, and nobody waits longer for one."""


@dataclass(frozen=True)
class Setting:
    """One setting. ``kind``: text, path, seconds, switch, choice or key (never shown). ``files``: which
    settings files may hold it: ``both``, ``user`` (a project file comes with a clone and is not trusted with
    what runs programs or moves our data) or ``none``."""

    name: str
    kind: str
    meaning: str
    flag: str = ""
    default: str = ""
    choices: tuple[str, ...] = ()
    files: str = "both"

    @property
    def variable(self) -> str:
        return f"MOORAGE_{self.name.upper()}"


_MODES = ("managed_pvc", "existing_claim", "empty_dir")
SETTINGS: Final = (
    Setting("context", "text", "Context of the kubeconfig to use.", "--context"),
    Setting("kubeconfig", "path", "Kubeconfig to use.", "--kubeconfig", files="user"),
    Setting("namespace", "text", "Namespace to work in.", "--namespace"),
    Setting("request_timeout", "seconds", "Limit of one API call, 1s to 5m.", "--request-timeout", "30s"),
    Setting("template", "path", "Pod template of `run`.", "--template"),
    Setting("main_container", "text", "Container the agent runs in.", "--main-container", "agent"),
    Setting(
        "platform",
        "choice",
        "Platform of the Pod.",
        "--platform",
        "linux/amd64",
        ("linux/amd64", "linux/arm64"),
    ),
    Setting("workspace", "choice", "Where the workspace lives.", "--workspace", "managed_pvc", _MODES),
    Setting("workspace_size", "text", "Size of a managed workspace.", "--workspace-size"),
    Setting("storage_class", "text", "StorageClass of a managed workspace.", "--storage-class"),
    Setting(
        "helper", "choice", "How agentctl gets into the Pod.", "--helper", "exec", ("exec", "image")
    ),
    Setting("helper_image", "text", "Image agentctl is copied from.", "--helper-image"),
    Setting(
        "transport",
        "choice",
        "How the link reaches agentctl.",
        "--transport",
        "auto",
        ("auto", "portforward", "exec"),
    ),
    Setting("output", "choice", "Form of data on stdout.", "--output", "table",
            ("table", "wide", "json", "yaml", "name")),
    Setting("no_color", "switch", "Never colour.", "--no-color"),
    Setting("no_input", "switch", "Never ask; fail with the command to run.", "--no-input"),
    Setting("quiet", "switch", "Print less.", "--quiet"),
    Setting("data_dir", "path", "Where Moorage keeps its records.", "--data-dir",
            "the user's data folder", files="user"),
    Setting("config_dir", "path", f"Where `{USER_FILE}` lies.", default="the user's configuration folder",
            files="none"),
    Setting("secret_key", "key", "Key of the stored secrets, 32 bytes as hex or base64; without it "
            "`secret.key` in the data folder is used.", files="none"),
    Setting("database_url", "key", "PostgreSQL instead of the data folder's own database, as "
            "`postgresql://user:password@host:5432/moorage`; several servers share one.", files="none"),
)  # fmt: skip
BY_NAME: Final = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True)
class Settings:
    """The settings in force. ``values`` holds only what was set, as text; ``origins`` says by what
    (``--flag``, variable or file); ``warnings`` are to be shown once."""

    values: Mapping[str, str] = field(repr=False)
    origins: Mapping[str, str]
    warnings: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        """What was set, "" when nothing was. Paths are absolute, switches ``true`` or ``false``.
        "" for a name that is no setting, and for what is never shown."""
        setting = BY_NAME.get(name)
        return "" if setting is None or setting.kind == "key" else self.values.get(name, "")

    def chosen(self, name: str) -> str:
        """What was set, else the default."""
        return self.text(name) or BY_NAME[name].default

    @property
    def data_dir(self) -> Path:
        return Path(self.values["data_dir"])

    @property
    def config_dir(self) -> Path:
        return Path(self.values["config_dir"])

    @property
    def request_timeout(self) -> float:
        """Seconds."""
        return _seconds(self.chosen("request_timeout"))

    @property
    def secret_key(self) -> bytes | None:
        """32 bytes; None: the data folder's own key is used."""
        text = self.values.get("secret_key")
        return _key(text) if text else None

    @property
    def database_url(self) -> str:
        """May hold a password. "": the data folder's own database."""
        return self.values.get("database_url", "")


def load(flags: Mapping[str, object], environ: Mapping[str, str], cwd: Path) -> Settings:
    """Put all sources together. ``flags``: by setting name, as typed; None, "" and False mean not given,
    other names are ignored.

    Raises UsageError for a flag or variable, DocumentError (all faults, with lines) for a file.
    """
    values: dict[str, str] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        sources = (
            (setting.flag, flags.get(setting.name) if setting.flag else None),
            (setting.variable, environ.get(setting.variable)),
        )
        for origin, given in sources:
            if given is not None and given != "" and given is not False and setting.name not in values:
                values[setting.name] = _from_person(setting, origin, given, cwd)
                origins[setting.name] = origin
    if "config_dir" not in values:
        values["config_dir"] = _platform_folder("config")
    user = Path(values["config_dir"]) / USER_FILE
    warnings: list[str] = []
    for path, kind in ((_project_file(cwd), "project"), (user if user.exists() else None, "user")):
        if path is None:
            continue
        warnings += check_owner(path, kind)
        for name, text in read_file(path, kind).items():
            if name not in values:
                values[name] = text
                origins[name] = str(path)
    if "data_dir" not in values:
        values["data_dir"] = _platform_folder("data")
    return Settings(values, origins, tuple(warnings))


def _platform_folder(kind: str) -> str:
    import platformdirs

    of_user = platformdirs.user_config_dir if kind == "config" else platformdirs.user_data_dir
    return of_user("moorage", appauthor=False)


def _from_person(setting: Setting, origin: str, given: object, cwd: Path) -> str:
    try:
        return normal(setting, given if isinstance(given, (bool, int, float)) else str(given), cwd)
    except ValueError as problem:
        raise UsageError(f"{origin}: {problem}", field=origin, hint=expected(setting)) from None


def normal(setting: Setting, value: Any, folder: Path) -> str:
    """``value`` as checked text; ValueError says what is wrong, never a key's value."""
    if setting.kind == "switch":
        return _switch(value)
    if setting.kind == "seconds":
        text = str(value) if not isinstance(value, bool) else ""
        if not LEAST_SECONDS <= _seconds(text) <= MOST_SECONDS:
            raise ValueError(f"{text!r} does not lie between {LEAST_SECONDS:g}s and {MOST_SECONDS:g}s")
        return text
    if not isinstance(value, str):
        raise ValueError("a text in quotes is needed")
    if "\0" in value:
        raise ValueError("the text holds a NUL byte")
    if setting.name == "secret_key":
        _key(value)
    elif setting.name == "database_url":
        _database(value)
    elif setting.kind == "path":
        return os.path.normpath(folder / Path(value).expanduser()) if value else ""
    elif setting.kind == "choice" and value not in ("", *setting.choices):
        raise ValueError(f"{value!r} is none of {', '.join(setting.choices)}")
    return value


def _switch(value: Any) -> str:
    words = {"true": "true", "1": "true", "yes": "true", "on": "true"}
    words |= {"false": "false", "0": "false", "no": "false", "off": "false"}
    found = words.get(str(value).lower())
    if found is None:
        raise ValueError(f"{value!r} is neither true nor false")
    return found


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|)", text)
    seconds = float(match[1]) * {"ms": 0.001, "m": 60, "h": 3600}.get(match[2], 1) if match else 0.0
    if seconds <= 0:
        raise ValueError(f"{text!r} is no length of time above zero")
    return seconds


def _key(text: str) -> bytes:
    """Raises ValueError, which does not show the text."""
    try:
        key = bytes.fromhex(text) if len(text) == 64 else base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        key = b""
    if len(key) != 32:
        raise ValueError("this is no key of 32 bytes")
    return key


def _database(text: str) -> None:
    """Raises ValueError, which does not show the text. What it names is checked where it is opened."""
    if not text.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
        raise ValueError("this is no address of a PostgreSQL database")


def expected(setting: Setting) -> str:
    if setting.name == "database_url":
        return "write it like postgresql://user:password@host:5432/moorage"
    return {
        "choice": f"one of {', '.join(setting.choices)}",
        "seconds": "a number and a unit from 1s to 5m, e.g. 30s or 2m",
        "switch": "true or false",
        "key": "make one with: openssl rand -hex 32",
    }.get(setting.kind, "a text")


def _project_file(cwd: Path) -> Path | None:
    """The nearest one, from ``cwd`` upwards."""
    for folder in (cwd, *cwd.parents):
        found = [folder / name for name in PROJECT_FILES if (folder / name).is_file()]
        if len(found) > 1:
            raise UsageError(f"both {found[0]} and {found[1]} exist", hint="keep one of them")
        if found:
            return found[0]
    return None


def check_owner(path: Path, kind: str) -> list[str]:
    """Refuse a file that somebody else could have written; warn where others may read the user's own."""
    status = path.stat()
    mode = stat.S_IMODE(status.st_mode)
    if status.st_uid not in (os.geteuid(), 0):
        raise _refused(path, [Problem("", "owner", f"the file belongs to user {status.st_uid}, not to you")])
    if kind == "user" and mode & 0o022:
        fault = Problem("", "mode", f"others may write the file (mode {mode:04o})", f"chmod 600 {path}")
        raise _refused(path, [fault])
    if kind == "user" and mode & 0o044:
        return [f"{path} can be read by others (mode {mode:04o}); to mend it: chmod 600 {path}"]
    return []


def _refused(path: Path, problems: list[Problem]) -> DocumentError:
    first = problems[0]
    place = f"{path}:{first.line}" if first.line else str(path)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return DocumentError(f"{place}: {first.message}{more}", problems, hint=first.hint)


def read_file(path: Path, kind: str) -> dict[str, str]:
    """The settings in a file; DocumentError with every fault."""
    import tomllib

    try:
        with path.open("rb") as stream:
            data = stream.read(FILE_LIMIT + 1)
        if len(data) > FILE_LIMIT:
            raise _refused(path, [Problem("", "too_large", f"the file is larger than {FILE_LIMIT} bytes")])
        text = data.decode("utf-8-sig")
        table = tomllib.loads(text)
    except OSError as problem:
        fault = Problem("", "unreadable", f"cannot be read: {problem.strerror}")
        raise _refused(path, [fault]) from problem
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise _refused(path, [Problem("", "encoding", "this is no UTF-8 text", line=line)]) from None
    except tomllib.TOMLDecodeError as problem:
        raise _refused(path, [_syntax(str(problem), text)]) from None
    values: dict[str, str] = {}
    problems: list[Problem] = []
    for key, value in table.items():
        setting = BY_NAME.get(key)
        wrong = misplaced(key, setting, kind)
        if setting is not None and wrong is None:
            try:
                values[key] = normal(setting, value, path.parent)
                continue
            except ValueError as problem:
                wrong = (f"{key}: {problem}", expected(setting))
        assert wrong is not None
        problems.append(Problem(key, "invalid_setting", *wrong, line=_line_of(key, text)))
    if problems:
        raise _refused(path, sorted(problems, key=lambda problem: problem.line))
    return {name: text for name, text in values.items() if text}


def misplaced(key: str, setting: Setting | None, kind: str) -> tuple[str, str] | None:
    """Message and hint when ``key`` may not stand in this file."""
    if setting is None:
        near = difflib.get_close_matches(key.replace("-", "_"), BY_NAME, n=1)
        hint = f"did you mean {near[0]}?" if near else "docs/settings.md lists all settings"
        return (f"there is no setting {key!r}", hint)
    if setting.files == "none":
        return (f"{key} may not stand in a file", f"set {setting.variable}")
    if kind == "project" and setting.files == "user":
        return (
            f"{key} may not stand in a project file, which comes with a clone",
            f"put it into your own {USER_FILE}, or set {setting.variable}",
        )
    return None


def _syntax(message: str, text: str) -> Problem:
    match = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    if match:
        return Problem("", "syntax", message[: match.start()], line=int(match[1]), column=int(match[2]))
    return Problem("", "syntax", message, line=text.count("\n") + 1)


def _line_of(key: str, text: str) -> int:
    """Where a top-level key or table stands; the parser does not tell."""
    name = re.escape(key)
    pattern = re.compile(rf"""\s*\[{{0,2}}\s*["']?{name}["']?\s*[\].=]""")
    lines = enumerate(text.splitlines(), 1)
    return next((number for number, line in lines if pattern.match(line)), 0)


def reference() -> str:
    """``docs/settings.md``."""
    lines = [
        "# Settings",
        "",
        "Made from `src/moorage/settings.py` by `python -m moorage.settings`.",
        "",
        "The first that is set counts: flag, environment variable, project file, user file, default.",
        f"The project file is the nearest `{PROJECT_FILES[0]}` or `{PROJECT_FILES[1]}` from the current",
        f"folder upwards; the user file is `{USER_FILE}` in the configuration folder (mode 0600). Both are",
        "TOML with one `name = value` a line. A file with a fault in it is refused, with the line.",
        "",
        "| name | flag | variable | files | default | meaning |",
        "|---|---|---|---|---|---|",
    ]
    for setting in SETTINGS:
        flag = f"`{setting.flag}`" if setting.flag else ""
        default = "false" if setting.kind == "switch" else setting.default
        files = {"both": "project, user", "user": "user", "none": ""}[setting.files]
        choices = (
            f" One of {', '.join(f'`{choice}`' for choice in setting.choices)}." if setting.choices else ""
        )
        cells = (
            f"`{setting.name}`",
            flag,
            f"`{setting.variable}`",
            files,
            default,
            setting.meaning + choices,
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
