"""From a profile and a person's wish to the launch request that ``sessions`` carries out.

``resolved`` is a pure function: what has to be read (secrets, the preset, policies) is given to it. Called by
``server.routes.sessions`` and, for the connection test, by ``server.routes.kubernetes``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from moorage.core.errors import Conflict, UsageError
from moorage.core.presets import Applied, Preset, applied
from moorage.core.service.checks import check_profile, require, secret_name
from moorage.core.service.records import Policy, Profile, ProfileSpec
from moorage.core.source_url import parse_git_url
from moorage.ports.sessions import LaunchRequest

SOURCES = ("https://", "ssh://")
"""A path, or a file: URL, would be one of the server's own files."""


@dataclass(frozen=True)
class Wish:
    """What a person says of one session of a profile. See ``wire.work.LaunchBody``."""

    name: str = ""
    prompt: str = ""
    command: Sequence[str] = ()
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    source: str = ""
    source_ref: str = ""
    tty: bool = False
    stdin: bool = False
    restart: bool = True
    grace_seconds: float = 10.0
    start_timeout: float = 600.0


def secrets_needed(spec: ProfileSpec) -> tuple[str, ...]:
    """Names of the stored secrets that a session of the profile is given."""
    return tuple(dict.fromkeys(name for entry in spec.env if (name := secret_name(entry.secret))))


def resolved(
    profile: Profile,
    wish: Wish,
    *,
    task_id: str = "",
    preset: Preset | None = None,
    secrets: Mapping[str, str] | None = None,
    policies: Sequence[Policy] = (),
) -> LaunchRequest:
    """Raises Conflict for a profile that is off, DocumentError for one that a policy has come to refuse,
    UsageError for what the wish says."""
    spec = profile.spec
    if not spec.enabled:
        raise Conflict(f"profile {profile.name} is off", field="profile_id", hint="choose another profile")
    require(check_profile(spec, policies), "the profile")
    _check_source(wish.source)
    argv, of_preset = _agent(spec, wish, preset)
    return LaunchRequest(
        template_text=spec.pod_template_yaml.encode(),
        argv=argv,
        workspace=spec.workspace,
        name=wish.name,
        main_container=spec.main_container,
        platform=spec.platform,
        helper=spec.helper,
        source=wish.source,
        source_ref=wish.source_ref,
        env={**_env(spec, secrets or {}), **(of_preset.env if of_preset else {}), **wish.env},
        tty=wish.tty,
        stdin=wish.stdin,
        grace_seconds=wish.grace_seconds,
        restart_allowed=wish.restart,
        start_timeout=wish.start_timeout,
        preset=of_preset,
        task_id=task_id,
        profile_id=profile.id,
    )


def _agent(spec: ProfileSpec, wish: Wish, preset: Preset | None) -> tuple[Sequence[str], Applied | None]:
    if wish.command:
        return tuple(wish.command), None
    if preset is not None:
        made = applied(preset, args=wish.args, prompt=wish.prompt, tty=wish.tty)
        return made.argv, made
    if not spec.command:
        raise UsageError("the profile names no command", field="command", hint="give the command to run")
    return (*spec.command, *wish.args), None


def _env(spec: ProfileSpec, secrets: Mapping[str, str]) -> dict[str, str]:
    return {
        entry.name: secrets[secret_name(entry.secret)] if entry.secret else entry.value for entry in spec.env
    }


def _check_source(source: str) -> None:
    if not source:
        return
    parsed = parse_git_url(source)
    short = parsed is not None and "://" not in source
    if parsed is None or not (short or source.lower().startswith(SOURCES)):
        raise UsageError(
            "a session of the service takes its source from a git server",
            field="source",
            hint="give a https or ssh URL, or user@host:path",
        )
