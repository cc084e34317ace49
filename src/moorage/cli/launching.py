"""The flags of ``run`` made into a ``LaunchRequest``: combinations checked, files read, defaults filled in.

Called by ``verbs.run`` before anything is opened. Whether template and workspace are sound is decided by
``launch`` from core's rules; here only what the command line itself can get wrong.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from moorage.cli.command import Call
from moorage.cli.environment import read_environment
from moorage.cli.small_file import read_stdin
from moorage.core.errors import NotFound, UsageError
from moorage.core.owned import WORKSPACE_PATH
from moorage.core.presets import Applied
from moorage.core.session import HelperSpec, WorkspaceMode, WorkspaceSpec
from moorage.ports.sessions import LaunchRequest

TEMPLATE_LIMIT: Final = 256 * 1024 + 1
"""Bytes read of a template: one more than a template may have, so that core refuses it."""

HELPERS: Final = ("exec", "image")
TRANSPORTS: Final = ("auto", "portforward", "exec")
PLATFORMS: Final = ("linux/amd64", "linux/arm64")


@dataclass(frozen=True)
class Asked:
    """The flags of ``run`` as typed; None or "" where not given."""

    argv: tuple[str, ...]
    preset: Applied | None = None
    template: str | None = None
    source: str = ""
    source_ref: str = ""
    name: str = ""
    workspace: str | None = None
    workspace_size: str | None = None
    storage_class: str | None = None
    access_mode: tuple[str, ...] = ()
    claim: str = ""
    helper: str | None = None
    helper_image: str | None = None
    main_container: str | None = None
    platform: str | None = None
    transport: str | None = None
    env: tuple[str, ...] = field(default=(), repr=False)
    env_file: tuple[str, ...] = ()
    cwd: str = "/workspace"
    grace: float = 10.0
    start_timeout: float = 600.0
    tty: bool = False
    interactive: bool = False
    detach: bool = False
    remove: bool = False
    no_restart: bool = False
    wait: bool = False
    timeout: float | None = None


def build_request(call: Call, asked: Asked) -> LaunchRequest:
    """Raises UsageError for what cannot be meant, NotFound for a file that is not there."""
    _check_combinations(call, asked)
    template = call.default("template", asked.template)
    workspace = _workspace(call, asked)
    helper = _helper(call, asked)
    transport = choice("--transport", call.default("transport", asked.transport, "auto"), TRANSPORTS)
    platform = choice("--platform", call.default("platform", asked.platform, "linux/amd64"), PLATFORMS)
    given = read_environment(asked.env, asked.env_file, call.wiring.environ)
    env = {**(asked.preset.env if asked.preset else {}), **given}
    if template == "-" and asked.interactive:
        raise UsageError(
            "--template - and -i both want stdin", hint="write the template to a file, or leave out -i"
        )
    return LaunchRequest(
        template_text=read_template(template) if template else None,
        argv=asked.argv,
        workspace=workspace,
        name=asked.name,
        main_container=call.default("main_container", asked.main_container),
        platform=platform,
        helper=helper,
        source=asked.source,
        source_ref=asked.source_ref,
        env=env,
        cwd=asked.cwd,
        tty=asked.tty,
        stdin=asked.interactive,
        grace_seconds=asked.grace,
        restart_allowed=not asked.no_restart,
        transport=transport,
        start_timeout=asked.start_timeout,
        preset=asked.preset,
    )


def read_template(path: str, *, field: str = "--template") -> bytes:
    """The bytes of a template file (``-``: stdin), at most TEMPLATE_LIMIT of them.

    ``field`` is what an error names. Raises NotFound.
    """
    if path == "-":
        return read_stdin(TEMPLATE_LIMIT, field=field)
    try:
        with Path(path).open("rb") as stream:
            return stream.read(TEMPLATE_LIMIT)
    except OSError as error:
        raise NotFound(
            f"cannot read the template {path or repr(path)}: {error.strerror}",
            hint="give the path of a file that holds a core/v1 PodTemplate",
            field=field,
        ) from error


def _check_combinations(call: Call, asked: Asked) -> None:
    if asked.detach and asked.remove:
        raise UsageError("-d and --rm exclude each other", hint="without a follower nobody could remove it")
    if asked.wait and not asked.detach:
        raise UsageError("--wait belongs to -d", hint="leave it out: without -d run waits for the end anyway")
    if asked.timeout is not None and asked.timeout <= 0:
        raise UsageError("--timeout must be more than 0", field="--timeout", hint="e.g. --timeout 30m")
    if asked.source_ref and not asked.source:
        raise UsageError("--source-ref needs --source", hint="add --source PATH or URL")
    if not asked.cwd.startswith("/"):
        raise UsageError("--cwd must be an absolute path", field="--cwd", hint=absolute_hint(asked.cwd))
    if not 0 <= asked.grace <= 86_400:
        raise UsageError("--grace must lie between 0 and 24h", field="--grace", hint="e.g. --grace 30s")
    if asked.start_timeout <= 0:
        raise UsageError(
            "--start-timeout must be more than 0", field="--start-timeout", hint="e.g. --start-timeout 10m"
        )
    if asked.interactive and asked.tty and not asked.detach and not call.terminal.stdin_tty:
        raise UsageError(
            "-i -t needs a terminal on stdin, and ours is none",
            hint="leave out -t to pipe input, or run it from a terminal",
        )


def _workspace(call: Call, asked: Asked) -> WorkspaceSpec:
    modes = tuple(mode.value for mode in WorkspaceMode)
    named = asked.workspace or ("existing_claim" if asked.claim else "")  # a typed claim overrules settings
    mode = WorkspaceMode(choice("--workspace", call.default("workspace", named, "managed_pvc"), modes))
    foreign = {
        "--workspace-size": (asked.workspace_size, WorkspaceMode.MANAGED_PVC),
        "--storage-class": (asked.storage_class, WorkspaceMode.MANAGED_PVC),
        "--access-mode": (asked.access_mode, WorkspaceMode.MANAGED_PVC),
        "--claim": (asked.claim, WorkspaceMode.EXISTING_CLAIM),
    }
    for flag, (value, owner) in foreign.items():
        if value and owner is not mode:
            raise UsageError(
                f"{flag} belongs to --workspace {owner.value}, but the workspace is {mode.value}",
                hint=f"leave out {flag}, or use --workspace {owner.value}",
                field=flag,
            )
    if mode is WorkspaceMode.EXISTING_CLAIM and not asked.claim:
        raise UsageError(
            "--workspace existing_claim needs --claim NAME", hint="kubectl get pvc lists the claims there are"
        )
    if mode is not WorkspaceMode.MANAGED_PVC:
        return WorkspaceSpec(mode=mode, claim_name=asked.claim)
    return WorkspaceSpec(
        mode=mode,
        size=call.default("workspace_size", asked.workspace_size),
        storage_class=call.default("storage_class", asked.storage_class),
        access_modes=asked.access_mode,
    )


def _helper(call: Call, asked: Asked) -> HelperSpec:
    image = call.default("helper_image", asked.helper_image)
    named = asked.helper or ("image" if asked.helper_image else "")
    source = choice("--helper", call.default("helper", named, "exec"), HELPERS)
    if source == "image" and not image:
        raise UsageError("--helper image needs --helper-image REF", hint="pin it: REPO@sha256:DIGEST")
    if source == "exec" and asked.helper_image:
        raise UsageError(
            "--helper-image belongs to --helper image", hint="leave it out, or use --helper image"
        )
    return HelperSpec(source=source, image=image if source == "image" else "")


def absolute_hint(cwd: str) -> str:
    """What to write for a relative directory."""
    return f"it is not joined to any other: write --cwd {posixpath.join(WORKSPACE_PATH, cwd)}"


def choice(flag: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise UsageError(
            f"{value!r} is no value for {flag}", hint=f"use one of: {', '.join(known)}", field=flag
        )
    return value
