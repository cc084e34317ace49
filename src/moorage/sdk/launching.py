"""What ``Sandbox.create`` was given, made into a ``LaunchRequest``; the settings say what was not given.

A sandbox is a session whose agent does nothing but wait: agentctl's own ``idle``, so that the image needs no
program for it. Called by ``sdk.sandbox``.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from moorage.core.bootstrap import AGENTCTL
from moorage.core.errors import NotFound, UsageError
from moorage.core.owned import MAIN_CONTAINER, WORKSPACE_PATH
from moorage.core.session import HelperSpec, Session, WorkspaceMode, WorkspaceSpec
from moorage.ports.sessions import LaunchRequest

IDLE: Final = (AGENTCTL, "idle")
TEMPLATE_LIMIT: Final = 256 * 1024 + 1
"""Bytes read of a template: one more than a template may have, so that core refuses it."""
Template: TypeAlias = str | os.PathLike[str] | bytes | None


@dataclass(frozen=True)
class Asked:
    """What a person gave beside the template."""

    name: str
    envs: Mapping[str, str]
    metadata: Mapping[str, str]
    source: str
    source_ref: str
    workspace: WorkspaceSpec | None
    start_timeout: float


def is_sandbox(session: Session) -> bool:
    """Was it made by this SDK?"""
    return session.agent.argv == IDLE


async def request_for(template: Template, asked: Asked, setting: Callable[[str], str]) -> LaunchRequest:
    """Raises NotFound for a template that is not there, UsageError for a setting that is no value."""
    given = setting("template") or None if template is None else template
    text = given if given is None or isinstance(given, bytes) else await asyncio.to_thread(_read, Path(given))
    return LaunchRequest(
        template_text=text,
        argv=IDLE,
        workspace=asked.workspace or _workspace(setting),
        name=asked.name,
        main_container=setting("main_container") or MAIN_CONTAINER,
        platform=setting("platform") or LaunchRequest.platform,
        helper=_helper(setting),
        source=asked.source,
        source_ref=asked.source_ref,
        env=dict(asked.envs),
        cwd=WORKSPACE_PATH,
        grace_seconds=1.0,
        transport=setting("transport") or LaunchRequest.transport,
        start_timeout=asked.start_timeout,
        metadata=dict(asked.metadata),
    )


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(TEMPLATE_LIMIT)
    except OSError as error:
        raise NotFound(
            f"cannot read the template {path}: {error.strerror}",
            hint="give the path of a file that holds a core/v1 PodTemplate, or its bytes",
            field="template",
        ) from error


def _workspace(setting: Callable[[str], str]) -> WorkspaceSpec:
    word = setting("workspace") or WorkspaceMode.MANAGED_PVC.value
    if word not in (WorkspaceMode.MANAGED_PVC.value, WorkspaceMode.EMPTY_DIR.value):
        raise UsageError(
            f"a sandbox without a workspace of its own: the setting says {word!r}",
            field="workspace",
            hint="give workspace=WorkspaceSpec(mode=WorkspaceMode.EXISTING_CLAIM, claim_name=…)",
        )
    if word == WorkspaceMode.EMPTY_DIR.value:
        return WorkspaceSpec(mode=WorkspaceMode.EMPTY_DIR)
    return WorkspaceSpec(
        mode=WorkspaceMode.MANAGED_PVC,
        size=setting("workspace_size"),
        storage_class=setting("storage_class"),
    )


def _helper(setting: Callable[[str], str]) -> HelperSpec:
    if setting("helper") != "image":
        return HelperSpec()
    return HelperSpec(source="image", image=setting("helper_image"))
