"""What a connection needs, as configuration says it: where, how to trust it, who we are.

Produced by ``kube.kubeconfig`` and ``kube.in_cluster``; read by ``kube.access``. Holds credentials, so
nothing here shows them: their fields are outside ``repr``, and comparison is by identity of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Inline:
    """Bytes that stand in the configuration itself (already decoded)."""

    data: bytes = field(repr=False)


@dataclass(frozen=True)
class FromFile:
    """Bytes of a file, read when a connection is set up and again when the file changes."""

    path: Path


Material: TypeAlias = Inline | FromFile


@dataclass(frozen=True)
class Trust:
    """How the server is verified. ``authority`` None: the system's own authorities."""

    authority: Material | None = None
    insecure: bool = False
    server_name: str = ""


@dataclass(frozen=True)
class ExecPlugin:
    """A program that prints an ``ExecCredential``. Names and places only; ``env`` may hold secrets."""

    api_version: str
    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"
    cluster_config: Any = field(default=None, repr=False)
    """The cluster's ``client.authentication.k8s.io/exec`` extension, handed on as it is."""


@dataclass(frozen=True)
class Login:
    """Who we are. At most one of token, token_file and plugin; a certificate may stand beside."""

    token: str = field(default="", repr=False)
    token_file: Path | None = None
    certificate: Material | None = None
    key: Material | None = None
    plugin: ExecPlugin | None = None
    impersonate: tuple[tuple[str, str], ...] = ()
    """``Impersonate-*`` headers."""


@dataclass(frozen=True)
class Target:
    """One API server, one identity, one namespace."""

    server: str
    namespace: str
    trust: Trust = Trust()
    login: Login = Login()
    proxy_url: str = field(default="", repr=False)
    context: str = ""
    files: tuple[Path, ...] = ()
    """The configuration files this came from; a change of one makes it be read anew."""

    def watched(self) -> tuple[Path, ...]:
        """Every file whose change matters: configuration, authority, certificate, key."""
        materials = (self.trust.authority, self.login.certificate, self.login.key)
        return self.files + tuple(m.path for m in materials if isinstance(m, FromFile))


Environment: TypeAlias = Mapping[str, str]
